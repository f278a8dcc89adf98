"""Which solver `solve` picks where none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from problems import BoxQP, ChainMargin, Formulation, Multiclass, reduce
from solvers.base import Solver

if TYPE_CHECKING:
    from solvers.semismooth_newton import SemismoothNewton


def default_solver(problem: Formulation, target_gap: float = 1e-6) -> Solver:
    """Return the solver that `solve` picks, as accurate as the target needs.

    Dual coordinate descent for a linear kernel and one offset at most, semismooth Newton where some
    rows of a large K say that it is nearly its diagonal, SMO for all others: they stop at their own
    duality gap. A hard margin has none to go by, so a small violation has to do. Other risks: L-BFGS
    where the loss is smooth and w has coordinates, else dual coordinate ascent, and a cone program for
    what that cannot take. Several binary problems get that of each of them; the margin of sequences,
    cutting planes.
    """
    if isinstance(problem, Multiclass):
        return default_solver(problem.subproblems[0].problem, target_gap)
    if isinstance(problem, ChainMargin):
        from solvers.cutting_plane import CuttingPlane  # noqa: PLC0415 - slow to import

        return CuttingPlane(tol=0.5 * target_gap)
    if problem.pieces is None:
        return _default_for_risk(problem, target_gap)
    from solvers.dual_coordinate_descent import (  # noqa: PLC0415 - slow to import, as is SMO
        DualCoordinateDescent,
    )
    from solvers.semismooth_newton import SemismoothNewton  # noqa: PLC0415
    from solvers.smo import SMO  # noqa: PLC0415

    if not problem.is_bounded:
        return SMO(tol=0.1 * target_gap)
    if problem.is_linear and problem.costs.size <= 1:
        return DualCoordinateDescent(tol=1e-3 * target_gap, gap=0.5 * target_gap)
    tol, gap = 1e-3 * target_gap, 0.5 * target_gap
    newton = newton_for(problem, SemismoothNewton(tol=tol, gap=gap))
    return newton or SMO(tol=tol, gap=gap)


def newton_for(problem: Formulation, solver: SemismoothNewton) -> SemismoothNewton | None:
    """Return semismooth Newton where it pays, else None."""
    if problem.is_linear:
        return None
    return solver if solver.suits(reduce(problem, BoxQP).form) else None


def _default_for_risk(problem: Formulation, target_gap: float) -> Solver:
    from solvers.cvxpy_erm import CvxpyERM  # noqa: PLC0415
    from solvers.sdca import SDCA  # noqa: PLC0415
    from solvers.smooth_primal import LBFGS  # noqa: PLC0415

    if problem.loss.is_smooth and problem.is_linear:
        return LBFGS()
    return CvxpyERM() if problem.intercept else SDCA(tol=0.5 * target_gap)
