"""The only loop that owns a clock: one solver, from its first point to its last.

The solver's generator runs until it yields. Its point is converted to plain arrays, numbers and text on
the solver's time, limits are checked, and if an evaluation is due the clock is paused for it.
Evaluations are due at geometrically growing times, and take at most half the time spent solving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any

import numpy as np

from dualgap.problems import Certificate, Gram, Problem, certify
from dualgap.problems.forms import FormPoint, Reduction
from dualgap.solvers.base import Solver, Status
from dualgap.solvers.numerics.usage import cpu_seconds, pausing
from dualgap.solvers.running.arguments import validated
from dualgap.solvers.running.solution import Evaluation, Solution

EVALUATION_TIME_RATIO = 1.25  # of two evaluations in succession
_NOT_A_GENERATOR = "iterates: returned a {}; write `yield` instead of `return`, once for each point"
_NO_POINT = FormPoint(None, note="the solver ended without giving a point")
_FINAL_CLAIMS = ("optimal", "infeasible", "unbounded")  # claims after which a solver ends


@dataclass(frozen=True)
class Request:
    """A problem and how to solve it: the arguments of `solve`, which has their meaning."""

    problem: Problem
    target_gap: float
    stop_at_target: bool
    callback: Callable[[Evaluation], object] | None
    time_limit: float | None
    max_iter: int | None
    clock: Callable[[], float]
    started: Callable[[], object]

    @property
    def needs_trace(self) -> bool:
        """Whether evaluations are requested."""
        return self.stop_at_target or self.callback is not None

    @property
    def evaluates(self) -> bool:
        """Whether points are evaluated: on request, or to end early on an infeasible hard margin.

        QPs without samples are excepted, as their solvers yield one point, at the end.
        """
        is_hard = self.problem.may_be_infeasible and self.problem.task is not None
        return self.needs_trace or is_hard


@dataclass
class Effort:
    """What all solvers of one problem have spent so far, and the evaluations of their points.

    Attributes
    ----------
    time_setup, time_solve, cpu_time : seconds; selecting the solver counts as solving.
    iterations : of the solvers before the present one.
    next_evaluation : the seconds of solving at which it is due.
    """

    time_setup: float = 0.0
    time_solve: float = 0.0
    cpu_time: float = 0.0
    iterations: int = 0
    trace: list[Evaluation] = field(default_factory=list[Evaluation])
    next_evaluation: float = 1e-3


@dataclass(eq=False)
class Attempt:
    """One solver on one reduction of the problem.

    Attributes
    ----------
    state : the argument of `Solver.iterates`.
    derived_tol : the solver's tolerance if it was derived from the target gap.
    latest : its latest point. is_evaluated : whether that is the last one of the trace.
    status : why the solver stopped. certificate : of its last point, if already computed.
    """

    request: Request
    effort: Effort
    solver: Solver
    reduction: Reduction[Any]
    state: Any
    derived_tol: float | None = None
    latest: FormPoint = _NO_POINT
    is_evaluated: bool = True
    status: Status = Status.FINISHED
    certificate: Certificate | None = None

    def run(self) -> None:
        """Run the solver until it ends or is stopped; compilation meanwhile counts as set-up."""
        clock, effort = self.request.clock, self.effort
        iterates = self.solver.iterates(self.state)
        if not isinstance(iterates, Iterator):
            raise TypeError(_NOT_A_GENERATOR.format(type(iterates).__name__))
        with pausing(clock, cpu_seconds, thread_time) as pauses:
            self.status, stopped_at = self._run_until_stopped(iterates, *pauses.clocks), clock()
        self.latest = validated(self.solver.finish(self.state, self.latest))
        effort.time_setup += pauses.lost[0] + clock() - stopped_at
        self.evaluate_last()

    def _run_until_stopped(
        self,
        iterates: Iterator[FormPoint],
        wall: Callable[[], float],
        cpu: Callable[[], float],
        thread_cpu: Callable[[], float],
    ) -> Status:
        """Run the solver and return why it stopped; the clocks are of the wall, process and thread.

        Both times pause during evaluations; CPU time of other threads still counts.
        """
        effort, evaluates, status = self.effort, self.request.evaluates, None
        started_at, cpu_started_at = wall() - effort.time_solve, cpu() - effort.cpu_time
        while status is None:
            exhausted, point = False, None
            try:
                point = next(iterates)
            except StopIteration as end:
                exhausted = True
                if end.value is not None:
                    raise TypeError(_NOT_A_GENERATOR.format(type(end.value).__name__)) from None
            if not exhausted:
                self.latest, self.is_evaluated = validated(point), False
            effort.time_solve, effort.cpu_time = wall() - started_at, cpu() - cpu_started_at
            status = self._stop_reason(exhausted)
            due = evaluates and effort.time_solve >= effort.next_evaluation
            if status is None and due and self.latest.has_values:
                paused_at, cpu_paused_at = wall(), thread_cpu()
                status = self._evaluate()
                cost = wall() - paused_at
                started_at += cost
                cpu_started_at += thread_cpu() - cpu_paused_at
                not_before = effort.time_solve + 2.0 * cost  # at most half the time spent solving
                effort.next_evaluation = max(EVALUATION_TIME_RATIO * effort.time_solve, not_before)
        self.latest = _copied(self.latest)
        effort.time_solve, effort.cpu_time = wall() - started_at, cpu() - cpu_started_at
        return status

    def _stop_reason(self, exhausted: bool) -> Status | None:
        """Return why to stop: the solver ended, its point is not finite, or a limit; else None."""
        point, time_limit, max_iter = self.latest, self.request.time_limit, self.request.max_iter
        is_final = point.claim in _FINAL_CLAIMS
        if not exhausted:
            if not point.is_finite:
                return Status.DIVERGED
            if is_final:
                return None  # about to end by itself
        if time_limit is not None and self.effort.time_solve > time_limit:
            return Status.TIME_LIMIT
        if max_iter is not None and self.iterations >= max_iter and not is_final:
            return Status.MAX_ITER
        return Status.FINISHED if exhausted else None

    @property
    def iterations(self) -> int:
        """Iterations of this solver and of those before it."""
        return self.effort.iterations + self.latest.iterations

    @property
    def gram(self) -> Gram | None:
        """The Gram matrix of the reduction, if it has one."""
        gram = getattr(self.reduction.form, "gram", None)
        return gram if isinstance(gram, Gram) else None

    @property
    def falls_short(self) -> bool:
        """Whether the solver ended by itself without a final claim."""
        by_itself = self.status in (Status.FINISHED, Status.DIVERGED)
        return by_itself and self.latest.claim not in _FINAL_CLAIMS

    def gaps(self) -> tuple[float, float]:
        """Return the certified relative and absolute gap of the last point, else infinity."""
        has_point = self.latest.x is not None or self.latest.beta is not None
        if not (has_point and self.latest.is_finite):
            return np.inf, np.inf
        problem, point = self.request.problem, self.reduction.recover(self.latest)
        # as precise as the certificate of the answer: rounding of a quick one may decide wrongly
        self.certificate = certify(problem, point, target_gap=self.request.target_gap)
        gaps = self.certificate.relative_gap, self.certificate.gap
        return gaps if np.isfinite(gaps).all() else (np.inf, np.inf)

    def _new_evaluation(self) -> Evaluation:
        """Return the evaluation of the latest point."""
        point = self.reduction.recover(_copied(self.latest))
        return Evaluation(self.effort.time_solve, self.iterations, self.request.problem, point)

    def _evaluate(self) -> Status | None:
        """Evaluate the latest point; return the reason to stop there, else None."""
        request, evaluation = self.request, self._new_evaluation()
        self.effort.trace.append(evaluation)
        self.is_evaluated = True
        if request.callback is not None:
            request.callback(evaluation)
        if request.problem.may_be_infeasible and evaluation.certificate.infeasible:
            return Status.INFEASIBLE
        within = evaluation.certificate.relative_gap <= request.target_gap
        return Status.FINISHED if request.stop_at_target and within else None

    def evaluate_last(self) -> None:
        """Evaluate the last point if that is still due; it may prove the problem infeasible."""
        pending = self.request.evaluates and not self.is_evaluated
        if pending and self.status is not Status.DIVERGED:
            reason = self._evaluate()
            self.status = Status.INFEASIBLE if reason is Status.INFEASIBLE else self.status

    def solution(self) -> Solution:
        """Return the solution at the latest point."""
        point, effort, gram = self.latest, self.effort, self.gram
        counted = {} if gram is None else {"kernel_evaluations": gram.evaluations}
        return Solution(
            problem=self.request.problem,
            solver=self.solver,
            point=self.reduction.recover(point),
            status=self.status,
            claimed=point.claim,
            note=point.note,
            version=point.version,
            target_gap=self.request.target_gap,
            derived_tol=self.derived_tol,
            time_solve=effort.time_solve,
            time_setup=effort.time_setup,
            cpu_time=effort.cpu_time,
            iterations=self.iterations,
            trace=tuple(effort.trace),
            precomputed=self.certificate,
            counters={**counted, **point.counters},
        )


def _copied(point: FormPoint) -> FormPoint:
    """Return a copy of the point, which the solver can no longer change."""
    names = "x", "beta", "inequality", "w", "equality"
    arrays = {name: getattr(point, name) for name in names}
    return replace(point, **{name: a.copy() for name, a in arrays.items() if a is not None})
