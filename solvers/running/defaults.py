"""Which solver `solve` picks where none is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from problems import ChainMargin, Formulation, Multiclass, Unsupported, reduce
from solvers.base import Solver


def default_solver(problem: Formulation, target_gap: float = 1e-6) -> Solver:
    """Return the solver that `solve` picks, as accurate as the target needs.

    The first of these that takes the problem. Dual coordinate descent for a linear kernel and one
    offset at most, semismooth Newton where some rows of a large K say that it is nearly its diagonal,
    SMO for all others: they stop at their own duality gap. A hard margin has none to go by, so a small
    violation has to do. What SMO cannot take, a general QP solver. Other risks: L-BFGS where the loss
    is smooth and w has coordinates, else dual coordinate ascent, a cone program for what that cannot
    take, and for a loss that neither knows L-BFGS on a factor of K. Several binary problems get that of
    each of them; the margin of sequences, cutting planes.

    Raises
    ------
    Unsupported
        If no solver takes the problem; the message says why each does not.
    """
    if isinstance(problem, Multiclass):
        return default_solver(problem.subproblems[0].problem, target_gap)
    candidates = tuple(_candidates(problem, target_gap))
    for solver in candidates:
        with suppress(Unsupported):
            if solver.suits(reduce(problem, solver.form).form):
                return solver
    refused_by: dict[str, list[str]] = {}
    for solver in candidates:
        try:
            reason = str(solver.refuses(reduce(problem, solver.form).form))
        except Unsupported as missing:
            reason = str(missing)
        refused_by.setdefault(reason, []).append(solver.name)
    refusals = "; ".join(f"{', '.join(names)}: {why}" for why, names in refused_by.items())
    raise Unsupported(f"no solver here takes this problem ({refusals}): name one that does")


def _candidates(problem: Formulation, target_gap: float) -> Iterator[Solver]:
    """Yield the solvers that may take a problem, the best first; they are slow to import."""
    if isinstance(problem, ChainMargin):
        from solvers.cutting_plane import CuttingPlane  # noqa: PLC0415

        yield CuttingPlane(tol=0.5 * target_gap)
    elif problem.pieces is None:
        from solvers.cvxpy_erm import CvxpyERM  # noqa: PLC0415
        from solvers.sdca import SDCA  # noqa: PLC0415
        from solvers.smooth_primal import LBFGS  # noqa: PLC0415

        ascent = SDCA(tol=0.5 * target_gap)
        yield from (
            (LBFGS(), ascent, CvxpyERM()) if problem.is_linear else (ascent, CvxpyERM(), LBFGS())
        )
    else:
        yield from _candidates_for_box(problem, target_gap)


def _candidates_for_box(problem: Formulation, target_gap: float) -> Iterator[Solver]:
    from solvers.cvxopt_qp import CvxoptQP  # noqa: PLC0415
    from solvers.dual_coordinate_descent import DualCoordinateDescent  # noqa: PLC0415
    from solvers.semismooth_newton import SemismoothNewton  # noqa: PLC0415
    from solvers.smo import SMO  # noqa: PLC0415

    if problem.is_bounded:
        tol, gap = 1e-3 * target_gap, 0.5 * target_gap
        if problem.is_linear:
            yield DualCoordinateDescent(tol=tol, gap=gap)
        else:
            yield SemismoothNewton(tol=tol, gap=gap)
        yield SMO(tol=tol, gap=gap)
    else:
        yield SMO(tol=0.1 * target_gap)
    yield CvxoptQP(tol=1e-3 * target_gap)
