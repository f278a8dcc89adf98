"""The bench: a solver at its default settings, tried on problems and judged by certificates.

The *excess* of an answer is (primal value − certified lower bound of the optimum) / the larger of the
two in magnitude. The bound is the better one of the answer's and the toolkit's default solver's, so
that no solver is trusted, and an answer without α is judged as precisely as one with α.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.experiments.selftest.limits import Limits, WorkClock
from dualgap.experiments.selftest.outcome import Property, PropertyOutcome
from dualgap.experiments.selftest.problems import PROBLEMS
from dualgap.experiments.workers.start import error_text
from dualgap.problems import BoxQP, Formulation, Unsupported, reduce
from dualgap.problems.answers.diagnosis import Diagnosis
from dualgap.problems.answers.geometry import coefficients, upper_limits
from dualgap.problems.box import middle
from dualgap.problems.problem.certificate import WRONG_GAP, Bounds
from dualgap.problems.risk.offsets import best_intercept
from dualgap.solvers import SOLVERS, NotInstalled, Solution, Solver, Status, solve
from dualgap.solvers.numerics.timing import cpu_seconds


class NotJudged(Exception):
    """The property cannot be judged, for the reason in the message."""


def load(name: str) -> Solver:
    """Return a solver at its default settings, raising any error of importing or building it."""
    return SOLVERS.find(name)()


class Bench:
    """A solver, its limits and their clock, and reference solutions of the problems."""

    def __init__(
        self, solver: Solver, limits: Limits, clock: Callable[[], float] | None = None
    ) -> None:
        self.solver, self.limits, self.clock = solver, limits, clock or WorkClock(cpu_seconds)
        self.digests: dict[str, str] = {}
        self.expected: Mapping[str, str] = {}
        self.diagnoses: list[tuple[str, Diagnosis]] = []
        self._problem = ""
        self._references: dict[str, Solution] = {}

    def check(
        self, item: Property, digests: Mapping[str, str], at: Callable[[str], object]
    ) -> PropertyOutcome:
        """Try a property on each of its problems, whose names are reported to `at`.

        A basic property ends at its first failure, on the simplest problem that shows it.
        """
        self.digests, self.expected, self.diagnoses = {}, digests, []
        attempted: list[str] = []
        unsupported, failures = dict[str, str](), dict[str, str]()
        for name in item.problems:
            at(name)
            # a copy: a solver may modify the kernel, which the problems share
            self._problem, problem = name, deepcopy(PROBLEMS[name]())
            try:
                wrong = item.check(self, problem)
            except (Unsupported, NotInstalled, NotJudged) as refusal:
                unsupported[name] = str(refusal)
                continue
            except BaseException as error:  # a solver may raise anything, even SystemExit
                wrong = self._crash(error, problem)
            attempted.append(name)
            if wrong:
                failures[name] = wrong
            if wrong and item.basic:
                break
        return PropertyOutcome(
            item.name,
            result="failed" if failures else "passed" if attempted else "unsupported",
            attempted=tuple(attempted),
            unsupported=unsupported,
            failures=failures,
            digests=self.digests,
            diagnoses=tuple(self.diagnoses),
            form=self.solver.form.__name__,
            solver_class=type(self.solver).__name__,
        )

    def _crash(self, error: BaseException, problem: Formulation) -> str:
        """Return the error of a solver, its source line, and a hint if the form has no equality."""
        text = f"raised {error_text(error, with_source=True)}"
        if self.solver.form is BoxQP and reduce(problem, BoxQP).form.a is None:
            text += " (form.a is None: this problem has no intercept, and so no equality)"
        return text

    def diagnosed(self, diagnosis: Diagnosis | None) -> None:
        """Record the diagnosis of an answer to the current problem."""
        if diagnosis is not None:
            self.diagnoses.append((self._problem, diagnosis))

    def solve(
        self,
        problem: Formulation,
        *,
        time_limit: float | None = None,
        max_iter: int | None = None,
    ) -> Solution:
        """Return the solver's answer; Unsupported, with its message, if it refuses."""
        limit = time_limit or self.limits.solving
        solution = solve(
            problem, self.solver, time_limit=limit, max_iter=max_iter, clock=self.clock
        )
        if solution.status in (Status.UNSUPPORTED, Status.NOT_INSTALLED):
            raise Unsupported(solution.note)
        self.diagnosed(solution.diagnosis)
        return solution

    def reference(self, problem: Formulation) -> Solution:
        """Return the toolkit's answer."""
        if problem.hash not in self._references:
            self._references[problem.hash] = solve(problem, target_gap=1e-6)
        return self._references[problem.hash]

    def excess(self, solution: Solution) -> float:
        """Return the relative distance of an answer above the optimum; NaN for no answer."""
        c = solution.certificate
        if c.relative_gap <= WRONG_GAP:
            return c.relative_gap
        reference = self.reference(solution.problem).certificate.dual_objective
        lower = max(reference, np.nan_to_num(c.dual_objective, nan=-np.inf))
        return Bounds(lower, c.primal_objective).relative(c.primal_objective - lower)

    def objection(self, solution: Solution) -> str:
        """Return what is wrong with the solver's claim, or an empty string."""
        c, claim = solution.certificate, solution.claimed
        if claim == "infeasible" and not c.infeasible:
            return f"claims infeasible, but {_bounds(solution)}"
        if claim != "optimal" or not solution.problem.samples.is_psd:
            return ""
        if c.infeasible:
            return "claims optimal, but the problem is infeasible (proven)"
        if not np.isfinite(c.primal_objective):
            return f"claims optimal, but {c.reason or 'its answer has no finite value'}"
        box = upper_limits(solution.problem)
        # if the optimum is 0, every relative gap is large
        negligible = 1e-10 * float(box[np.isfinite(box)].sum())
        w_only = c.bound_source == "recovered from w"
        distance = self.excess(solution) if w_only else c.relative_gap
        if distance <= WRONG_GAP or c.gap <= negligible:
            return ""
        return f"claims optimal, but {_bounds(solution)} (relative gap {distance:.2g})"


def _bounds(solution: Solution) -> str:
    c = solution.certificate
    return f"the certified bounds are [{c.dual_objective:.6g}, {c.primal_objective:.6g}]"


def changed(problem: Formulation, **fields: Any) -> Any:
    """Return the problem with some fields replaced."""
    return replace(problem, **fields)  # type: ignore[type-var]


def primal_at(problem: Formulation, solution: Solution) -> float:
    """Return the primal value on `problem` of another problem's w, as returned, at the best b."""
    w, alpha = solution.point.w, solution.point.alpha
    if w is not None:
        scores, norm2 = problem.X @ w, float(w @ w)
    elif alpha is not None:
        beta = coefficients(solution.problem, alpha)
        scores = problem.samples.gram().matvec(beta)
        norm2 = float(beta @ scores)
    else:
        raise NotJudged("it returned no point")
    b = middle(*best_intercept(problem.risk, scores)) if problem.intercept else 0.0
    return 0.5 * norm2 + float(problem.risk.C @ problem.risk.loss.value(problem.y, scores + b))
