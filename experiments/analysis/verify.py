"""Comparison of every solver with the QP optimum: the main check.

Each problem is solved by two independent QP back ends, whose certified intervals [dual, primal] must
overlap, and by the solvers under test, whose bounds must match those of the better back end. If the
bounds are proven, the intervals of all solvers must intersect, without any tolerance.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import inf, isfinite, isnan, nan
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import pandas as pd
from numpy import nan_to_num

from dualgap.experiments.analysis.results import ROUNDING_RTOL, Results
from dualgap.experiments.records.outcomes import FINAL
from dualgap.problems.answers.diagnosis import Diagnosis, most_frequent

REFERENCES = ("cvxopt_qp", "cvxpy_qp")
_Run = dict[str, Any]  # one row of the results


@dataclass(frozen=True)
class Check:
    """Comparison of one run with the QP optimum.

    Attributes
    ----------
    objective, reference : its objective and the QP's, in the formulation's own sign and scale.
    difference : between its worse bound and the reference's, relative to the optimum.
    """

    problem_id: str
    solver: str
    objective: float
    reference: float
    difference: float
    status: str
    verdict: str
    passed: bool
    reason: str

    @property
    def badness(self) -> tuple[bool, float]:
        """Sort key: failures above passes, then by difference; a missing one is the worst failure."""
        missing = -inf if self.passed else inf
        return not self.passed, missing if isnan(self.difference) else self.difference


@dataclass(frozen=True)
class SolverDiagnosis:
    """The most frequent diagnosis among a solver's failed runs, as found in the first.

    Attributes
    ----------
    runs, of : number of runs with this diagnosis, and of failed runs.
    """

    solver: str
    problem_id: str
    runs: int
    of: int
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Verification:
    """All checks of an experiment, in the order of its problems, the references first.

    Attributes
    ----------
    tolerance : the largest difference with which a run passes.
    is_target : whether the tolerance is the experiment's target gap.
    proven : whether every bound is a theorem.
    diagnosed : one diagnosis per solver with failed runs that were diagnosed.
    """

    checks: tuple[Check, ...]
    tolerance: float
    is_target: bool
    proven: bool = False
    diagnosed: tuple[SolverDiagnosis, ...] = ()

    @property
    def failed(self) -> list[Check]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        """Whether any run was compared, and all checks passed."""
        return bool(self._compared) and not self.failed

    @property
    def _compared(self) -> list[Check]:
        return [check for check in self.checks if check.status != "unsupported"]

    @property
    def sentence(self) -> str:
        """The outcome and its worst case, in a sentence."""
        if not self._compared:
            reason = f", every run is unsupported: {self.checks[0].reason}" if self.checks else ""
            return f"FAILED: nothing was compared{reason}"
        worst = max(self._compared, key=attrgetter("badness"))
        worst_run = f"{worst.solver} on {worst.problem_id}"
        if self.passed:
            bounds = "; every bound is proven, and all agree" if self.proven else ""
            if isnan(worst.difference):
                return f"passed{bounds}; every problem is proven infeasible"
            return f"passed{bounds}; the worst difference is {worst.difference:.1e}: {worst_run}"
        names = ", ".join(dict.fromkeys(check.solver for check in self.failed))
        verdicts = Counter(check.verdict for check in self.failed).most_common()
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts)
        total = f"{len(self.failed)} runs of {names} ({counts})"
        worst_case = f"the worst is {worst_run}: {worst.verdict}, {worst.reason}"
        return f"FAILED in {total}; {worst_case}{self._tolerance_sentence}"

    @property
    def _tolerance_sentence(self) -> str:
        """How to change the tolerance, if a run exceeded it; else empty."""
        if not any(check.difference > self.tolerance for check in self.failed):
            return ""
        if self.is_target:
            return ". The tolerance is the experiment's target_gap; use --tolerance to change it"
        return ". The tolerance was set by --tolerance; a larger one accepts this difference"


def compare(
    results: pd.DataFrame,
    tolerance: float | None = None,
    proven: bool = False,
    diagnoses: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Verification:
    """Compare every run of `results` (the records' columns) with the QP optimum of its problem.

    A run passes if neither of its bounds is more than `tolerance` from the reference's, relative to
    the optimum; on an infeasible problem, if it is proven infeasible. The default tolerance is the
    experiment's target gap, so that a solved run passes. An unsupported run is listed and passes. With
    `proven`, every bound must be a theorem, and the intervals of all runs on a problem must intersect. A
    run whose own intercept is wrong also fails, although the bounds do not depend on it: `diagnoses` has
    the fields of each run's `Diagnosis`, by run id.
    """
    allowed = float(results["target_gap"].max()) if tolerance is None else tolerance
    table = Results(results).table.assign(reason=results["reason"].fillna(""))
    pairs: list[tuple[Check, _Run]] = []
    for _, rows in table.groupby("problem_id", sort=False):
        runs: list[_Run] = rows.to_dict("records")  # type: ignore[assignment]
        runs.sort(key=lambda run: (run["solver"] not in REFERENCES, run["configuration"]))
        references = [run for run in runs if run["solver"] in REFERENCES]
        fault = _disagreement(references)
        best = min(references, key=lambda run: nan_to_num(run["relative_gap"], nan=inf), default={})
        for run in runs:
            difference = _difference(run, best) if best else nan
            conflict = fault or (_conflict(run, runs) if proven else "")
            diagnosis = diagnoses.get(run["run_id"])
            run["diagnosis"] = Diagnosis(**diagnosis) if diagnosis else None
            reason = _objection(run, best, conflict, difference, allowed)
            check = Check(
                problem_id=run["problem_id"],
                solver=run["configuration"],
                objective=run["objective"],
                reference=best.get("objective", nan),
                difference=difference,
                status=run["status"],
                verdict=run["verdict"],
                passed=not reason,
                reason=reason or run["reason"],
            )
            pairs.append((check, run))
    failed = [(check, run["diagnosis"], run["n"]) for check, run in pairs if not check.passed]
    checks = tuple(check for check, _ in pairs)
    return Verification(checks, allowed, tolerance is None, proven, tuple(_diagnosed(failed)))


def _diagnosed(failed: list[tuple[Check, Diagnosis | None, float]]) -> Iterator[SolverDiagnosis]:
    """Yield one diagnosis per solver with failed runs, preferring those of smaller problems."""
    failed = sorted(failed, key=lambda run: (run[0].solver, run[2]))
    for solver, runs in groupby(failed, lambda run: run[0].solver):
        diagnoses = [(check.problem_id, each) for check, each, _ in runs]
        if frequent := most_frequent((problem, each) for problem, each in diagnoses if each):
            count, problem, diagnosis = frequent
            yield SolverDiagnosis(solver, problem, count, len(diagnoses), diagnosis)


def _objection(run: _Run, best: _Run, fault: str, difference: float, tolerance: float) -> str:
    """Return why a run fails, or an empty string."""
    if run["status"] == "unsupported":
        return ""
    if fault:
        return fault
    verdicts = run["verdict"], best["verdict"]
    if "infeasible" in verdicts:
        return "" if verdicts[0] == verdicts[1] else f"{verdicts[0]}, but the QP is {verdicts[1]}"
    if isnan(difference):
        return run["reason"] or f"no objective ({run['status']})"
    # a gap is relative to the larger bound, a difference to the optimum
    if difference > tolerance / (1 - tolerance):
        deviation = (
            f"differs by {difference:.1e} from the QP optimum, above the tolerance of {tolerance:g}"
        )
        return "; ".join(filter(None, (run["reason"], deviation)))
    diagnosis = run["diagnosis"]
    return diagnosis.finding if diagnosis and diagnosis.condition == "intercept" else ""


def _disagreement(references: list[_Run]) -> str:
    """Return why the QP back ends do not determine the optimum, or an empty string."""
    present = [run for run in references if run["status"] != "not_installed"]
    if len({run["solver"] for run in present}) < len(REFERENCES):
        return f"verification needs both QP references, {' and '.join(REFERENCES)}"
    for run in present:
        if run["verdict"] not in FINAL:
            return f"the reference {run['solver']} is {run['verdict']}: {run['reason']}"
    if len({run["verdict"] for run in present}) > 1:
        return "the QP back ends disagree about feasibility"
    lower = max(run["dual_objective"] for run in present)
    upper = min(run["primal_objective"] for run in present)
    if lower > upper + ROUNDING_RTOL * max(abs(lower), abs(upper)):
        return "the QP back ends' certified intervals do not overlap"
    return ""


def _conflict(run: _Run, runs: list[_Run]) -> str:
    """Return why a run's bounds are not proven or whose bounds exclude them, else an empty string."""
    lower, upper = run["dual_objective"], run["primal_objective"]
    if isnan(lower):
        return ""
    if not (run["bound_source"].startswith("proven") or run["verdict"] == "infeasible"):
        return "its bounds are not proven"
    for other in runs:
        if other["dual_objective"] > upper or other["primal_objective"] < lower:
            bounds = f"[{other['dual_objective']!r}, {other['primal_objective']!r}]"
            return f"proven [{lower!r}, {upper!r}], but {other['configuration']} proves {bounds}"
    return ""


def _difference(run: _Run, best: _Run) -> float:
    """Return the larger difference of the two bounds to the reference's, relative to the optimum.

    Both bounds count: a right α does not excuse a wrong w. If the optimum is close to 0, the difference
    is relative to the gap scale.
    """
    bounds = ("primal_objective", "dual_objective")
    distance = max(abs(run[name] - best[name]) for name in bounds)
    if not all(isfinite(run[name] - best[name]) for name in bounds):
        return nan
    sizes = [abs(best[name]) for name in bounds]
    if not distance:
        return 0.0
    scale = _gap_scale(best) if _gap_scale(best) > 2 * max(sizes) else sizes[1]
    scale = scale or _gap_scale(run)  # an optimum of exactly 0 has no gap to tell it
    return distance / scale if scale else inf


def _gap_scale(run: _Run) -> float:
    """Return what the run's gap is relative to; 0 if the gap is 0, which does not tell."""
    return run["gap"] / run["relative_gap"] if run["relative_gap"] > 0 else 0.0
