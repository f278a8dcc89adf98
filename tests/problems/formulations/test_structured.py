"""Chains: Viterbi, features, and bounds, against the enumeration of every labelling."""

from itertools import product
from math import prod

import numpy as np
import pytest

from dualgap.problems import ChainMargin, Point, certify
from dualgap.problems.chains import Chains, best_path

M, L, K, D = 4, 3, 3, 2
ALL = np.array(list(product(range(K), repeat=L)))


def chains_of_seed(seed: int = 0, C: float = 0.7) -> Chains:
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=(M, L))
    y[0, 0] = K - 1
    return Chains(rng.standard_normal((M, L, D)) + y[:, :, None], y, K, C)


def psi(x, labels) -> np.ndarray:
    U, T = np.zeros((K, D)), np.zeros((K, K))
    for t, k in enumerate(labels):
        U[k] += x[t]
        if t:
            T[labels[t - 1], k] += 1
    return np.concatenate([U.ravel(), T.ravel()])


@pytest.mark.parametrize("seed", range(5))
def test_viterbi_finds_the_best_of_all_labellings(seed):
    rng = np.random.default_rng(seed)
    nodes, T = rng.standard_normal((M, L, K)), rng.standard_normal((K, K))
    values = nodes[:, np.arange(L), ALL].sum(axis=2) + T[ALL[:, :-1], ALL[:, 1:]].sum(axis=1)
    assert np.array_equal(best_path(nodes, T), ALL[values.argmax(axis=1)])


def test_features_and_planes_are_those_of_the_definition():
    chains = chains_of_seed()
    labels = np.random.default_rng(1).integers(K, size=(M, L))
    expected = sum(psi(x, k) for x, k in zip(chains.X, labels, strict=True))
    assert np.allclose(chains.features(labels), expected)
    g, c = chains.plane(labels)
    assert c == (labels != chains.y).sum()
    true = sum(psi(x, k) for x, k in zip(chains.X, chains.y, strict=True))
    assert np.allclose(g, true - expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_primal_is_that_of_the_definition(seed):
    chains = chains_of_seed(seed)
    w = np.random.default_rng(seed).standard_normal(chains.size)
    slack = [
        max((k != y).sum() + w @ psi(x, k) for k in ALL) - w @ psi(x, y)
        for x, y in zip(chains.X, chains.y, strict=True)
    ]
    assert np.isclose(chains.primal(w).mid, 0.5 * w @ w + chains.C * sum(slack))


@pytest.mark.parametrize("seed", range(5))
def test_the_dual_is_that_of_a_distribution_over_labellings(seed):
    chains = chains_of_seed(seed)
    q = chains.C * np.random.default_rng(seed).dirichlet(np.full(len(ALL), 0.2), M)
    mu, w, wrong = np.zeros((M, L, K * K)), np.zeros(chains.size), 0.0
    for j, k in enumerate(ALL):
        mu += q[:, j, None, None] * chains.marginals(np.tile(k, (M, 1)))
        for s in range(M):
            w += q[s, j] * (psi(chains.X[s], chains.y[s]) - psi(chains.X[s], k))
            wrong += q[s, j] * (k != chains.y[s]).sum()
    dual, dual_weights = chains.dual(mu)
    assert np.allclose(dual_weights, w)
    assert np.isclose(dual.mid, wrong - 0.5 * w @ w)
    assert np.allclose(chains.consistent(mu), mu)
    assert dual.mid <= chains.primal(np.random.default_rng(seed).standard_normal(chains.size)).mid


def test_any_values_are_projected_to_consistent_marginals():
    chains = chains_of_seed()
    mu = chains.consistent(np.random.default_rng(0).standard_normal((M, L, K * K)))
    pairs = mu.reshape(M, L, K, K)
    assert (pairs >= 0).all()
    assert np.allclose(pairs.sum(axis=(2, 3)), chains.C)
    assert np.allclose(pairs[:, 1:].sum(axis=3), pairs[:, :-1].sum(axis=2))
    assert np.allclose(chains.consistent(mu), mu)


def test_bounds_hold_for_any_answer():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((12, D)), rng.integers(K, size=12).astype(float)
    y[0] = K - 1
    problem = ChainMargin(X, y, length=3, C=0.5)
    alpha, w = rng.standard_normal((12, K * K)), rng.standard_normal(problem.chains.size)
    for point in ((alpha, w), (alpha, None), (None, w)):
        bounds = problem.bounds(Point(*point))
        assert bounds.gap >= 0
        assert bounds.primal_objective >= bounds.dual_objective


@pytest.mark.parametrize(
    ("length", "y", "argument"),
    [(5, [0.0, 1.0], "length"), (0, [0.0, 1.0], "length"), (2, [0.0, 0.5], "y"), (2, [-1, 1], "y")],
)
def test_bad_input_names_its_argument(length, y, argument):
    with pytest.raises(ValueError, match=f"^{argument}:"):
        ChainMargin(np.ones((12, 2)), np.tile(np.array(y, dtype=float), 6), length=length)


def test_structured_margins_report_that_they_have_no_proofs():
    problem = ChainMargin(np.eye(4), np.array([0.0, 1.0, 1.0, 0.0]), length=2)
    proven = certify(problem, Point(w=np.zeros(prod(problem.weights_shape))), rigorous=True)
    assert np.isnan([proven.gap, proven.primal_objective, proven.dual_objective]).all()
    assert proven.reason == "not proven: structured margins have no ball arithmetic"


def test_marginals_whose_sums_overflow_are_projected_to_consistent_ones():
    """The optimum is below 0.75: U = ∓½ and T[0, 1] = 1."""
    problem = ChainMargin([[0.0], [1.0]], [0, 1], length=2, C=100.0)
    certificate = certify(problem, Point(alpha=[[0, 1, 0, 0], [1e308] * 4]))
    assert certificate.dual_objective <= 0.75 <= certificate.primal_objective
