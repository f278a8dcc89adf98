"""The solver that `solve` picks if none is named, and those that continue if it misses the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

from dualgap.problems import (
    ChainMargin,
    Formulation,
    Gram,
    Point,
    Problem,
    SampleProblem,
    Unsupported,
)
from dualgap.problems.forms import Reduction
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.risk.reductions import RescaledProblem, rescale
from dualgap.solvers.base import SOLVERS, Solver
from dualgap.solvers.numerics.timing import pausing

# Solvers that continue, in this order, if the one that `solve` picked misses the target; those that are
# not installed or do not support the problem are skipped.
SUCCESSORS: dict[str, tuple[str, ...]] = {
    "smo": ("interior_point", "dual_coordinate_descent"),
    "semismooth_newton": ("smo", "interior_point"),
    "dual_coordinate_descent": ("interior_point",),
    "near_rows": ("dual_coordinate_descent", "interior_point"),
    "sdca": ("lbfgs", "newton_cg"),
    "lbfgs": ("newton_cg",),
    "cvxopt_qp": ("qpsolvers_qp",),
}


def default_solver(problem: Problem, target_gap: float = 1e-6) -> Solver:
    """Return the solver that `solve` picks, with its tolerance set for the target gap.

    The first of these that supports the problem is picked:

    - a convex QP: CVXOPT; samples in blocks: near rows; the margin of sequences: cutting planes;
    - a support vector machine with a linear kernel: dual coordinate descent, if it has at most one
      offset;
    - one with another kernel: semismooth Newton if a few rows of a large K show it to be nearly
      diagonal, else SMO; CVXOPT for what SMO does not support;
    - other risks: L-BFGS if the loss is smooth and w has coordinates, else dual coordinate ascent, a
      cone program, or L-BFGS on a factor of K.

    All stop at their own duality gap; with a hard margin, which has none, at a small violation. Several
    binary problems get the solver of one of them. If it misses the target, `solve` continues with its
    `SUCCESSORS`.

    Raises
    ------
    Unsupported
        If no solver supports the problem; the message gives the reason of each.
    """
    from dualgap.solvers.smo import SMO  # noqa: PLC0415

    solver = default_solvers(problem, target_gap)[0]
    # without the step limit after which a successor would be faster
    return replace(solver, max_iter=SMO.max_iter) if isinstance(solver, SMO) else solver


def default_solvers(problem: Problem, target_gap: float = 1e-6) -> list[Solver]:
    """Return the default solver and its successors, as a list for `solve`; see `default_solver`."""
    part = problem.parts[0].problem
    first = choose(rescale(part), target_gap)[0]
    return [first, *successors_of(first, part)]


def choose(
    units: RescaledProblem,
    target_gap: float,
    start: Point | None = None,
    gram: Gram | None = None,
    clock: Callable[[], float] = perf_counter,
) -> tuple[Solver, Reduction[Any], Any, float]:
    """Return the default solver of one problem, its reduction and its state.

    `gram` is the Gram matrix of the rescaled problem. Last come the seconds that the selection took, on
    one thread. Raises Unsupported as above.
    """
    problem: Problem = units.original
    declined, seconds = list[tuple[Solver, Any]](), 0.0
    for candidate in _candidates(problem):
        solver = candidate.aimed_at(target_gap, not problem.may_be_infeasible)
        try:
            reduction = units.reduce(solver.form, start, gram)
        except Unsupported as missing:
            declined.append((solver, missing))
            continue
        with pausing(clock) as pauses:
            (now,) = pauses.clocks
            started_at = now()
            state = solver.state_if_default(reduction.form)
            seconds += now() - started_at
        if state is not None:
            return solver, reduction, state, seconds
        declined.append((solver, reduction.form))
    refused_by: dict[str, list[str]] = {}
    for solver, form in declined:
        reason = str(form if isinstance(form, Unsupported) else solver.refuses(form))
        refused_by.setdefault(reason, []).append(solver.name)
    refusals = "; ".join(f"{', '.join(names)}: {why}" for why, names in refused_by.items())
    raise Unsupported(f"No default solver supports this problem ({refusals}). Name one that does.")


def successors_of(solver: Solver, problem: Problem) -> list[Solver]:
    """Return the `SUCCESSORS` that continue if a default solver misses the target.

    Those include an interior-point method if it factorises a matrix in seconds.
    """
    is_linear = isinstance(problem, SampleProblem) and problem.samples.is_linear
    order = min(problem.n, problem.d) if is_linear else problem.n
    names = SUCCESSORS.get(solver.name, ())
    return [
        SOLVERS.find(name)()
        for name in names
        if name != "interior_point" or order <= TUNING.max_cholesky_rows
    ]


def max_pair_steps(n: int) -> int:
    """Return the number of SMO steps (2.5 µs each) that take as long as an interior-point solve."""
    return int(1e5 + 1e-4 * n**3) if n <= TUNING.max_cholesky_rows else 10_000_000


def _candidates(problem: Problem) -> Iterator[Solver]:
    """Yield the candidates for a problem, the best first; they are slow to import."""
    if isinstance(problem, ChainMargin):
        from dualgap.solvers.cutting_plane import CuttingPlane  # noqa: PLC0415

        yield CuttingPlane()
        return
    if not isinstance(problem, Formulation):
        from dualgap.solvers.cvxopt_qp import CvxoptQP  # noqa: PLC0415

        yield CvxoptQP()
        return
    if problem.in_blocks:
        from dualgap.solvers.near_rows import NearRows  # noqa: PLC0415

        yield NearRows()
        return
    if problem.risk.terms is None:
        from dualgap.solvers.cvxpy_erm import CvxpyERM  # noqa: PLC0415
        from dualgap.solvers.sdca import SDCA  # noqa: PLC0415
        from dualgap.solvers.smooth_primal import LBFGS  # noqa: PLC0415

        risk_solvers = [LBFGS(), SDCA(), CvxpyERM()]
        yield from (
            risk_solvers if problem.samples.is_linear else [*risk_solvers[1:], risk_solvers[0]]
        )
        return
    from dualgap.solvers.cvxopt_qp import CvxoptQP  # noqa: PLC0415
    from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent  # noqa: PLC0415
    from dualgap.solvers.semismooth_newton import SemismoothNewton  # noqa: PLC0415
    from dualgap.solvers.smo import SMO  # noqa: PLC0415

    if not problem.risk.is_hard:
        yield DualCoordinateDescent() if problem.samples.is_linear else SemismoothNewton()
    yield SMO(max_iter=max_pair_steps(problem.n))
    yield CvxoptQP()
