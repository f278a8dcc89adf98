"""What every QP solver does: accuracy, limits, infeasibility, and large sparse problems."""

import cvxopt
import numpy as np
import pytest
import scipy.sparse as sp
from tests.small_problems import two_classes

from dualgap.problems import (
    QP,
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRPrimal,
    reduce,
)
from dualgap.solvers import CvxoptQP, CvxpyQP, InteriorPoint, Solver, Status, solve
from dualgap.solvers.cvxopt_qp import inequality_rows, to_cvxopt
from dualgap.solvers.numerics.quadratic import scaled

ALL = [CvxoptQP(tol=1e-9), InteriorPoint(tol=1e-9), CvxpyQP(tol=1e-10)]
VIEWS = [SoftMarginDual, SoftMarginPrimal]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("C", [1e-12, 1e-4, 1e4])
@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_the_gap_is_relative_for_every_slack_weight(solver: Solver, view: type, C: float) -> None:
    X, y = two_classes()
    assert solve(view(X, y, C), solver).certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_an_infeasible_hard_margin_is_proven_infeasible(
    solver: Solver, view: type, intercept: bool
) -> None:
    X, y = two_classes(n=80, d=3)
    solution = solve(view(X, y, intercept=intercept), solver)
    assert solution.status is Status.INFEASIBLE
    assert solution.verdict == "infeasible"


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_a_ray_is_not_called_optimal(solver: Solver) -> None:
    """The dual's x doubles without end, and CVXOPT by itself finds a relative gap of 1e-15."""
    square = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    solution = solve(HardMarginDual(square, np.array([1.0, 1, -1, -1])), solver)
    assert solution.claimed != "optimal"
    assert solution.verdict == "infeasible"


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_a_thin_but_real_margin_is_not_called_infeasible(solver: Solver, view: type) -> None:
    X, y = two_classes(n=40, d=3)
    X[:, 0] = 1e-2 * y
    solution = solve(view(X, y), solver)
    assert solution.claimed != "infeasible"
    assert solution.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize(
    "solver", [CvxoptQP(), CvxpyQP(), CvxpyQP("OSQP"), CvxpyQP("SCS")], ids=repr
)
def test_max_iter_is_honoured(solver: Solver) -> None:
    X, y = two_classes()
    solution = solve(SoftMarginDual(X, y, 1.0, RBF(0.5)), solver, max_iter=3)
    assert solution.iterations <= 3
    assert solution.claimed == "stopped"


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_a_looser_tol_takes_fewer_iterations(solver: CvxoptQP | InteriorPoint | CvxpyQP) -> None:
    problem = SoftMarginDual(*two_classes(), 10.0, RBF(0.5))
    loose = solve(problem, type(solver)(tol=1e-2))
    assert loose.iterations < solve(problem, solver).iterations


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_redundant_features_and_contradictory_samples_are_solved(solver: Solver) -> None:
    X, y = two_classes()
    X = np.hstack([X, X, np.zeros((X.shape[0], 1)), np.ones((X.shape[0], 1))])
    X, y = np.vstack([X, X[:5]]), np.concatenate([y, -y[:5]])
    assert solve(SoftMarginPrimal(X, y), solver).certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_a_large_sparse_primal_stays_sparse(solver: Solver) -> None:
    rng = np.random.default_rng(3)
    X = sp.random_array((2000, 100), density=0.02, rng=rng, format="csr")
    y = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    problem = SoftMarginPrimal(X, y)
    qp = scaled(reduce(problem, QP).form)
    assert isinstance(to_cvxopt(qp.P), cvxopt.spmatrix)
    assert (
        len(to_cvxopt(inequality_rows(qp)[0])) == X.nnz + 3 * X.shape[0]
    )  # y∘X, the intercept, two rows for each slack
    assert solve(problem, solver).certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("solver", ALL, ids=lambda s: s.name)
def test_targets_of_any_size_are_fitted(solver: Solver) -> None:
    X, _ = two_classes()
    for size in (1e-2, 1.0, 1e3):
        targets = size * (X[:, 0] + 0.1 * X[:, 1] ** 2)
        solution = solve(SVRPrimal(X, targets, 1.0, 0.05 * size), solver)
        assert solution.certificate.relative_gap <= 1e-8


def test_the_global_options_of_cvxopt_are_restored() -> None:
    before = dict(cvxopt.solvers.options)
    solve(SoftMarginDual(*two_classes(), 1.0), CvxoptQP(tol=1e-5, max_iter=7))
    assert cvxopt.solvers.options == before
