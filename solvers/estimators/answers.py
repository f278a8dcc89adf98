"""How the estimators solve a problem: which solver, how accurately, and the intercept.

`tol` means what it means in scikit-learn, the maximal violating pair. A problem of up to 1000 samples is
solved to a millionth of it, which takes little longer: weights of samples then do exactly what repeating
the samples does, and answers do not depend on the order of the samples. Where that takes too many steps,
or float64 does not lead that far, `tol` itself has to do; with refine=False it always does.

Such a problem, with nu too, is solved in one compiled call on its Gram matrix (`solvers.smo.small`) by
the default solver. Larger ones, other solvers, and what is watched go through `solve`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from problems import BoxQP, Formulation, Point, Vector, reduce
from problems.box_gap import middle
from problems.dataset import Indices
from problems.dual_problem.offsets import best_intercept
from problems.gram.threads import Threads
from problems.kernels import Block
from problems.validation import shown
from solvers import Evaluation, Solution, Solver, Status, find_solver, solve
from solvers.semismooth_newton import SemismoothNewton
from solvers.smo import SMO

SHARPER = 1e-6
SMALL = 1000  # samples up to which that takes milliseconds, and the Gram matrix is cheap
_FEW_STEPS = 20_000  # of SMO, which take a microsecond or two ...
_FEW_EPOCHS = 200  # ... and of dual coordinate descent
_AT_ZERO = 1e-8  # relative to Cᵢ: interior points never touch a bound
_BALANCED = 1e-9  # relative size of Σβ that may be rounding
_OFFSET_SAMPLES = 500  # each free support vector gives the intercept; the mean of so many does well

_log = logging.getLogger(__name__)


Problem = Callable[[], Formulation]
Callback = Callable[[Evaluation], object]


@dataclass(frozen=True, eq=False)
class Task:
    """One problem of an estimator: min ½βᵀKβ − yᵀβ + epsilon·Σ|βᵢ| s.t. lower ≤ β ≤ upper, Σβ = 0.

    The last only with an intercept. Shapes: (n,). With nu there are other sums, see `groups`.

    Attributes
    ----------
    problem : makes the formulation, which takes as long as a small problem takes to solve.
    signs : α = signs·β, labels or ones.
    start : a β to begin from, feasible; None is 0.
    groups : with nu, the number from 0 of the sum that each variable is in; (2n,) where β is the sum of
        two variables, one from 0 up and one from 0 down.
    sums : with nu, the value of each sum. Without `groups` it is left to `solve`.
    """

    problem: Problem
    y: Vector
    signs: Vector
    lower: Vector
    upper: Vector
    epsilon: float = 0.0
    intercept: bool = True
    start: Vector | None = None
    groups: Indices | None = None
    sums: tuple[float, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether it is solved by its Gram matrix."""
        posed = self.groups is not None or not self.sums
        return posed and self.y.size <= SMALL and bool(np.isfinite(self.upper).all())


@dataclass(frozen=True, eq=False)
class Answer:
    """The point of one machine, and how it was obtained.

    Attributes
    ----------
    scale : of the decision function, as a multiple of the point's: LIBSVM divides ν-SVC's by ρ.
    """

    point: Point
    iterations: int
    converged: bool
    scale: float = 1.0

    @property
    def alpha(self) -> Vector:
        """The dual variables."""
        assert self.point.alpha is not None
        return self.point.alpha

    @property
    def b(self) -> float:
        """The intercept."""
        return float(self.point.b or 0.0)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Manner:
    """How an estimator wants its problems solved: by which solver, how accurately, who watches."""

    solver: Solver
    by_default: bool
    refine: bool = True
    verbose: Any = False
    callback: Callback | None = None

    @property
    def watched(self) -> bool:
        """Whether somebody wants to see how the answer is obtained."""
        return bool(self.verbose) or self.callback is not None


def chosen_solver(
    given: Solver | str | None, default: type[Solver], settings: Mapping[str, Any]
) -> Solver:
    """Return the solver: an instance as it is, else one with those of the settings that it has.

    Raises
    ------
    ValueError
        If there is no solver of that name.
    """
    if isinstance(given, Solver):
        return given
    if given is not None and not isinstance(given, str):
        raise ValueError(f"solver: must be a Solver, the name of one, or None, got {shown(given)}")
    cls = default if given is None else find_solver(given)
    known = {f.name for f in fields(cls)}
    return cls(**{name: value for name, value in settings.items() if name in known})


def within(beta: Vector, lower: Vector, upper: Vector, balanced: bool) -> Vector | None:
    """Return β of another fit, shrunk to its new limits; None where it has the wrong signs.

    None also if Σβ = 0 is wanted (`balanced`), and does not hold.
    """
    if balanced and abs(beta.sum()) > _BALANCED * np.abs(beta).sum():
        return None
    used = beta != 0
    room = np.where(beta > 0, upper, lower)
    share = min(1.0, float((room[used] / beta[used]).min(initial=1.0)))
    return np.clip(share * beta, lower, upper) if share > 0 else None


def small_answer(task: Task, K: Block, manner: Manner) -> Answer | None:
    """Solve a task by its Gram matrix `K` (n, n), or return None where that leads nowhere."""
    from solvers.smo.small import minimise_small  # noqa: PLC0415 - compiled

    solver: Any = manner.solver
    fine = SHARPER * solver.tol if manner.refine else solver.tol
    ends = solver.tol, fine, int(solver.max_iter)
    if task.groups is None:
        beta = np.zeros(task.y.size) if task.start is None else task.start.copy()
        tube, groups = (
            np.full(beta.size, float(task.epsilon)),
            np.full(beta.size, task.intercept - 1),
        )
        K = K if task.intercept else np.pad(K, (0, 1))
        costs = -task.y, tube, task.lower, task.upper
        b, steps, violation = minimise_small(K, beta, *costs, groups, *ends)
    else:
        groups, n = task.groups, task.y.size
        lower, upper, q = task.lower, task.upper, -task.y
        if groups.size > n:
            K, q, nothing = np.tile(K, (2, 2)), np.tile(q, 2), np.zeros(n)
            lower, upper = np.concatenate([nothing, lower]), np.concatenate([upper, nothing])
        z = _filled(lower, upper, groups, task.sums)
        costs = q, np.zeros(z.size), lower, upper
        b, steps, violation = minimise_small(K, z, *costs, groups, *ends)
        beta = z if z.size == n else z[:n] + z[n:]
    if violation > solver.tol and steps < solver.max_iter:
        return None
    point = Point(task.signs * beta, b=float(b.mean()) if b.size else 0.0)
    margin = 0.5 * (b[1] - b[0]) if b.size == 2 and groups.size == beta.size else 1.0
    return Answer(point, steps, violation <= solver.tol, 1.0 / checked_margin(margin))


def checked_margin(margin: float) -> float:
    """Return ρ of a machine, or 1 where there is none.

    Raises
    ------
    ValueError
        If it is 0 or below.
    """
    if not margin > 0:
        raise ValueError("nu: leaves no margin between the classes; use a smaller nu")
    return margin


def _filled(lower: Vector, upper: Vector, groups: Indices, sums: tuple[float, ...]) -> Vector:
    """Return variables with the sums of their groups: the first ones at the end away from 0."""
    z = np.zeros(groups.size)
    for group, total in enumerate(sums):
        own = np.flatnonzero(groups == group)
        room = upper[own] if total > 0 else -lower[own]
        z[own] = np.sign(total) * np.clip(abs(total) - (np.cumsum(room) - room), 0.0, room)
    return z


def dual_answer(task: Task, manner: Manner) -> Answer:
    """Solve a task for its dual variables and intercept, through `solve`.

    The intercept is LIBSVM's for the default solvers, whose free variables are exact, and the
    certificate's for others.
    """
    problem = task.problem()
    if manner.by_default and task.start is None and not task.sums:
        manner = replace(manner, solver=_suited(problem, manner.solver))
    solver = manner.solver
    start = None if task.start is None else Point(alpha=task.signs * task.start)
    solution = solved(problem, manner, start)
    if solution.status is Status.INFEASIBLE:
        raise ValueError("C: is infinite, and no surface separates the classes; use a finite C")
    converged = is_converged(solution, getattr(solver, "tol", 0.0))
    if not manner.by_default or task.sums:
        alpha = _cleaned(problem, certified_alpha(solution))
        margin = 1.0 if problem.is_regression else problem.margin_at(solution.certificate.offsets)
        scale = 1.0 / checked_margin(margin)
        return Answer(Point(alpha, b=solution.b), solution.iterations, converged, scale)
    alpha = solution.point.alpha
    assert alpha is not None
    with Threads().limited(1):  # small products
        b = offset(problem, alpha) if task.intercept else 0.0
    return Answer(Point(alpha, b=b), solution.iterations, converged)


def _suited(problem: Formulation, solver: Solver) -> Solver:
    """Return semismooth Newton in place of SMO where it pays, unless steps of SMO are to be counted."""
    if not isinstance(solver, SMO) or solver.max_iter != SMO.max_iter:
        return solver
    room = SemismoothNewton.cache_size if solver.cache_size is None else solver.cache_size
    newton = SemismoothNewton(tol=solver.tol, cache_size=room)
    return newton if not problem.is_linear and newton.suits(reduce(problem, BoxQP).form) else solver


def solved(problem: Formulation, manner: Manner, start: Point | None = None) -> Solution:
    """Solve to the solver's `tol`; a small problem to a millionth of it, if a few steps lead there."""
    solver: Any = manner.solver
    callback = _progress(manner) if manner.watched else None
    if manner.by_default and manner.refine and problem.n <= SMALL:
        few = _FEW_STEPS if isinstance(solver, SMO) else _FEW_EPOCHS
        sharper = replace(solver, tol=SHARPER * solver.tol, max_iter=min(solver.max_iter, few))
        solution = solve(problem, sharper, initial=start, callback=callback)
        if solution.claimed != "optimal":
            solution = solve(problem, solver, initial=start, callback=callback)
    else:
        solution = solve(problem, solver, initial=start, callback=callback)
    if manner.verbose:
        _log_end(solution)
    return solution


def _progress(manner: Manner) -> Callback:
    """Return what is called with each evaluation: the caller's callback, and the log."""

    def show(evaluation: Evaluation) -> None:
        if manner.callback is not None:
            manner.callback(evaluation)
        if manner.verbose:
            gap = evaluation.certificate.relative_gap
            text = "%s: %.3g s, %d iterations, certified relative gap %.2g"
            name = manner.solver.name
            _log.info(text, name, evaluation.time, evaluation.iteration, gap)

    return show


def certified_alpha(solution: Solution) -> Vector:
    """Return the dual variables; ValueError with the reason if there is no answer."""
    if solution.alpha is None:
        raise ValueError(f"solver: {solution.solver.name} gave no answer: {solution.reason}")
    return solution.alpha


def is_converged(solution: Solution, tol: float) -> bool:
    """Whether the answer is claimed to be optimal, or its maximal violating pair is within `tol`."""
    return solution.claimed == "optimal" or solution.certificate.violating_pair <= tol


def _log_end(solution: Solution) -> None:
    """Log how a problem was solved."""
    text = "%s: %d samples, %s after %d iterations, %.3g s"
    _log.info(
        text,
        solution.solver.name,
        solution.problem.n,
        solution.status,
        solution.iterations,
        solution.time_solve,
    )


def warn_unless(converged: bool, max_iter: int) -> None:
    """Warn as scikit-learn does."""
    if not converged:
        warnings.warn(
            f"the solver ended without reaching its tolerance (max_iter={max_iter}); scale the "
            "features, for example with StandardScaler, raise max_iter, or read certificate_ for "
            "what the answer is worth",
            ConvergenceWarning,
            stacklevel=3,
        )


def _cleaned(problem: Formulation, alpha: Vector) -> Vector:
    """Return `alpha` with 0 for what is nearly 0, beside its bound and the others."""
    size = np.abs(alpha)
    scale = np.minimum(problem.upper, size.max(initial=0.0))
    return np.where(size > _AT_ZERO * scale, alpha, 0.0)


def offset(problem: Formulation, alpha: Vector) -> float:
    """Return LIBSVM's intercept (Chang & Lin 2011, section 4.1.5).

    b = mean of yᵢ − tube·sign(βᵢ) − Σⱼ βⱼk(xⱼ, xᵢ) over samples i with 0 < |αᵢ| < Cᵢ; the middle of all
    best b if there are none.
    """
    beta, size = problem.beta(alpha), np.abs(alpha)
    used = np.flatnonzero(size)
    free = np.flatnonzero((size > 0) & (size < (1.0 - _AT_ZERO) * problem.upper))
    if free.size == 0:
        return middle(*best_intercept(problem, problem.gram(memory=0).matvec(beta)))
    free = free[:: -(-free.size // _OFFSET_SAMPLES)]
    scores = problem.gram(memory=0).block(free, used) @ beta[used]
    goal = problem.loss.kink(problem.y, beta)[free]
    return float((goal - scores).mean())
