"""Which solver `solve` picks where none is named, and which ones continue where that falls short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from dualgap.problems import Formulation, Gram, Point, Unsupported
from dualgap.problems.compilation import pausing
from dualgap.problems.dual_problem.units import reduce_in_units
from dualgap.problems.forms import Reduction
from dualgap.solvers.base import SOLVERS, Solver

# Solvers that continue, in this order, where one that `solve` picked ends short of the target, if they
# take the problem and are installed.
SUCCESSORS: dict[str, tuple[str, ...]] = {
    "smo": ("interior_point", "dual_coordinate_descent"),
    "semismooth_newton": ("smo", "interior_point"),
    "dual_coordinate_descent": ("interior_point",),
    "near_rows": ("dual_coordinate_descent", "interior_point"),
    "sdca": ("lbfgs", "newton_cg"),
    "lbfgs": ("newton_cg",),
    "cvxopt_qp": ("qpsolvers_qp",),
}
# Order of the matrix up to which an interior-point method continues: n, or d for a linear kernel.
LARGEST_FACTOR = 5000
# Samples and C·mean‖x‖² from which, and features up to which, near rows are quicker than coordinate
# descent in memory: 2,000,000 × 50 took 10.0 for 17.9 s at C = 1, but 9.1 for 4.75 s at C = 0.01.
_MANY, _FEW_FEATURES, _LARGE = 1_000_000, 100, 10.0


def default_solver(
    problem: Formulation, target_gap: float = 1e-6, from_start: bool = False
) -> Solver:
    """Return the solver that `solve` picks, aimed at the target, see `Solver.aimed_at`.

    `from_start` is whether it has to go on from another answer, which near rows cannot.

    The first of these that takes the problem. Near rows for a linear kernel, a million samples of few
    features and a large C; dual coordinate descent for others with one offset at most; semismooth
    Newton where some rows of a large K say that it is nearly its diagonal; SMO for all others: they
    stop at their own duality gap. A hard margin has none to go by: a small violation has to do. What
    SMO cannot take, a general QP solver. Other risks: L-BFGS where the loss is smooth and w has
    coordinates, else dual coordinate ascent, a cone program for what that cannot take, and for a loss
    that neither knows L-BFGS on a factor of K. Several binary problems get that of each of them; the
    margin of sequences, cutting planes; a convex QP, CVXOPT. Samples in blocks have near rows alone.

    `SUCCESSORS` has the solvers that `solve` tries next where this one falls short of the target.

    Raises
    ------
    Unsupported
        If no solver takes the problem; the message says why each does not.
    """
    from dualgap.solvers.smo import SMO  # noqa: PLC0415

    solver = default_solvers(problem, target_gap, from_start)[0]
    # the limit of steps after which a successor would be quicker
    return replace(solver, max_iter=SMO.max_iter) if isinstance(solver, SMO) else solver


def default_solvers(
    problem: Formulation, target_gap: float = 1e-6, from_start: bool = False
) -> list[Solver]:
    """Return the default solver and its successors, as `solve` takes them; see `default_solver`."""
    first = choose(problem.parts[0].problem, target_gap, Point() if from_start else None)[0]
    return [first, *successors_of(first, problem.parts[0].problem)]


def choose(
    problem: Formulation,
    target_gap: float,
    start: Point | None = None,
    gram: Gram | None = None,
    clock: Callable[[], float] = perf_counter,
) -> tuple[Solver, Reduction[Any], Any, float]:
    """Return the default solver of one problem, its reduction, and what `Solver.suits` found.

    And the seconds that all looks at the form took, on one thread. Unsupported as above.
    """
    declined, seconds = list[tuple[Solver, Any]](), 0.0
    for candidate in _candidates(problem, start is not None):
        solver = candidate.aimed_at(target_gap, not problem.may_be_infeasible)
        try:
            reduction = reduce_in_units(problem, solver.form, start, gram)
        except Unsupported as missing:
            declined.append((solver, missing))
            continue
        with pausing(clock) as pauses:
            (watch,) = pauses.clocks
            begun = watch()
            state = solver.suits(reduction.form)
            seconds += watch() - begun
        if state is not None:
            return solver, reduction, state, seconds
        declined.append((solver, reduction.form))
    refused_by: dict[str, list[str]] = {}
    for solver, form in declined:
        reason = str(form if isinstance(form, Unsupported) else solver.refuses(form))
        refused_by.setdefault(reason, []).append(solver.name)
    refusals = "; ".join(f"{', '.join(names)}: {why}" for why, names in refused_by.items())
    raise Unsupported(f"no solver here takes this problem ({refusals}): name one that does")


def successors_of(solver: Solver, problem: Formulation) -> list[Solver]:
    """Return the solvers that continue where a default one falls short, by `SUCCESSORS`."""
    order = min(problem.n, problem.d) if problem.has_samples and problem.is_linear else problem.n
    names = SUCCESSORS.get(solver.name, ())
    return [
        SOLVERS.find(name)()
        for name in names
        if name != "interior_point" or order <= LARGEST_FACTOR
    ]


def most_pair_steps(n: int) -> int:
    """Return the steps of SMO that take as long as an interior-point method's factors, 2.5 µs each."""
    return int(1e5 + 1e-4 * n**3) if n <= LARGEST_FACTOR else 10_000_000


def _candidates(problem: Formulation, from_start: bool) -> Iterator[Solver]:
    """Yield the solvers that may take a problem, the best first; they are slow to import."""
    if not problem.has_samples:
        from dualgap.solvers.cvxopt_qp import CvxoptQP  # noqa: PLC0415

        yield CvxoptQP()
        return
    if problem.in_blocks:
        from dualgap.solvers.near_rows import NearRows  # noqa: PLC0415

        yield NearRows()
        return
    if problem.pieces is None:
        from dualgap.solvers.cutting_plane import CuttingPlane  # noqa: PLC0415
        from dualgap.solvers.cvxpy_erm import CvxpyERM  # noqa: PLC0415
        from dualgap.solvers.sdca import SDCA  # noqa: PLC0415
        from dualgap.solvers.smooth_primal import LBFGS  # noqa: PLC0415

        of_risks = [LBFGS(), SDCA(), CvxpyERM()]
        yield from of_risks if problem.is_linear else [*of_risks[1:], of_risks[0]]
        yield CuttingPlane()
        return
    from dualgap.solvers.cvxopt_qp import CvxoptQP  # noqa: PLC0415
    from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent  # noqa: PLC0415
    from dualgap.solvers.semismooth_newton import SemismoothNewton  # noqa: PLC0415
    from dualgap.solvers.smo import SMO  # noqa: PLC0415

    if problem.is_bounded:
        if not from_start and _has_many(problem):
            from dualgap.solvers.near_rows import NearRows  # noqa: PLC0415

            yield NearRows()
        yield DualCoordinateDescent() if problem.is_linear else SemismoothNewton()
    yield SMO(max_iter=most_pair_steps(problem.n))
    yield CvxoptQP()


def _has_many(problem: Formulation) -> bool:
    """Return whether near rows are quicker than coordinate descent, by every thousandth sample."""
    X = problem.X
    few = problem.d <= _FEW_FEATURES and isinstance(X, np.ndarray)
    if not (few and problem.is_linear and problem.n >= _MANY):
        return False
    some = X[::1000]
    return float(problem.weight.mean() * np.einsum("ij,ij->", some, some) / len(some)) >= _LARGE
