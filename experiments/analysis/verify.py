"""Every solver against the QP optimum: the flagship check.

Each problem is solved by two independent QP back ends, whose certified intervals [dual, primal] must
overlap, and by the solvers under test, whose bounds must match those of the better back end. Where the
bounds are proven, the intervals of all solvers must have a number in common, without any slack.
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

from dualgap.experiments.analysis.labels import solver_labels
from dualgap.experiments.records.outcomes import FINAL
from dualgap.problems.answers.diagnosis import Diagnosis, most_frequent

REFERENCES = ("cvxopt_qp", "cvxpy_qp")
_ROUNDING = 1e-12
_Run = dict[str, Any]  # one row of the results


@dataclass(frozen=True)
class Check:
    """One run against the QP optimum.

    Attributes
    ----------
    objective, reference : its objective and the QP's, in the formulation's own sign and scale.
    difference : of its worse bound to the reference's, relative to the optimum.
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
        """Failures above passes, then by difference; a missing one is the worst failure."""
        missing = -inf if self.passed else inf
        return not self.passed, missing if isnan(self.difference) else self.difference


@dataclass(frozen=True)
class Diagnosed:
    """What is wrong with a solver: what most of its diagnosed runs point to, as found in the first.

    Attributes
    ----------
    runs, of : how many runs point to it, of how many.
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
    is_target : whether that is the target gap of the experiment.
    proven : whether every bound is a theorem.
    diagnosed : the solvers with runs that do not pass and were diagnosed, one diagnosis each.
    """

    checks: tuple[Check, ...]
    tolerance: float
    is_target: bool
    proven: bool = False
    diagnosed: tuple[Diagnosed, ...] = ()

    @property
    def failed(self) -> list[Check]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        """Whether there was something to check and every check passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """The outcome and its worst case."""
        if not self.checks:
            return "FAILED: nothing was compared"
        worst = max(self.checks, key=attrgetter("badness"))
        place = f"{worst.solver} on {worst.problem_id}"
        if self.passed:
            bounds = "; every bound is proven, and all agree" if self.proven else ""
            return f"passed{bounds}; the worst difference is {worst.difference:.1e}: {place}"
        names = ", ".join(dict.fromkeys(check.solver for check in self.failed))
        verdicts = Counter(check.verdict for check in self.failed).most_common()
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts)
        total = f"{len(self.failed)} runs of {names} ({counts})"
        worst_case = f"the worst is {place}: {worst.verdict}, {worst.reason}"
        return f"FAILED in {total}; {worst_case}{self._tolerance_sentence}"

    @property
    def _tolerance_sentence(self) -> str:
        """Which tolerance was exceeded and how to change it; empty if there was another reason."""
        if not any(check.difference > self.tolerance for check in self.failed):
            return ""
        if self.is_target:
            return (
                ". That is the experiment's target_gap; another one can be given with --tolerance"
            )
        return ". That is what --tolerance was given as; a larger one allows it"


def compare(
    results: pd.DataFrame,
    tolerance: float | None = None,
    proven: bool = False,
    diagnoses: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Verification:
    """Compare every run of `results` (the records' columns) with the QP optimum of its problem.

    A run passes if neither of its bounds is more than `tolerance` from the reference's, relative to
    the optimum; on an infeasible problem if it is proven infeasible. By default that is the target gap
    of the experiment, so that a run that is solved passes. An unsupported run is
    listed and passes. With `proven` every bound must be a theorem, and the intervals of all runs on
    a problem must have a number in common. A run whose own intercept is wrong fails too, which the
    bounds do not depend on: `diagnoses` has the fields of each run's `Diagnosis`, by its id.
    """
    allowed = float(results["target_gap"].max()) if tolerance is None else tolerance
    known = results.assign(solver_label=solver_labels(results), reason=results["reason"].fillna(""))
    pairs: list[tuple[Check, _Run]] = []
    for _, own in known.groupby("problem_id", sort=False):
        runs: list[_Run] = own.to_dict("records")  # type: ignore[assignment]
        runs.sort(key=lambda run: (run["solver"] not in REFERENCES, run["solver_label"]))
        references = [run for run in runs if run["solver"] in REFERENCES]
        fault = _disagreement(references)
        best = min(references, key=lambda run: nan_to_num(run["relative_gap"], nan=inf), default={})
        for run in runs:
            difference = _difference(run, best) if best else nan
            conflict = fault or (_conflict(run, runs) if proven else "")
            found = diagnoses.get(run["run_id"])
            run["diagnosis"] = Diagnosis(**found) if found else None
            reason = _objection(run, best, conflict, difference, allowed)
            check = Check(
                problem_id=run["problem_id"],
                solver=run["solver_label"],
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


def _diagnosed(failed: list[tuple[Check, Diagnosis | None, float]]) -> Iterator[Diagnosed]:
    """Yield what is wrong with each solver, from its runs that failed; the smallest problem first."""
    failed = sorted(failed, key=lambda run: (run[0].solver, run[2]))
    for solver, runs in groupby(failed, lambda run: run[0].solver):
        found = [(check.problem_id, diagnosis) for check, diagnosis, _ in runs]
        if most := most_frequent((problem, each) for problem, each in found if each):
            count, problem, diagnosis = most
            yield Diagnosed(solver, problem, count, len(found), diagnosis)


def _objection(run: _Run, best: _Run, fault: str, difference: float, tolerance: float) -> str:
    """Return why a run does not pass, or an empty string."""
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
        off = (
            f"differs by {difference:.1e} from the QP optimum, above the tolerance of {tolerance:g}"
        )
        return "; ".join(filter(None, (run["reason"], off)))
    found = run["diagnosis"]
    return found.finding if found and found.condition == "intercept" else ""


def _disagreement(references: list[_Run]) -> str:
    """Return why the QP back ends do not determine the optimum, or an empty string."""
    present = [run for run in references if run["status"] != "not_installed"]
    if len({run["solver"] for run in present}) < len(REFERENCES):
        return f"needs both QP references, {' and '.join(REFERENCES)}"
    for run in present:
        if run["verdict"] not in FINAL:
            return f"the reference {run['solver']} is {run['verdict']}: {run['reason']}"
    if len({run["verdict"] for run in present}) > 1:
        return "the QP back ends disagree about feasibility"
    lower = max(run["dual_objective"] for run in present)
    upper = min(run["primal_objective"] for run in present)
    if lower > upper + _ROUNDING * max(abs(lower), abs(upper)):
        return "the QP back ends' certified intervals do not overlap"
    return ""


def _conflict(run: _Run, runs: list[_Run]) -> str:
    """Return why a run's bounds are no theorem, or which other run's exclude them, or nothing."""
    lower, upper = run["dual_objective"], run["primal_objective"]
    if isnan(lower):
        return ""
    if not (run["bound_source"].startswith("proven") or run["verdict"] == "infeasible"):
        return "its bounds are not proven"
    for other in runs:
        if other["dual_objective"] > upper or other["primal_objective"] < lower:
            bounds = f"[{other['dual_objective']!r}, {other['primal_objective']!r}]"
            return f"proven [{lower!r}, {upper!r}], but {other['solver_label']} proves {bounds}"
    return ""


def _difference(run: _Run, best: _Run) -> float:
    """Return how far the worse of both bounds is from the reference's, relative to the optimum.

    Both bounds count: a right α does not excuse a wrong w. Where the optimum is as good as 0, the unit
    is that which gaps are relative to.
    """
    bounds = ("primal_objective", "dual_objective")
    distance = max(abs(run[name] - best[name]) for name in bounds)
    if not all(isfinite(run[name] - best[name]) for name in bounds):
        return nan
    sizes = [abs(best[name]) for name in bounds]
    unit = best["gap"] / best["relative_gap"] if best["relative_gap"] > 0 else nan
    return distance / (unit if unit > 2 * max(sizes) else sizes[1]) if distance else 0.0
