"""`solve`: the only loop that owns a clock.

The solver's generator runs until it yields; its point is taken apart into plain arrays, numbers and
text on the solver's time, limits are checked, and if the schedule says so the clock is stopped for an
evaluation. Evaluations are made at geometrically growing times, and never cost more than half the time
spent solving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time, thread_time
from typing import Any, cast, get_args

import numpy as np

from dualgap.problems import Formulation, Gram, Point, Unsupported
from dualgap.problems.compilation import pausing
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.units import reduce_in_units
from dualgap.problems.forms import Claim, FormPoint, Reduction
from dualgap.problems.validation import check_positive, check_whole, shown
from dualgap.solvers.base import TARGET_GAP, NoSolver, NotInstalled, Solver, Status
from dualgap.solvers.numerics.warm_up import warm_up
from dualgap.solvers.running.arguments import check_gram, check_pair, starting_points
from dualgap.solvers.running.defaults import choose, successors_of
from dualgap.solvers.running.parts import GROWTH, Parts
from dualgap.solvers.running.solution import BACKWARD_ERROR, Evaluation, Solution

_RETURNED = "iterates: returned a {}; write `yield` instead of `return`, once for each point"
_NO_POINT = FormPoint(None, note="the solver ended without giving a point")
_FIRST_EVALUATION = 1e-3  # seconds
_COST_FACTOR = 2.0  # seconds solving for each second of evaluations
_CLAIMS = get_args(Claim)
_NUMERIC_FIELDS = ("x", "beta", "b", "inequality", "w", "equality")  # of a point
_FINAL_CLAIMS = ("optimal", "infeasible", "unbounded")  # claims after which a solver ends


def solve(
    problem: Formulation,
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
    """Solve `problem` with `solver`, and time it.

    Parameters
    ----------
    problem : any formulation.
    solver : any solver; several are tried in turn until one reaches the target, each from the best point
        so far if it takes a start, and the best answer is kept; None takes the best default for this
        problem and its `SUCCESSORS`. Limits hold for all of them together, and `Solution.note` says
        what was tried.
    target_gap : relative gap at which the verdict is "solved". The tolerance of a solver that is given
        none follows it, see `Solver.aimed_at`; `Solution.solver` has it as a number.
    stop_at_target : end as soon as the certificate reaches `target_gap`; a hard margin does so wherever
        the tolerance follows the target.
    initial : where to begin: a `Solution` (of the same samples, C may differ), a `Point` or a vector
        alpha (n,); for several binary problems alpha is (n, outputs).
    gram : the samples' Gram matrix, for several problems on the same samples and kernel: made by
        `Gram(X, kernel, keep=True)`, it keeps the kernel values from one problem to the next.
    time_limit : seconds of solving after which to stop, at the solver's next yield.
    max_iter : iterations, in the solver's own count, after which to stop.
    backward_error : of a convex QP, see `Solution`; 0 for a verdict on the exact problem alone.
    callback : called with each `Evaluation`; they are also kept in `Solution.trace`.
    clock : counts the seconds of solving and setting up; with `time.process_time` instead of a wall
        clock, neither the times nor what a time limit lets a solver do depend on the machine's load.
    started : called as solving begins, once the solver is imported and compiled; of several binary
        problems for each.

    Returns
    -------
    Solution
        Also where the pair is impossible (`status` unsupported) or a package is missing.

    Raises
    ------
    ValueError
        If an argument is not usable. What the solver itself raises is passed on.
    """
    solvers: Sequence[Any] = solver if isinstance(solver, list | tuple) and solver else [solver]
    for each in solvers:
        check_pair(problem, each)
    check_positive(target_gap, "target_gap")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if max_iter is not None:
        max_iter = check_whole(max_iter, "max_iter", 0)
    check_gram(problem, gram)
    first: Solver | None = solvers[0]
    parts = Parts(problem, starting_points(problem, initial), callback)
    for part, start in zip(problem.parts, parts.starts, strict=True):
        time_left, iterations_left, exhausted = parts.left(time_limit, max_iter)
        if exhausted is not None:
            parts.leave(part, start, first, exhausted)
            continue
        listener = callback
        if part.problem is not problem:
            listener = parts.evaluate if callback is not None or stop_at_target else None
        how = target_gap, stop_at_target, listener, time_left, iterations_left, started
        answer = _Run(part.problem, *how).solved(solvers, start, gram, clock)
        if part.problem is problem:
            return replace(answer, backward_error=backward_error)
        if answer.status in (Status.UNSUPPORTED, Status.NOT_INSTALLED):
            note, status = f"{part.name}: {answer.note}", answer.status
            unable = answer.solver
            return Solution(problem, unable, Point(), status, note=note, target_gap=target_gap)
        first = first or answer.solver
        parts.done.append(answer)
    return parts.solution(first, target_gap)


def cpu_seconds(own: Callable[[], float] = process_time, used: Any = getrusage) -> float:
    """Return the CPU time of this process and of its children that were waited for, in seconds.

    The clocks are values of the function, which a solver does not reach by replacing those of a module.
    """
    children = used(RUSAGE_CHILDREN)
    return own() + children.ru_utime + children.ru_stime


def taken_apart(point: Any) -> FormPoint:
    """Return a point in plain arrays, numbers and text; TypeError or ValueError if it is not one.

    Whatever computes something only once it is asked for is asked here, on the solver's time.
    """
    if type(point) is not FormPoint:  # of a subclass a field may be anything at all
        raise TypeError(f"a solver yields FormPoint, this one {type(point).__name__}")
    if not isinstance(point.claim, str) or (claim := str.__str__(point.claim)) not in _CLAIMS:
        raise ValueError(f"claim: must be one of {', '.join(_CLAIMS)}, got {shown(point.claim)}")
    counted = isinstance(point.iterations, (int, np.integer))
    if not counted or not 0 <= (iterations := int(point.iterations)) < 2**63:
        raise ValueError(
            f"iterations: must be a whole number from 0 to 2**63 − 1, got {shown(point.iterations)}"
        )
    told = isinstance(point.note, str) and isinstance(point.version, str)
    if not isinstance(point.counters, Mapping) or not told:
        raise TypeError("a point's counters are a mapping, its note and version are text")
    x, beta, b, inequality, w, equality = (
        _floats(getattr(point, name), name) for name in _NUMERIC_FIELDS
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
    )


def _floats(values: Any, name: str) -> Vector | None:
    if values is None or (type(values) is np.ndarray and values.dtype == float):
        return values
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{name}: is a masked array; yield an array of floats")
    array = np.asarray(values)
    if array.dtype.kind not in "bifu":
        given = shown(values) if array.ndim == 0 else array.dtype  # what is no array at all
        raise TypeError(f"{name}: must be an array of floats, got {given}")
    return array.astype(np.float64)


def _copied(point: FormPoint) -> FormPoint:
    """Return a point that whoever yielded it can change no more."""
    names = "x", "beta", "inequality", "w", "equality"
    arrays = {name: getattr(point, name) for name in names}
    return replace(point, **{name: a.copy() for name, a in arrays.items() if a is not None})


@dataclass
class _Run:
    """State of solving one part: the clock, the limits, the evaluations made, the latest point.

    The time that the choice of the solver took counts as solving. `earlier` are the iterations of the
    solvers before the one that runs.
    """

    problem: Formulation
    target_gap: float
    stop_at_target: bool
    callback: Callable[[Evaluation], object] | None
    time_limit: float | None
    max_iter: int | None
    started: Callable[[], object]
    reduction: Reduction[Any] = field(init=False)
    trace: list[Evaluation] = field(default_factory=list[Evaluation])
    next_evaluation: float = _FIRST_EVALUATION
    time_setup: float = 0.0
    time_solve: float = 0.0
    cpu_time: float = 0.0
    latest: FormPoint = _NO_POINT
    is_evaluated: bool = True  # of the latest point, as far as there is one
    derived_tol: float | None = None
    earlier: int = 0

    def solved(
        self,
        solvers: Sequence[Solver | None],
        start: Point | None,
        gram: Gram | None,
        clock: Callable[[], float],
    ) -> Solution:
        """Return the answer of the solvers, None for the default ones, or why there is none."""
        begun, (solver, *successors) = clock(), solvers
        try:
            if solver is None:
                choice = choose(self.problem, self.target_gap, start, gram, clock)
                solver, self.reduction, state, looked = choice
                self.time_solve = self.cpu_time = looked
                derived = True
                solver = self._limited(solver, keep=True)
                state = self._prepared(solver, state, start, gram)
            else:
                aimed = solver.aimed_at(self.target_gap, not self.problem.may_be_infeasible)
                derived = aimed is not solver or bool(successors)
                self.derived_tol = None if aimed is solver else aimed.tolerance
                solver, state = self._posed(self._limited(aimed, bool(successors)), start, gram)
        except (Unsupported, NotInstalled) as stop:
            status = Status.UNSUPPORTED if isinstance(stop, Unsupported) else Status.NOT_INSTALLED
            unable, note, gap = solver or NoSolver(), str(stop), self.target_gap
            return Solution(self.problem, unable, Point(), status, note=note, target_gap=gap)
        self.time_setup = clock() - begun - self.time_solve
        self.stop_at_target |= derived and self.problem.may_be_infeasible
        status = self._ran(solver, state, clock)
        if self._falls_short(status) and solvers[0] is None:
            successors = successors_of(solver, self.problem)
        if successors and self._falls_short(status):
            solver, status = self._continued(solver, status, successors, start, gram, clock)
        return self.solution(solver, status)

    def _continued(
        self,
        solver: Solver,
        status: Status,
        successors: Sequence[Solver | None],
        start: Point | None,
        gram: Gram | None,
        clock: Callable[[], float],
    ) -> tuple[Solver, Status]:
        """Run successors until one reaches the target; return the best solver and the last status."""
        gap, known = self._gaps()
        best, notes = (known, solver, self.latest, self.reduction), list[str]()
        gram = self._gram if gram is None else gram
        last, used = solver, self.latest.iterations
        for successor in filter(None, successors):
            if not (self._falls_short(status) and gap > self.target_gap):
                break
            begun, self.earlier = clock(), used
            alpha = best[3].recover(best[2]).alpha if np.isfinite(best[0]) else None
            aimed = successor.aimed_at(self.target_gap, not self.problem.may_be_infeasible)
            limited = self._limited(aimed, keep=True)
            try:
                posed = self._posed(limited, start if alpha is None else Point(alpha), gram)
            except (Unsupported, NotInstalled):
                continue
            self.time_setup += clock() - begun
            reached = f"stopped at a relative gap of {gap:.2g}" if gap < np.inf else "gave no bound"
            notes.append(f"{last.name} {reached}, so {successor.name} was tried next")
            self.latest, last = _NO_POINT, posed[0]
            status = self._ran(*posed, clock)
            used, (gap, known) = self.earlier + self.latest.iterations, self._gaps()
            # cut short, it may be far behind the point that it took over from
            if self.latest.claim in _FINAL_CLAIMS or known <= best[0]:
                best = known, last, self.latest, self.reduction
        _, solver, point, self.reduction = best
        if point is not self.latest:
            self.is_evaluated = False
        note, self.earlier = "; ".join(filter(None, (*notes, point.note))), used - point.iterations
        self.latest = replace(point, note=note)
        status = Status.FINISHED if status is Status.DIVERGED and best[0] < np.inf else status
        return solver, self._evaluated_last(status)

    def _posed(self, solver: Solver, start: Point | None, gram: Gram | None) -> tuple[Solver, Any]:
        """Return a solver and its state; Unsupported if it does not take the problem."""
        self.reduction = reduce_in_units(self.problem, solver.form, start, gram)
        if refusal := solver.refuses(self.reduction.form):
            raise Unsupported(refusal)
        return solver, self._prepared(solver, self.reduction.form, start, gram)

    def _falls_short(self, status: Status) -> bool:
        """Whether a solver ended by itself and claims no answer that would be final."""
        ended = status in (Status.FINISHED, Status.DIVERGED)
        return ended and self.latest.claim not in _FINAL_CLAIMS

    def _limited(self, solver: Solver, keep: bool = False) -> Solver:
        """Return the solver with what remains of those limits that are settings of its own.

        With `keep` its own smaller limits stay: after them a successor continues.
        """
        limits: dict[str, float] = {}
        if self.max_iter is not None:
            limits["max_iter"] = self.max_iter - self.earlier
        if self.time_limit is not None:
            limits["time_limit"] = self.time_limit - self.time_solve
        own = {field.name for field in fields(solver)}
        known = {name: v for name, v in limits.items() if name in own}
        if keep:
            known = {n: min(v, getattr(solver, n) or v) for n, v in known.items()}
        return replace(solver, **known) if known else solver

    def _gaps(self) -> tuple[float, float]:
        """Return the certified relative and absolute gap of the latest point, infinite without one."""
        values = [v for v in (self.latest.x, self.latest.beta) if v is not None]
        if not values or not all(np.isfinite(v).all() for v in values):
            return np.inf, np.inf
        known = self.trace[-1] if self.trace and self.is_evaluated else self._evaluation()
        gaps = known.certificate.relative_gap, known.certificate.gap
        return gaps if np.isfinite(gaps).all() else (np.inf, np.inf)

    def _prepared(self, solver: Solver, state: Any, start: Point | None, gram: Gram | None) -> Any:
        """Return what `solver` begins with, once all that it calls is compiled."""
        warm_up(solver, self.problem, start, gram)
        prepared = solver.prepare(state)
        self.started()  # which may take time, as another process hears of it
        return prepared

    def _ran(
        self,
        solver: Solver,
        state: Any,
        clock: Callable[[], float],
        cpu: Callable[[], float] = cpu_seconds,
        own: Callable[[], float] = thread_time,
    ) -> Status:
        """Run `solver`, and return why it stopped; what is compiled meanwhile counts as set-up.

        The clocks are arguments of functions, which a solver does not reach by replacing those of a
        module.
        """
        iterates = solver.iterates(state)
        if not isinstance(iterates, Iterator):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(_RETURNED.format(type(iterates).__name__))
        with pausing(clock, cpu, own) as pauses:
            status, begun = self.until_stopped(iterates, *pauses.clocks), clock()
        self.latest = taken_apart(solver.finish(state, self.latest))
        self.time_setup += pauses.lost[0] + clock() - begun
        return self._evaluated_last(status)

    @cached_property
    def evaluating(self) -> bool:
        """Whether points are evaluated: a hard margin's to end early once it is proven infeasible.

        What solves a QP without samples gives one point, at its end.
        """
        wanted = self.stop_at_target or self.callback is not None
        return wanted or (self.problem.may_be_infeasible and self.problem.has_samples)

    def until_stopped(
        self,
        iterates: Iterator[FormPoint],
        wall: Callable[[], float],
        cpu: Callable[[], float],
        own: Callable[[], float],
    ) -> Status:
        """Run the solver and return why it stopped, by clocks of time, of the CPU and of this thread.

        Its time and CPU time leave out evaluations, but for what other threads compute then.
        """
        status, begun, cpu_begun = None, wall() - self.time_solve, cpu() - self.cpu_time
        while status is None:
            ended, found = False, None
            try:
                found = next(iterates)
            except StopIteration as end:
                ended = True
                if end.value is not None:
                    raise TypeError(_RETURNED.format(type(end.value).__name__)) from None
            if not ended:
                self.latest, self.is_evaluated = taken_apart(found), False
            self.time_solve, self.cpu_time = wall() - begun, cpu() - cpu_begun
            status = self._stopped(ended)
            due = self.evaluating and self.time_solve >= self.next_evaluation
            if status is None and due and self.latest.has_values:
                paused, cpu_paused = wall(), own()
                status = self._evaluated()
                cost = wall() - paused
                begun, cpu_begun = begun + cost, cpu_begun + own() - cpu_paused
                later = self.time_solve + _COST_FACTOR * cost
                self.next_evaluation = max(GROWTH * self.time_solve, later)
        self.latest = _copied(self.latest)
        self.time_solve, self.cpu_time = wall() - begun, cpu() - cpu_begun
        return status

    def _stopped(self, ended: bool) -> Status | None:
        """Return why to stop, if it is a reason: the solver ended, its point is none, or a limit."""
        point, limit = self.latest, self.time_limit
        late = limit is not None and self.time_solve > limit
        if not ended:
            if any(v is not None and not np.isfinite(v).all() for v in (point.x, point.beta)):
                return Status.DIVERGED
            if point.claim in _FINAL_CLAIMS:
                return None  # it is about to end by itself
        if late:
            return Status.TIME_LIMIT
        used = self.earlier + point.iterations
        counted = self.max_iter is not None and used >= self.max_iter
        if counted and point.claim not in _FINAL_CLAIMS:
            return Status.MAX_ITER
        return Status.FINISHED if ended else None

    def _evaluation(self) -> Evaluation:
        """Return the evaluation of the latest point."""
        point, iterations = _copied(self.latest), self.earlier + self.latest.iterations
        return Evaluation(self.time_solve, iterations, self.problem, self.reduction.recover(point))

    def _evaluated(self) -> Status | None:
        """Evaluate the latest point; return why to stop at it, if it is a reason."""
        evaluation = self._evaluation()
        self.trace.append(evaluation)
        self.is_evaluated = True
        if self.callback is not None:
            self.callback(evaluation)
        if self.problem.may_be_infeasible and evaluation.certificate.infeasible:
            return Status.INFEASIBLE
        reached = self.stop_at_target and evaluation.certificate.relative_gap <= self.target_gap
        return Status.FINISHED if reached else None

    def _evaluated_last(self, status: Status) -> Status:
        """Evaluate the last point, if points are; return the status, infeasible if that is proven."""
        left = self.evaluating and not self.is_evaluated and status is not Status.DIVERGED
        proven = left and self._evaluated() is Status.INFEASIBLE
        return Status.INFEASIBLE if proven else status

    @property
    def _gram(self) -> Gram | None:
        gram = self.reduction.form.gram
        return gram if isinstance(gram, Gram) else None

    def solution(self, solver: Solver, status: Status) -> Solution:
        """Return the solution at the latest point; the last evaluation is always there."""
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
            iterations=self.earlier + point.iterations,
            trace=tuple(self.trace),
            counters={**counted, **point.counters},
        )
