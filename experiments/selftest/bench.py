"""The bench: a solver at its default settings, tried on problems and judged by certificates.

An answer's *excess* is (primal value − certified lower bound of the optimum) / the larger of the two
in size. The bound is the better one of the answer's own and of the toolkit's default solver, so that
no solver is believed, and a solver that gives weights alone is judged as exactly as one that gives α.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.experiments.selftest.limits import Limits, WorkClock
from dualgap.experiments.selftest.outcome import Outcome, Property
from dualgap.experiments.selftest.problems import PROBLEMS
from dualgap.experiments.workers.errors import error_text
from dualgap.problems import BoxQP, Formulation, Unsupported, reduce
from dualgap.problems.answers.diagnosis import Diagnosis
from dualgap.problems.box_gap import middle
from dualgap.problems.certificates.certificate import Bounds
from dualgap.problems.dual_problem.offsets import best_intercept
from dualgap.solvers import SOLVERS, NotInstalled, Solution, Solver, Status, solve
from dualgap.solvers.running.loop import cpu_seconds

WRONG = 1e-2  # excess above which a claim of optimality is a lie
_REFERENCE = 1e-6  # relative gap of the toolkit's own answer
_NOTHING = 1e-10  # of a sample's loss: where the optimum is 0, any gap is large relative to it


class NotJudged(Exception):
    """Nothing can be judged here, for the reason in the message."""


def load(name: str) -> Solver:
    """Return a solver at its default settings; what importing and building it raises is passed on."""
    return SOLVERS.find(name)()


class Bench:
    """A solver, the limits it is given, what counts them, and what is known of the problems."""

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
    ) -> Outcome:
        """Try a property on each of its problems, reporting each to `at`.

        A basic one ends at its first failure, on the simplest problem that shows it.
        """
        self.digests, self.expected, self.diagnoses = {}, digests, []
        tried: list[str] = []
        unsupported, failures = dict[str, str](), dict[str, str]()
        for name in item.problems:
            at(name)
            # A copy, as a solver may change the kernel, which all problems of the table share.
            self._problem, problem = name, deepcopy(PROBLEMS[name]())
            try:
                wrong = item.check(self, problem)
            except (Unsupported, NotInstalled, NotJudged) as refusal:
                unsupported[name] = str(refusal)
                continue
            except BaseException as error:  # a solver may raise anything, SystemExit as well
                wrong = self._crash(error, problem)
            tried.append(name)
            if wrong:
                failures[name] = wrong
            if wrong and item.basic:
                break
        return Outcome(
            item.name,
            result="failed" if failures else "passed" if tried else "unsupported",
            tried=tuple(tried),
            unsupported=unsupported,
            failures=failures,
            digests=self.digests,
            diagnoses=tuple(self.diagnoses),
            form=self.solver.form.__name__,
            solver_class=type(self.solver).__name__,
        )

    def _crash(self, error: BaseException, problem: Formulation) -> str:
        """Return what a solver raised, where, and what its form lacks that solvers often rely on."""
        text = f"raised {error_text(error, with_source=True)}"
        if self.solver.form is BoxQP and reduce(problem, BoxQP).form.a is None:
            text += " (form.a is None: this problem has no intercept, and so no equality)"
        return text

    def diagnosed(self, diagnosis: Diagnosis | None) -> None:
        """Keep what is wrong with an answer to the problem that is being tried."""
        if diagnosis is not None:
            self.diagnoses.append((self._problem, diagnosis))

    def solve(
        self,
        problem: Formulation,
        *,
        time_limit: float | None = None,
        max_iter: int | None = None,
    ) -> Solution:
        """Return the solver's answer; Unsupported, with its sentence, if it refuses."""
        limit = time_limit or self.limits.solving
        solution = solve(
            problem, self.solver, time_limit=limit, max_iter=max_iter, clock=self.clock
        )
        if solution.status in (Status.UNSUPPORTED, Status.NOT_INSTALLED):
            raise Unsupported(solution.note)
        self.diagnosed(solution.diagnosis)
        return solution

    def reference(self, problem: Formulation) -> Solution:
        """Return the toolkit's own answer."""
        if problem.hash not in self._references:
            self._references[problem.hash] = solve(problem, target_gap=_REFERENCE)
        return self._references[problem.hash]

    def excess(self, solution: Solution) -> float:
        """Return how far an answer is above the optimum, relatively; NaN for no answer."""
        own = solution.certificate
        if own.relative_gap <= WRONG:  # judged by itself
            return own.relative_gap
        known = self.reference(solution.problem).certificate.dual_objective
        lower = max(known, np.nan_to_num(own.dual_objective, nan=-np.inf))
        return Bounds(lower, own.primal_objective).relative(own.primal_objective - lower)

    def objection(self, solution: Solution) -> str:
        """Return what is wrong with the solver's claim, or an empty string."""
        own, claim = solution.certificate, solution.claimed
        if claim == "infeasible" and not own.infeasible:
            return f"claims infeasible, but {_bounds(solution)}"
        if claim != "optimal" or not solution.problem.is_psd:
            return ""
        if own.infeasible:
            return "claims optimal, but the problem is infeasible (proven)"
        if not np.isfinite(own.primal_objective):
            return f"claims optimal, but {own.reason or 'its answer has no finite value'}"
        box = solution.problem.upper
        nothing = _NOTHING * float(box[np.isfinite(box)].sum())
        alone = own.bound_source == "recovered from w"
        distance = self.excess(solution) if alone else own.relative_gap
        if distance <= WRONG or own.gap <= nothing:
            return ""
        return f"claims optimal, but {_bounds(solution)} (relative gap {distance:.2g})"


def _bounds(solution: Solution) -> str:
    own = solution.certificate
    return f"the certified bounds are [{own.dual_objective:.6g}, {own.primal_objective:.6g}]"


def changed(problem: Formulation, **fields: Any) -> Any:
    """Return the problem with other values of some fields."""
    return replace(problem, **fields)  # type: ignore[type-var]


def primal_at(problem: Formulation, solution: Solution) -> float:
    """Return the primal value on `problem` of another problem's w, as it was given, at its best b."""
    w, alpha = solution.point.w, solution.point.alpha
    if w is not None:
        scores, norm2 = problem.X @ w, float(w @ w)
    elif alpha is not None:
        beta = solution.problem.beta(alpha)
        scores = problem.gram().matvec(beta)
        norm2 = float(beta @ scores)
    else:
        raise NotJudged("it gave no point")
    b = middle(*best_intercept(problem, scores)) if problem.intercept else 0.0
    return 0.5 * norm2 + float(problem.upper @ problem.loss.value(problem.y, scores + b))
