"""How the estimators solve a problem: which solver, how accurately, and the intercept.

`tol` means what it means in scikit-learn, the maximal violating pair. A small problem is solved to a
millionth of it, which takes little longer: weights of samples then do exactly what repeating the samples
does, and answers do not depend on the order of the samples. Where that takes too many steps, or float64
does not lead that far, `tol` itself has to do.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from problems import Formulation, Point, Vector
from problems.box_gap import middle
from problems.certificates.offsets import best_intercept
from solvers import Solution, Solver, Status, find_solver, solve
from solvers.smo import SMO
from solvers.threads import Threads

SHARPER = 1e-6
_SMALL = 2000  # samples up to which that costs milliseconds
_FEW_STEPS = 20_000  # of SMO, which take a microsecond or two ...
_FEW_EPOCHS = 200  # ... and of dual coordinate descent
_AT_ZERO = 1e-8  # relative to Cᵢ: interior points never touch a bound
_OFFSET_SAMPLES = 500  # each free support vector gives the intercept; the mean of so many does well

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Answer:
    """The point of one machine, and how it was obtained."""

    point: Point
    iterations: int
    converged: bool


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
        raise ValueError(f"solver: must be a Solver, the name of one, or None, got {given!r}")
    cls = default if given is None else find_solver(given)
    known = {f.name for f in fields(cls)}
    return cls(**{name: value for name, value in settings.items() if name in known})


def dual_answer(problem: Formulation, solver: Solver, by_default: bool, verbose: Any) -> Answer:
    """Solve a problem for its dual variables and intercept.

    The intercept is LIBSVM's for the default solvers, whose free variables are exact, and the
    certificate's for others.
    """
    solution = refined(problem, solver) if by_default else solve(problem, solver)
    log(solution, verbose)
    if solution.status is Status.INFEASIBLE:
        raise ValueError("C: is infinite, and no surface separates the classes; use a finite C")
    converged = is_converged(solution, getattr(solver, "tol", 0.0))
    if not by_default:
        alpha = _cleaned(problem, certified_alpha(solution))
        return Answer(Point(alpha, b=solution.b), solution.iterations, converged)
    alpha = solution.point.alpha
    assert alpha is not None
    with Threads().limited(1):  # small products
        b = offset(problem, alpha)
    return Answer(Point(alpha, b=b), solution.iterations, converged)


def refined(problem: Formulation, solver: Any) -> Solution:
    """Solve to the solver's `tol`; a small problem to a millionth of it, if a few steps lead there."""
    if problem.n > _SMALL:
        return solve(problem, solver)
    few = _FEW_STEPS if isinstance(solver, SMO) else _FEW_EPOCHS
    sharper = replace(solver, tol=SHARPER * solver.tol, max_iter=min(solver.max_iter, few))
    solution = solve(problem, sharper)
    return solution if solution.claimed == "optimal" else solve(problem, solver)


def certified_alpha(solution: Solution) -> Vector:
    """Return the dual variables; ValueError with the reason if there is no answer."""
    if solution.alpha is None:
        raise ValueError(f"solver: {solution.solver.name} gave no answer: {solution.reason}")
    return solution.alpha


def is_converged(solution: Solution, tol: float) -> bool:
    """Whether the answer is claimed to be optimal, or its maximal violating pair is within `tol`."""
    return solution.claimed == "optimal" or solution.certificate.violating_pair <= tol


def log(solution: Solution, verbose: Any) -> None:
    """Log how a problem was solved, if `verbose`."""
    if verbose:
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
