"""`solve`: the only loop that owns a clock.

The solver's generator runs until it yields. Its point is converted to plain arrays, numbers and text on
the solver's time, limits are checked, and if an evaluation is due the clock is paused for it.
Evaluations are due at geometrically growing times, and take at most half the time spent solving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from dualgap.problems import Gram, Point, Problem, Unsupported
from dualgap.problems.forms import FormPoint, Reduction
from dualgap.problems.problem import is_whole
from dualgap.problems.risk.reductions import RescaledProblem, rescale
from dualgap.problems.validation import check_integer, check_positive
from dualgap.solvers.base import TARGET_GAP, NoSolver, NotInstalled, Solver, Status
from dualgap.solvers.numerics.usage import cpu_seconds, pausing
from dualgap.solvers.numerics.warm_up import warm_up
from dualgap.solvers.running.arguments import check_gram, check_pair, starting_points, validated
from dualgap.solvers.running.defaults import choose, successors_of
from dualgap.solvers.running.parts import EVALUATION_TIME_RATIO, Parts
from dualgap.solvers.running.solution import BACKWARD_ERROR, Evaluation, Solution

_NOT_A_GENERATOR = "iterates: returned a {}; write `yield` instead of `return`, once for each point"
_NO_POINT = FormPoint(None, note="the solver ended without giving a point")
_FINAL_CLAIMS = ("optimal", "infeasible", "unbounded")  # claims after which a solver ends


def solve(
    problem: Problem,
    solver: Solver | Sequence[Solver] | None = None,
    *,
    target_gap: float = TARGET_GAP,
    stop_at_target: bool = False,
    initial: Any = None,
    gram: Gram | None = None,
    time_limit: float | None = None,
    max_iter: int | None = None,
    backward_error: float = BACKWARD_ERROR,
    callback: Callable[[Evaluation], object] | None = None,
    clock: Callable[[], float] = perf_counter,
    started: Callable[[], object] = lambda: None,
) -> Solution:
    """Solve `problem` with `solver` and time it.

    Parameters
    ----------
    problem : any problem.
    solver : any solver. Several are tried in turn until one reaches the target, each starting at the
        best point so far if it can, and the best answer is returned. None means the best default for
        this problem and its `SUCCESSORS`. Limits apply to all of them together, and `Solution.note`
        names those that were tried.
    target_gap : relative gap at which the verdict is "solved". A solver without a tolerance derives it
        from this gap, see `Solver.aimed_at`; `Solution.solver` has its value.
    stop_at_target : stop as soon as the certificate reaches `target_gap`; always so for a hard margin
        with a derived tolerance.
    initial : starting point: a `Solution` (for the same samples, C may differ), a `Point` or a vector
        alpha (n,); for several binary problems alpha is (n, outputs).
    gram : Gram matrix to share among several problems on the same samples and kernel, as
        `Gram(X, kernel, keep=True)`: it keeps its kernel values from one problem to the next.
    time_limit : seconds of solving after which to stop, at the solver's next yield.
    max_iter : iterations, as the solver counts them, after which to stop.
    backward_error : for a convex QP, see `Solution`; 0 for a verdict on the exact problem alone.
    callback : called with each `Evaluation`; they are also kept in `Solution.trace`.
    clock : measures the seconds of set-up and solving. With `time.process_time` instead of a wall clock,
        neither the times nor the effect of a time limit depends on the machine's load.
    started : called when solving begins, after imports and compilation; once per binary problem.

    Returns
    -------
    Solution
        Also if the solver does not support the problem, or a package is missing: see its `status`.

    Raises
    ------
    ValueError
        If an argument is invalid. Exceptions of the solver are passed on.
    """
    solvers: Sequence[Any] = solver if isinstance(solver, list | tuple) and solver else [solver]
    for candidate in solvers:
        check_pair(problem, candidate)
    check_positive(target_gap, "target_gap")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if max_iter is not None:
        max_iter = check_integer(max_iter, "max_iter", 0)
    check_gram(problem, gram)
    starts = starting_points(problem, initial)

    def run(
        problem: Problem,
        start: Point | None,
        callback: Callable[[Evaluation], object] | None,
        time_limit: float | None,
        max_iter: int | None,
    ) -> Solution:
        """Return the answer to one problem, which has no parts."""
        limits = time_limit, max_iter, started
        state = _Run(problem, target_gap, stop_at_target, callback, *limits)
        return state.run_solvers(solvers, start, gram, clock)

    if is_whole(problem):
        answer = run(problem, starts[0], callback, time_limit, max_iter)
        return replace(answer, backward_error=backward_error)
    sum_is_due = callback is not None or stop_at_target
    parts = Parts(problem, starts, callback, sum_is_due)
    return parts.solve(run, solvers[0], target_gap, time_limit, max_iter)


def _copied(point: FormPoint) -> FormPoint:
    """Return a copy of the point, which the solver can no longer change."""
    names = "x", "beta", "inequality", "w", "equality"
    arrays = {name: getattr(point, name) for name in names}
    return replace(point, **{name: a.copy() for name, a in arrays.items() if a is not None})


@dataclass
class _Run:
    """State of solving one part: times, limits, evaluations so far, the latest point.

    The time for selecting the solver counts as solving. `earlier_iterations` are those of the solvers
    before the present one.
    """

    problem: Problem
    target_gap: float
    stop_at_target: bool
    callback: Callable[[Evaluation], object] | None
    time_limit: float | None
    max_iter: int | None
    started: Callable[[], object]
    units: RescaledProblem = field(init=False)
    reduction: Reduction[Any] = field(init=False)
    trace: list[Evaluation] = field(default_factory=list[Evaluation])
    next_evaluation: float = 1e-3  # seconds of solving
    time_setup: float = 0.0
    time_solve: float = 0.0
    cpu_time: float = 0.0
    latest: FormPoint = _NO_POINT
    is_evaluated: bool = True  # the latest point, if any
    derived_tol: float | None = None
    earlier_iterations: int = 0

    def run_solvers(
        self,
        solvers: Sequence[Solver | None],
        start: Point | None,
        gram: Gram | None,
        clock: Callable[[], float],
    ) -> Solution:
        """Return the answer of the solvers (None: the default ones), or the reason for none."""
        started_at, (solver, *successors) = clock(), solvers
        # kernel values that a Gram matrix already holds would not be those of scaled features
        self.units = rescale(self.problem, features=gram is None)
        try:
            if solver is None:
                selection = choose(self.units, self.target_gap, start, gram, clock)
                solver, self.reduction, state, selection_time = selection
                self.time_solve = self.cpu_time = selection_time
                derived = True
                solver = self._with_limits(solver, keep=True)
                state = self._prepare(solver, state, start, gram)
            else:
                aimed = solver.aimed_at(self.target_gap, not self.problem.may_be_infeasible)
                derived = aimed is not solver or bool(successors)
                self.derived_tol = None if aimed is solver else aimed.tolerance
                solver, state = self._reduce(
                    self._with_limits(aimed, bool(successors)), start, gram
                )
        except (Unsupported, NotInstalled) as refusal:
            status = (
                Status.UNSUPPORTED if isinstance(refusal, Unsupported) else Status.NOT_INSTALLED
            )
            named, note, gap = solver or NoSolver(), str(refusal), self.target_gap
            return Solution(self.problem, named, Point(), status, note=note, target_gap=gap)
        self.time_setup = clock() - started_at - self.time_solve
        self.stop_at_target |= derived and self.problem.may_be_infeasible
        status = self._run(solver, state, clock)
        if self._falls_short(status) and solvers[0] is None:
            successors = successors_of(solver, self.problem)
        if successors and self._falls_short(status):
            solver, status = self._try_successors(solver, status, successors, start, gram, clock)
        return self.solution(solver, status)

    def _try_successors(
        self,
        solver: Solver,
        status: Status,
        successors: Sequence[Solver | None],
        start: Point | None,
        gram: Gram | None,
        clock: Callable[[], float],
    ) -> tuple[Solver, Status]:
        """Run successors until one reaches the target; return the best solver and the last status."""
        gap, absolute = self._gaps()
        best, notes = (absolute, solver, self.latest, self.reduction), list[str]()
        gram = self._gram if gram is None else gram
        last, spent = solver, self.latest.iterations
        for successor in filter(None, successors):
            if not (self._falls_short(status) and gap > self.target_gap):
                break
            started_at, self.earlier_iterations = clock(), spent
            point = best[3].recover(best[2]) if np.isfinite(best[0]) else None
            alpha = point.alpha if isinstance(point, Point) else None
            aimed = successor.aimed_at(self.target_gap, not self.problem.may_be_infeasible)
            limited = self._with_limits(aimed, keep=True)
            try:
                prepared = self._reduce(limited, start if alpha is None else Point(alpha), gram)
            except (Unsupported, NotInstalled):
                continue
            self.time_setup += clock() - started_at
            outcome = f"stopped at a relative gap of {gap:.2g}" if gap < np.inf else "gave no bound"
            notes.append(f"{last.name} {outcome}, so {successor.name} was tried next")
            self.latest, last = _NO_POINT, prepared[0]
            status = self._run(*prepared, clock)
            spent, (gap, absolute) = self.earlier_iterations + self.latest.iterations, self._gaps()
            # a successor may be worse than the point it started from, whatever it claims
            denies = self.latest.claim in ("infeasible", "unbounded")
            if denies or absolute <= best[0]:
                best = absolute, last, self.latest, self.reduction
        _, solver, point, self.reduction = best
        if point is not self.latest:
            self.is_evaluated = False
        self.earlier_iterations = spent - point.iterations
        self.latest = replace(point, note="; ".join(filter(None, (*notes, point.note))))
        status = Status.FINISHED if status is Status.DIVERGED and best[0] < np.inf else status
        return solver, self._evaluate_last(status)

    def _reduce(self, solver: Solver, start: Point | None, gram: Gram | None) -> tuple[Solver, Any]:
        """Return the solver and its state; raise Unsupported if it cannot solve the problem."""
        self.reduction = self.units.reduce(solver.form, start, gram)
        if refusal := solver.refuses(self.reduction.form):
            raise Unsupported(refusal)
        return solver, self._prepare(solver, self.reduction.form, start, gram)

    def _falls_short(self, status: Status) -> bool:
        """Whether the solver ended by itself without a final claim."""
        by_itself = status in (Status.FINISHED, Status.DIVERGED)
        return by_itself and self.latest.claim not in _FINAL_CLAIMS

    def _with_limits(self, solver: Solver, keep: bool = False) -> Solver:
        """Return the solver with the remaining limits in those of its settings that are limits.

        With `keep` smaller limits of the solver are kept: after them a successor continues.
        """
        limits: dict[str, float] = {}
        if self.max_iter is not None:
            limits["max_iter"] = self.max_iter - self.earlier_iterations
        if self.time_limit is not None:
            limits["time_limit"] = self.time_limit - self.time_solve
        names = {field.name for field in fields(solver)}
        settings = {name: v for name, v in limits.items() if name in names}
        if keep:
            settings = {n: min(v, getattr(solver, n) or v) for n, v in settings.items()}
        return replace(solver, **settings) if settings else solver

    def _gaps(self) -> tuple[float, float]:
        """Return the certified relative and absolute gap of the latest point, else infinity."""
        has_point = self.latest.x is not None or self.latest.beta is not None
        if not (has_point and self.latest.is_finite):
            return np.inf, np.inf
        evaluation = self.trace[-1] if self.trace and self.is_evaluated else self._new_evaluation()
        gaps = evaluation.certificate.relative_gap, evaluation.certificate.gap
        return gaps if np.isfinite(gaps).all() else (np.inf, np.inf)

    def _prepare(self, solver: Solver, state: Any, start: Point | None, gram: Gram | None) -> Any:
        """Return the solver's initial state, after compiling all functions that it calls."""
        warm_up(solver, self.problem, start, gram)
        prepared = solver.prepare(state)
        self.started()  # may take time, as it notifies another process
        return prepared

    def _run(
        self,
        solver: Solver,
        state: Any,
        clock: Callable[[], float],
        cpu: Callable[[], float] = cpu_seconds,
        thread_cpu: Callable[[], float] = thread_time,
    ) -> Status:
        """Run `solver` and return why it stopped; compilation meanwhile counts as set-up.

        The clocks are default arguments, so that a solver cannot replace them in their module.
        """
        iterates = solver.iterates(state)
        if not isinstance(iterates, Iterator):
            raise TypeError(_NOT_A_GENERATOR.format(type(iterates).__name__))
        with pausing(clock, cpu, thread_cpu) as pauses:
            status, started_at = self._run_until_stopped(iterates, *pauses.clocks), clock()
        self.latest = validated(solver.finish(state, self.latest))
        self.time_setup += pauses.lost[0] + clock() - started_at
        return self._evaluate_last(status)

    @cached_property
    def evaluating(self) -> bool:
        """Whether to evaluate points: on request, or to end early on an infeasible hard margin.

        QPs without samples are excepted, as their solvers yield one point, at the end.
        """
        requested = self.stop_at_target or self.callback is not None
        return requested or (self.problem.may_be_infeasible and self.problem.task is not None)

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
        status, started_at, cpu_started_at = None, wall() - self.time_solve, cpu() - self.cpu_time
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
            self.time_solve, self.cpu_time = wall() - started_at, cpu() - cpu_started_at
            status = self._stop_reason(exhausted)
            due = self.evaluating and self.time_solve >= self.next_evaluation
            if status is None and due and self.latest.has_values:
                paused_at, cpu_paused_at = wall(), thread_cpu()
                status = self._evaluate()
                cost = wall() - paused_at
                started_at += cost
                cpu_started_at += thread_cpu() - cpu_paused_at
                not_before = self.time_solve + 2.0 * cost  # at most half the time spent solving
                self.next_evaluation = max(EVALUATION_TIME_RATIO * self.time_solve, not_before)
        self.latest = _copied(self.latest)
        self.time_solve, self.cpu_time = wall() - started_at, cpu() - cpu_started_at
        return status

    def _stop_reason(self, exhausted: bool) -> Status | None:
        """Return why to stop: the solver ended, its point is not finite, or a limit; else None."""
        point, limit = self.latest, self.time_limit
        is_late = limit is not None and self.time_solve > limit
        if not exhausted:
            if not point.is_finite:
                return Status.DIVERGED
            if point.claim in _FINAL_CLAIMS:
                return None  # about to end by itself
        if is_late:
            return Status.TIME_LIMIT
        spent = self.earlier_iterations + point.iterations
        is_over = self.max_iter is not None and spent >= self.max_iter
        if is_over and point.claim not in _FINAL_CLAIMS:
            return Status.MAX_ITER
        return Status.FINISHED if exhausted else None

    def _new_evaluation(self) -> Evaluation:
        """Return the evaluation of the latest point."""
        point, iterations = _copied(self.latest), self.earlier_iterations + self.latest.iterations
        return Evaluation(self.time_solve, iterations, self.problem, self.reduction.recover(point))

    def _evaluate(self) -> Status | None:
        """Evaluate the latest point; return the reason to stop there, else None."""
        evaluation = self._new_evaluation()
        self.trace.append(evaluation)
        self.is_evaluated = True
        if self.callback is not None:
            self.callback(evaluation)
        if self.problem.may_be_infeasible and evaluation.certificate.infeasible:
            return Status.INFEASIBLE
        reached = self.stop_at_target and evaluation.certificate.relative_gap <= self.target_gap
        return Status.FINISHED if reached else None

    def _evaluate_last(self, status: Status) -> Status:
        """Evaluate the last point if still due; return the status, infeasible if that is proven."""
        pending = self.evaluating and not self.is_evaluated and status is not Status.DIVERGED
        proven = pending and self._evaluate() is Status.INFEASIBLE
        return Status.INFEASIBLE if proven else status

    @property
    def _gram(self) -> Gram | None:
        gram = getattr(self.reduction.form, "gram", None)
        return gram if isinstance(gram, Gram) else None

    def solution(self, solver: Solver, status: Status) -> Solution:
        """Return the solution at the latest point."""
        point, gram = self.latest, self._gram
        counted = {} if gram is None else {"kernel_evaluations": gram.evaluations}
        return Solution(
            problem=self.problem,
            solver=solver,
            point=self.reduction.recover(point),
            status=status,
            claimed=point.claim,
            note=point.note,
            version=point.version,
            target_gap=self.target_gap,
            derived_tol=self.derived_tol,
            time_solve=self.time_solve,
            time_setup=self.time_setup,
            cpu_time=self.cpu_time,
            iterations=self.earlier_iterations + point.iterations,
            trace=tuple(self.trace),
            counters={**counted, **point.counters},
        )
