"""The only loop that owns a clock: one solver, from its first point to its last.

The solver's generator runs until it yields. Its point is converted to plain arrays, numbers and text on
the solver's time, limits are checked, and if an evaluation is due the clock is paused for it.
Evaluations are due at geometrically growing times, and take at most half the time spent solving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any, cast, get_args

import numpy as np

from dualgap.problems import Certificate, Gram, Problem, Vector, certify
from dualgap.problems.blocks import DualRule
from dualgap.problems.forms import Claim, FormPoint, Reduction
from dualgap.problems.validation import short_repr
from dualgap.solvers.base import Solver, Status
from dualgap.solvers.numerics.timing import cpu_seconds, pausing
from dualgap.solvers.running.output import Evaluation, Target
from dualgap.solvers.running.solution import Solution

EVALUATION_TIME_RATIO = 1.25  # of two evaluations in succession
_NOT_A_GENERATOR = "iterates: returned a {}; write `yield` instead of `return`, once for each point"
_NO_POINT = FormPoint(None, note="the solver ended without giving a point")
_FINAL_CLAIMS = ("optimal", "infeasible", "unbounded")  # claims after which a solver ends


@dataclass(frozen=True)
class Request:
    """A problem and how to solve it: the arguments of `solve`, which has their meaning."""

    problem: Problem
    target: Target
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
    status : why the solver stopped.
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
            status = _stop_reason(self, exhausted)
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

    @property
    def iterations(self) -> int:
        """Iterations of this solver and of those before it."""
        return self.effort.iterations + self.latest.iterations

    def _evaluate(self) -> Status | None:
        """Evaluate the latest point; return the reason to stop there, else None."""
        request, point = self.request, self.reduction.recover(_copied(self.latest))
        evaluation = Evaluation(self.effort.time_solve, self.iterations, request.problem, point)
        self.effort.trace.append(evaluation)
        self.is_evaluated = True
        if request.callback is not None:
            request.callback(evaluation)
        if request.problem.may_be_infeasible and evaluation.certificate.infeasible:
            return Status.INFEASIBLE
        within = evaluation.certificate.relative_gap <= request.target.gap
        return Status.FINISHED if request.stop_at_target and within else None

    def evaluate_last(self) -> None:
        """Evaluate the last point if that is still due; it may prove the problem infeasible."""
        pending = self.request.evaluates and not self.is_evaluated
        if pending and self.status is not Status.DIVERGED:
            reason = self._evaluate()
            self.status = Status.INFEASIBLE if reason is Status.INFEASIBLE else self.status

    def solution(self) -> Solution:
        """Return the solution at the latest point."""
        point, effort, gram = self.latest, self.effort, gram_of(self.reduction.form)
        counted = {} if gram is None else {"kernel_evaluations": gram.evaluations}
        return Solution(
            problem=self.request.problem,
            solver=self.solver,
            point=self.reduction.recover(point),
            status=self.status,
            claimed=point.claim,
            note=point.note,
            time_solve=effort.time_solve,
            time_setup=effort.time_setup,
            cpu_time=effort.cpu_time,
            iterations=self.iterations,
            trace=tuple(effort.trace),
            counters={**counted, **point.counters},
            version=point.version,
            derived_tol=self.derived_tol,
            finer_tol=self.solver.finer_tol,
            target=self.request.target,
        )


def _stop_reason(attempt: Attempt, exhausted: bool) -> Status | None:
    """Return why to stop: the solver ended, its point is not finite, or a limit; else None."""
    point, request = attempt.latest, attempt.request
    is_final = point.claim in _FINAL_CLAIMS
    if not exhausted:
        if not point.is_finite:
            return Status.DIVERGED
        if is_final:
            return None  # about to end by itself
    if request.time_limit is not None and attempt.effort.time_solve > request.time_limit:
        return Status.TIME_LIMIT
    if request.max_iter is not None and attempt.iterations >= request.max_iter and not is_final:
        return Status.MAX_ITER
    return Status.FINISHED if exhausted else None


def gram_of(form: Any) -> Gram | None:
    """Return the Gram matrix of a form, if it has one."""
    gram = getattr(form, "gram", None)
    return gram if isinstance(gram, Gram) else None


def _copied(point: FormPoint) -> FormPoint:
    """Return a copy of the point, which the solver can no longer change."""
    names = "x", "beta", "inequality", "w", "equality"
    arrays = {name: getattr(point, name) for name in names}
    return replace(point, **{name: a.copy() for name, a in arrays.items() if a is not None})


def falls_short(attempt: Attempt) -> bool:
    """Whether the solver ended by itself without a final claim."""
    by_itself = attempt.status in (Status.FINISHED, Status.DIVERGED)
    return by_itself and attempt.latest.claim not in _FINAL_CLAIMS


def certified_gaps(attempt: Attempt) -> tuple[Certificate | None, float, float]:
    """Return the certificate of the last point, its relative and its absolute gap, or infinity."""
    latest, request = attempt.latest, attempt.request
    if (latest.x is None and latest.beta is None) or not latest.is_finite:
        return None, np.inf, np.inf
    point = attempt.reduction.recover(latest)
    # as precise as the certificate of the answer: rounding of a quick one may decide wrongly
    certificate = certify(request.problem, point, target_gap=request.target.gap)
    gaps = certificate.relative_gap, certificate.gap
    return certificate, *(gaps if np.isfinite(gaps).all() else (np.inf, np.inf))


def validated(point: Any) -> FormPoint:
    """Return the point in plain arrays, numbers and text; TypeError or ValueError if it is invalid.

    Lazy values are computed here, on the solver's time.
    """
    if type(point) is not FormPoint:  # the fields of a subclass may be properties
        raise TypeError(f"a solver yields FormPoint, this one {type(point).__name__}")
    if not isinstance(point.claim, str) or (claim := str.__str__(point.claim)) not in get_args(
        Claim
    ):
        raise ValueError(
            f"claim: must be one of {', '.join(get_args(Claim))}, got {short_repr(point.claim)}"
        )
    is_count = isinstance(point.iterations, (int, np.integer))
    if not is_count or not 0 <= (iterations := int(point.iterations)) < 2**63:
        raise ValueError(
            f"iterations: must be a whole number from 0 to 2**63 − 1, got {short_repr(point.iterations)}"
        )
    if not isinstance(point.rule, DualRule | None):
        raise TypeError(f"rule: must be a DualRule, got {short_repr(point.rule)}")
    has_texts = isinstance(point.note, str) and isinstance(point.version, str)
    if not isinstance(point.counters, Mapping) or not has_texts:
        raise TypeError(
            "the counters of a FormPoint must be a mapping, its note and version strings"
        )
    x, beta, b, inequality, w, equality = (
        _floats(getattr(point, name), name)
        for name in ("x", "beta", "b", "inequality", "w", "equality")
    )
    return FormPoint(
        x,
        beta,
        None if b is None else float(b),
        inequality,
        iterations,
        cast("Claim", claim),
        {str.__str__(name): float(value) for name, value in dict(point.counters).items()},
        str.__str__(point.note),
        w,
        str.__str__(point.version),
        equality,
        point.rule,
    )


def _floats(values: Any, name: str) -> Vector | None:
    if values is None or (type(values) is np.ndarray and values.dtype == float):
        return values
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{name}: must be an array of floats, got a masked array")
    array = np.asarray(values)
    if array.dtype.kind not in "bifu":
        got = short_repr(values) if array.ndim == 0 else array.dtype  # 0-d: not an array
        raise TypeError(f"{name}: must be an array of floats, got {got}")
    return array.astype(np.float64)
