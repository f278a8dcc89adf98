"""`solve`: the answer to a problem by one solver, by several in turn, or by the default ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from time import perf_counter
from typing import Any

import numpy as np

from dualgap.problems import (
    Gram,
    Point,
    Problem,
    SampleProblem,
    Unsupported,
)
from dualgap.problems.answers.geometry import upper_limits
from dualgap.problems.forms import Reduction
from dualgap.problems.problem import is_whole, split
from dualgap.problems.risk.reductions import RescaledProblem, rescale
from dualgap.problems.validation import check_integer, check_positive, short_repr
from dualgap.solvers.base import TARGET_GAP, NoSolver, NotInstalled, Solver, Status
from dualgap.solvers.numerics.timing import warm_up
from dualgap.solvers.running.defaults import choose, successors_of
from dualgap.solvers.running.loop import (
    Attempt,
    Effort,
    Request,
    certified_gaps,
    falls_short,
    gram_of,
)
from dualgap.solvers.running.output import BACKWARD_ERROR, Evaluation, Target
from dualgap.solvers.running.parts import Parts
from dualgap.solvers.running.solution import Solution, with_certificate


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
    backward_error : for a convex QP, see `Target`; 0 for a verdict on the exact problem alone.
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
        _check_pair(problem, candidate)
    check_positive(target_gap, "target_gap")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if max_iter is not None:
        max_iter = check_integer(max_iter, "max_iter", 0)
    _check_gram(problem, gram)
    starts = _starting_points(problem, initial)
    target = Target(target_gap, backward_error=backward_error)
    request = Request(
        problem, target, stop_at_target, callback, time_limit, max_iter, clock, started
    )

    def run(request: Request, start: Point | None) -> Solution:
        return _Sequence(request, start, gram).solve(solvers)

    if is_whole(problem):
        return run(request, starts[0])
    return Parts(request, starts).solve(run, solvers[0])


def _check_pair(problem: Any, solver: Any) -> None:
    """Raise ValueError unless these are a formulation and a solver, or None for the default one."""
    got = problem if isinstance(problem, type) else type(problem)
    if issubclass(got, Solver):
        raise ValueError(
            f"problem: got the solver {got.__name__}; the problem comes first: "
            f"solve(problem, {got.__name__}())"
        )
    if not isinstance(problem, Problem):
        raise ValueError(
            "problem: must be a formulation such as SoftMarginDual(X, y, C=1.0), got "
            f"{short_repr(problem)}"
        )
    if isinstance(solver, type) and issubclass(solver, Solver):
        name = solver.__name__
        raise ValueError(f"solver: got the class {name}; write solve(problem, {name}())")
    if isinstance(solver, str):
        raise ValueError(
            f"solver: got the name {solver!r}; write solve(problem, find_solver({solver!r})()), "
            "after `from dualgap.solvers import find_solver`"
        )
    if solver is not None and not isinstance(solver, Solver):
        raise ValueError(f"solver: must be a solver such as SMO(), got {short_repr(solver)}")


def _check_gram(problem: Problem, gram: Gram | None) -> None:
    """Raise ValueError if `gram` is not the Gram matrix of the problem."""
    if gram is None:
        return
    if not isinstance(gram, Gram):
        raise ValueError(f"gram: must be a dualgap.problems.Gram, got {short_repr(gram)}")
    if not isinstance(problem, SampleProblem):
        raise ValueError(f"gram: leave it out; {problem.name} has no samples, so no Gram matrix")
    if len(problem.parts) > 1:
        raise ValueError(
            "gram: leave it out; each of several binary problems has its own Gram matrix"
        )
    if gram.n != problem.n or gram.kernel != problem.kernel:
        raise ValueError(
            f"gram: must be that of the problem's {problem.n} samples and {problem.kernel!r}, got one "
            f"of {gram.n} samples and {gram.kernel!r}; use Gram(problem.X, problem.kernel, keep=True)"
        )


def _starting_points(problem: Problem, initial: Any) -> list[Point | None]:
    """Return the starting point of each part, scaled to its box; None without an initial answer.

    The answer to a kernel problem with another C′ is multiplied by C/C′, so that variables at the bound
    stay there: along twenty values of C on ijcnn1 this halves the time per value. SMO then shortens
    it to the best multiple. Linear problems are not scaled, as that would change w more.

    Raises
    ------
    ValueError
        If `initial` has no finite dual variables of the problem's shape.
    """
    if initial is None or not isinstance(
        problem, SampleProblem
    ):  # QP solvers have no starting point
        return [None] * len(problem.parts)
    # `Solution.alpha` would certify the answer, which takes longer than starting from it
    is_answer = isinstance(initial, Solution) and initial.point.alpha is not None
    start = initial.point if is_answer else initial
    alpha = start if isinstance(start, np.ndarray) else getattr(start, "alpha", None)
    shape = (problem.n, problem.outputs) if problem.outputs > 1 else (problem.n,)
    got = None if alpha is None else np.shape(alpha)
    if alpha is None or got != shape or not np.isfinite(alpha).all():
        raise ValueError(
            f"initial: must have finite dual variables alpha of shape {shape} (a Solution, Point or "
            f"array), got {type(initial).__name__} with alpha of shape {got}"
        )
    if isinstance(initial, Solution) and not problem.samples.is_linear:
        old, new = upper_limits(initial.problem), upper_limits(problem)
        if np.isfinite(old).all() and np.isfinite(new).all():
            alpha = (alpha.T * (new / old)).T  # of every output
    return [*split(problem, Point(alpha))]


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
            is_missing = isinstance(refusal, NotInstalled)
            status = Status.NOT_INSTALLED if is_missing else Status.UNSUPPORTED
            refused, target = first or NoSolver(), self.request.target
            return Solution(problem, refused, Point(), status, note=str(refusal), target=target)
        self.effort.time_setup = self.request.clock() - self.began_at - self.effort.time_solve
        attempt.run()
        if first is None and falls_short(attempt):
            successors = successors_of(attempt.solver, problem)
        if successors and falls_short(attempt):
            return self._best_of(attempt, successors)
        return attempt.solution()

    def _default(self) -> Attempt:
        """Return the attempt of the best default solver; its selection counts as solving."""
        request, effort = self.request, self.effort
        selection = choose(self.units, request.target.gap, self.start, self.gram, request.clock)
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

    def _best_of(self, best: Attempt, successors: Sequence[Solver | None]) -> Solution:
        """Run successors until one reaches the target, each from the best point; return the best."""
        clock, effort, target_gap = self.request.clock, self.effort, self.request.target.gap
        last, spent, notes = best, best.iterations, list[str]()
        certificate, gap, best_absolute = certified_gaps(best)
        self.gram = gram_of(best.reduction.form) if self.gram is None else self.gram
        for successor in filter(None, successors):
            if not (falls_short(last) and gap > target_gap):
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
            last, spent = attempt, attempt.iterations
            certificate_of_last, gap, absolute = certified_gaps(attempt)
            # a successor may be worse than the point it started from, whatever it claims
            if attempt.latest.claim in ("infeasible", "unbounded") or absolute <= best_absolute:
                best, best_absolute, certificate = attempt, absolute, certificate_of_last
        if best is not last:
            best.is_evaluated = False  # so that the trace ends with the answer
            best.status = last.status
        if best.status is Status.DIVERGED and best_absolute < np.inf:
            best.status = Status.FINISHED
        effort.iterations = spent - best.latest.iterations
        note = "; ".join(filter(None, (*notes, best.latest.note)))
        best.latest = replace(best.latest, note=note)
        best.evaluate_last()
        solution = best.solution()
        return solution if certificate is None else with_certificate(solution, certificate)

    def _aimed(self, solver: Solver) -> Solver:
        """Return the solver with a tolerance for the target gap, unless it has one."""
        bounded = not self.request.problem.may_be_infeasible
        return solver.aimed_at(self.request.target.gap, bounded)

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
