"""`solve`: the answer to a problem by one solver, by several in turn, or by the default ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from time import perf_counter
from typing import Any

import numpy as np

from dualgap.problems import Gram, Point, Problem, Unsupported
from dualgap.problems.forms import Reduction
from dualgap.problems.problem import is_whole
from dualgap.problems.risk.reductions import RescaledProblem, rescale
from dualgap.problems.validation import check_integer, check_positive
from dualgap.solvers.base import TARGET_GAP, NoSolver, NotInstalled, Solver, Status
from dualgap.solvers.numerics.warm_up import warm_up
from dualgap.solvers.running.arguments import check_gram, check_pair, starting_points
from dualgap.solvers.running.defaults import choose, successors_of
from dualgap.solvers.running.loop import Attempt, Effort, Request
from dualgap.solvers.running.parts import Parts
from dualgap.solvers.running.solution import BACKWARD_ERROR, Evaluation, Solution


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
    request = Request(
        problem, target_gap, stop_at_target, callback, time_limit, max_iter, clock, started
    )

    def run(request: Request, start: Point | None) -> Solution:
        return _Sequence(request, start, gram).solve(solvers)

    if is_whole(problem):
        return replace(run(request, starts[0]), backward_error=backward_error)
    return Parts(request, starts).solve(run, solvers[0])


class _Sequence:
    """Solvers in turn on a problem without parts: their starting point, Gram matrix and effort."""

    def __init__(self, request: Request, start: Point | None, gram: Gram | None) -> None:
        self.request, self.start, self.gram, self.effort = request, start, gram, Effort()
        self.began_at = request.clock()
        # kernel values that a Gram matrix already holds would not be those of scaled features
        self.units: RescaledProblem = rescale(request.problem, features=gram is None)

    def solve(self, solvers: Sequence[Solver | None]) -> Solution:
        """Return the answer of the solvers (None: the default ones), or the reason for none."""
        (first, *successors), problem = solvers, self.request.problem
        try:
            attempt = self._default() if first is None else self._first(first, bool(successors))
        except (Unsupported, NotInstalled) as refusal:
            return self._refused(first or NoSolver(), refusal)
        self.effort.time_setup = self.request.clock() - self.began_at - self.effort.time_solve
        attempt.run()
        if first is None and attempt.falls_short:
            successors = successors_of(attempt.solver, problem)
        if successors and attempt.falls_short:
            attempt = self._best_of(attempt, successors)
        return attempt.solution()

    def _default(self) -> Attempt:
        """Return the attempt of the best default solver; its selection counts as solving."""
        request, effort = self.request, self.effort
        selection = choose(self.units, request.target_gap, self.start, self.gram, request.clock)
        solver, reduction, state, effort.time_solve = selection
        effort.cpu_time = effort.time_solve
        self._stop_hard_margin_at_target()
        return self._prepared(self._limited(solver, keep=True), reduction, state, self.start)

    def _first(self, solver: Solver, has_successors: bool) -> Attempt:
        """Return the attempt of the first solver that was named."""
        aimed = self._aimed(solver)
        if aimed is not solver or has_successors:
            self._stop_hard_margin_at_target()
        attempt = self._reduced(self._limited(aimed, keep=has_successors), self.start)
        attempt.derived_tol = None if aimed is solver else aimed.tolerance
        return attempt

    def _best_of(self, best: Attempt, successors: Sequence[Solver | None]) -> Attempt:
        """Run successors until one reaches the target, each from the best point; return the best."""
        clock, effort, target_gap = self.request.clock, self.effort, self.request.target_gap
        last, spent, notes = best, best.iterations, list[str]()
        gap, best_absolute = best.gaps()
        self.gram = best.gram if self.gram is None else self.gram
        for successor in filter(None, successors):
            if not (last.falls_short and gap > target_gap):
                break
            started_at, effort.iterations = clock(), spent
            point = best.reduction.recover(best.latest) if np.isfinite(best_absolute) else None
            alpha = point.alpha if isinstance(point, Point) else None
            limited = self._limited(self._aimed(successor), keep=True)
            try:
                attempt = self._reduced(limited, self.start if alpha is None else Point(alpha))
            except (Unsupported, NotInstalled):
                continue
            effort.time_setup += clock() - started_at
            outcome = f"stopped at a relative gap of {gap:.2g}" if gap < np.inf else "gave no bound"
            notes.append(f"{last.solver.name} {outcome}, so {successor.name} was tried next")
            attempt.run()
            last, spent, (gap, absolute) = attempt, attempt.iterations, attempt.gaps()
            # a successor may be worse than the point it started from, whatever it claims
            if attempt.latest.claim in ("infeasible", "unbounded") or absolute <= best_absolute:
                best, best_absolute = attempt, absolute
        if best is not last:
            best.is_evaluated = False  # so that the trace ends with the answer
            best.status = last.status
        if best.status is Status.DIVERGED and best_absolute < np.inf:
            best.status = Status.FINISHED
        effort.iterations = spent - best.latest.iterations
        note = "; ".join(filter(None, (*notes, best.latest.note)))
        best.latest = replace(best.latest, note=note)
        best.evaluate_last()
        return best

    def _aimed(self, solver: Solver) -> Solver:
        """Return the solver with a tolerance for the target gap, unless it has one."""
        bounded = not self.request.problem.may_be_infeasible
        return solver.aimed_at(self.request.target_gap, bounded)

    def _limited(self, solver: Solver, keep: bool) -> Solver:
        """Return the solver with the remaining limits in those of its settings that are limits.

        With `keep` smaller limits of the solver are kept: after them a successor continues.
        """
        request, limits = self.request, dict[str, float]()
        if request.max_iter is not None:
            limits["max_iter"] = request.max_iter - self.effort.iterations
        if request.time_limit is not None:
            limits["time_limit"] = request.time_limit - self.effort.time_solve
        names = {field.name for field in fields(solver)}
        settings = {name: v for name, v in limits.items() if name in names}
        if keep:
            settings = {n: min(v, getattr(solver, n) or v) for n, v in settings.items()}
        return replace(solver, **settings) if settings else solver

    def _reduced(self, solver: Solver, start: Point | None) -> Attempt:
        """Return the attempt of the solver; raise Unsupported if it cannot solve the problem."""
        reduction = self.units.reduce(solver.form, start, self.gram)
        if refusal := solver.refuses(reduction.form):
            raise Unsupported(refusal)
        return self._prepared(solver, reduction, reduction.form, start)

    def _prepared(
        self, solver: Solver, reduction: Reduction[Any], state: Any, start: Point | None
    ) -> Attempt:
        """Return the attempt, after compiling all functions that the solver calls."""
        warm_up(solver, self.request.problem, start, self.gram)
        prepared = solver.prepare(state)
        self.request.started()  # may take time, as it notifies another process
        return Attempt(self.request, self.effort, solver, reduction, prepared)

    def _stop_hard_margin_at_target(self) -> None:
        """Let a solver with a derived tolerance end once a hard margin is certified to the target."""
        if self.request.problem.may_be_infeasible:
            self.request = replace(self.request, stop_at_target=True)

    def _refused(self, solver: Solver, refusal: Exception) -> Solution:
        """Return the solution that has no point, as the solver cannot solve the problem."""
        is_missing = isinstance(refusal, NotInstalled)
        status = Status.NOT_INSTALLED if is_missing else Status.UNSUPPORTED
        problem, gap = self.request.problem, self.request.target_gap
        return Solution(problem, solver, Point(), status, note=str(refusal), target_gap=gap)
