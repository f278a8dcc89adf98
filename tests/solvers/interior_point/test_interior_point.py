"""The structured Newton systems against CVXOPT's contract, dense and written out."""

from collections.abc import Callable

import cvxopt
import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    QP,
    RBF,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    Linear,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
    reduce,
)
from problems.gram.gram import Gram, SignedGram
from solvers import InteriorPoint, solve
from solvers.interior_point import kkt, shifted
from solvers.interior_point.program import Program, matrix_programs, structured_program
from solvers.numerics.quadratic import ScaledQP, scaled

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 3))
Y = np.where(RNG.random(40) < 0.4, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.standard_normal(40)
C = RNG.uniform(0.1, 3.0, 40)

STRUCTURED: dict[str, Callable[[], Formulation]] = {
    "rbf": lambda: SoftMarginDual(X, Y, C, RBF(0.5)),
    "rbf_no_intercept": lambda: SoftMarginDual(X, Y, 5.0, RBF(0.5), intercept=False),
    "linear": lambda: SoftMarginDual(X, Y, C),
    "linear_sparse": lambda: SoftMarginDual(sp.csr_array(X * (X > 1.3)), Y, C),
    "linear_wide": lambda: SoftMarginDual(X[:5], Y[:5], 1.0),
    "hard_dual": lambda: HardMarginDual(X, Y, RBF(1.0)),
    "svr_rbf": lambda: SVRDual(X, TARGETS, C, 0.1, RBF(0.5)),
    "svr_linear": lambda: SVRDual(X, TARGETS, 2.0, 0.1),
    "soft_primal": lambda: SoftMarginPrimal(X, Y, C),
    "soft_primal_sparse": lambda: SoftMarginPrimal(sp.csr_array(X * (X > 1.3)), Y, C),
    "hard_primal": lambda: HardMarginPrimal(X + 3 * Y[:, None], Y),
    "svr_primal": lambda: SVRPrimal(X, TARGETS, C, 0.1),
}


@pytest.fixture(params=list(STRUCTURED))
def qp(request: pytest.FixtureRequest) -> ScaledQP:
    return scaled(reduce(STRUCTURED[request.param](), QP).form)


def both(qp: ScaledQP) -> tuple[Program, Program]:
    ours = structured_program(qp)
    assert ours is not None
    return ours, next(matrix_programs(qp))


def dense(M: cvxopt.matrix) -> np.ndarray:
    return np.array(cvxopt.matrix(M))


def column(*shape: int) -> cvxopt.matrix:
    return cvxopt.matrix(np.random.default_rng(0).standard_normal((*shape, 1)))


def test_the_operators_are_the_matrices(qp: ScaledQP) -> None:
    ours, theirs = both(qp)
    P, G = dense(theirs.P), dense(theirs.G)
    x, z = column(G.shape[1]), column(G.shape[0])
    for multiply, M, u in ((ours.P, P, x), (ours.G, G, x)):
        v = column(M.shape[0])
        expected = 2 * M @ np.array(u) - 0.5 * np.array(v)
        multiply(u, v, alpha=2.0, beta=-0.5)
        np.testing.assert_allclose(np.array(v), expected, atol=1e-12)
    v = column(G.shape[1])
    expected = np.array(v) - G.T @ np.array(z)
    ours.G(z, v, alpha=-1.0, beta=1.0, trans="T")
    np.testing.assert_allclose(np.array(v), expected, atol=1e-12)
    np.testing.assert_array_equal(dense(ours.h), dense(theirs.h))


def test_the_newton_system_is_that_of_cvxopt(qp: ScaledQP) -> None:
    ours, theirs = both(qp)
    P, G = dense(theirs.P), dense(theirs.G)
    A = np.zeros((0, P.shape[0])) if theirs.A is None else dense(theirs.A)
    d = 10 ** np.random.default_rng(1).uniform(-2, 2, G.shape[0])
    W = {"d": cvxopt.matrix(d), "di": cvxopt.matrix(1 / d)}
    x, y, z = column(P.shape[0]), column(A.shape[0]), column(G.shape[0])
    right = np.concatenate([np.array(part) for part in (x, y, z)])
    ours.kktsolver(W)(x, y, z)
    answer = np.concatenate([np.array(x), np.array(y), np.array(z) / d[:, None]])
    rows, zeros = [G.shape[0], A.shape[0]], np.zeros
    K = np.block(
        [
            [P, A.T, G.T],
            [A, zeros((rows[1], rows[1])), zeros((rows[1], rows[0]))],
            [G, zeros((rows[0], rows[1])), -np.diag(d**2)],
        ]
    )
    expected = np.linalg.solve(K, right)
    np.testing.assert_allclose(answer, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("extreme", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("d", [3, 150])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.01)])
def test_free_and_bounded_variables_are_solved_together(
    kernel: Linear | RBF, d: int, extreme: float
) -> None:
    rng = np.random.default_rng(2)
    gram = Gram(rng.standard_normal((200, d)), kernel)
    e = np.where(np.arange(200) < 3, 1 / extreme, extreme)
    r = rng.standard_normal(200)
    system = shifted.shifted_gram(gram, 2.0)
    v = system.factor(e)(r)
    residual = 2.0 * gram.matvec(v) + e * v - r
    assert np.abs(residual).max() <= 1e-9


def test_a_matrix_too_singular_for_single_precision_is_factored_in_double() -> None:
    rng = np.random.default_rng(2)
    gram = Gram(rng.standard_normal((300, 2)), RBF(1e-3))
    system = shifted.DenseGram(gram.dense(), 1.0)
    e, r = np.full(300, 1e-9), gram.dense() @ rng.standard_normal(300)
    v = system.factor(e)(r)
    assert not system.single
    assert np.abs(system.product(v) + e * v - r).max() <= 1e-9 * np.abs(r).max()


def test_a_box_that_is_shifted_and_an_equality_that_is_not_zero() -> None:
    rng = np.random.default_rng(3)
    n = X.shape[0]
    lb, q = rng.uniform(-1.0, 0.0, n), rng.standard_normal(n)
    ub = lb + rng.uniform(0.5, 2.0, n)
    A, b = sp.csc_array(Y[None, :]), np.array([0.7])
    form = QP(SignedGram(Gram(X, RBF(0.5)), Y), q, None, None, A, b, lb, ub)
    x = list(InteriorPoint().iterates(form))[-1].x
    assert x is not None
    assert abs(Y @ x - 0.7) <= 1e-9
    reduced = form.P.dense() @ x + q  # Σ (x−lb)·max(r,0) + (ub−x)·max(−r,0) at the best multiplier
    gaps = [
        (x - lb) @ np.maximum(r, 0) + (ub - x) @ np.maximum(-r, 0)
        for r in (reduced - nu * Y for nu in reduced / Y)
    ]
    assert min(gaps) <= 1e-7


def test_a_qp_without_known_structure_is_solved_by_cvxopt_itself() -> None:
    rng = np.random.default_rng(4)
    root = rng.standard_normal((6, 6))
    P, q, A = sp.csc_array(root @ root.T), rng.standard_normal(6), sp.csc_array(np.ones((1, 6)))
    form = QP(P, q, None, None, A, np.ones(1), np.zeros(6), np.full(6, np.inf))
    assert structured_program(scaled(form)) is None
    last = list(InteriorPoint().iterates(form))[-1]
    assert last.claim == "optimal"
    assert last.x is not None
    assert abs(last.x.sum() - 1) <= 1e-9


def test_where_a_factor_breaks_down_cvxopt_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(H: np.ndarray) -> None:
        raise ArithmeticError

    for module in (kkt, shifted):
        monkeypatch.setattr(module, "cholesky", break_down)
    solution = solve(SoftMarginDual(X, Y), InteriorPoint())
    assert solution.claimed == "optimal"
    assert solution.certificate.relative_gap <= 1e-8


def test_the_matrix_of_a_linear_dual_is_never_formed() -> None:
    rng = np.random.default_rng(6)
    y = np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
    problem = SoftMarginDual(rng.standard_normal((20_000, 5)) + 0.5 * y[:, None], y)
    solution = solve(problem, InteriorPoint())
    assert solution.counters["kernel_evaluations"] == 0
    assert solution.certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("weight", [1e-6, 1e6])
@pytest.mark.parametrize("view", [SoftMarginDual, SoftMarginPrimal])
def test_linear_problems_are_solved_at_any_slack_weight(view: type, weight: float) -> None:
    rng = np.random.default_rng(7)
    y = np.where(rng.random(1000) < 0.5, 1.0, -1.0)
    problem = view(rng.standard_normal((1000, 10)) + 0.2 * y[:, None], y, weight)
    assert solve(problem, InteriorPoint()).certificate.relative_gap <= 1e-8


def test_every_iteration_can_be_evaluated() -> None:
    points = list(InteriorPoint().iterates(reduce(SoftMarginDual(X, Y), QP).form))
    assert [p.iterations for p in points] == sorted(p.iterations for p in points)
    assert len(points) >= points[-1].iterations
    assert {p.claim for p in points[:-1]} == {"stopped"}


@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_a_hard_margin_that_does_not_exist_ends_within_a_few_iterations(view: type) -> None:
    rng = np.random.default_rng(8)
    samples, y = rng.standard_normal((300, 10)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    last = list(InteriorPoint().iterates(reduce(view(samples, y), QP).form))[-1]
    assert last.claim == "infeasible"
    assert last.iterations <= 10


@pytest.mark.parametrize("size", [1e-10, 1e-4, 1e4])
@pytest.mark.parametrize("view", [HardMarginPrimal, HardMarginDual])
def test_a_margin_is_not_called_infeasible_for_its_units(view: type, size: float) -> None:
    samples = RNG.standard_normal((30, 3))
    samples[:, 0] = Y[:30] * (1 + np.abs(samples[:, 0]))
    solution = solve(view(size * samples, Y[:30]), InteriorPoint())
    assert solution.claimed != "infeasible"
