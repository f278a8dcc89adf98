"""Near rows where more samples are on the kink than are sent: categories, counts, a rare class."""

from itertools import product

import numpy as np
import pytest
import scipy
from tests.halves import quick_cases

from dualgap.problems import SoftMarginDual
from dualgap.problems.blocks import ArraySource, Block, Blocks
from dualgap.problems.blocks.rule import variable_keys
from dualgap.problems.losses import Hinge
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows

N = 6000
RATES = [(0.01, 0), (0.01, 1), (0.035, 1), (0.035, 3), (0.1, 0)]  # of a rare class, and seeds


def one_hot(rng):
    """Return 20 categories, standardised, and three rounded numbers."""
    kind = rng.choice(20, N, p=0.8 ** np.arange(20) / np.sum(0.8 ** np.arange(20)))
    X = np.eye(20)[kind]
    X = np.column_stack(
        [(X - X.mean(axis=0)) / X.std(axis=0), np.round(rng.standard_normal((N, 2)))]
    )
    return X, rng.permutation(np.linspace(0.01, 0.6, 20))[kind]


def categories(rng):
    """Return 12 categories alone."""
    kind = rng.choice(12, N, p=0.7 ** np.arange(12) / np.sum(0.7 ** np.arange(12)))
    X = np.eye(12)[kind]
    return (X - X.mean(axis=0)) / X.std(axis=0), rng.permutation(np.linspace(0.01, 0.6, 12))[kind]


def hashed(rng):
    """Return two categories of 50 values in 16 signed bins, sparse."""
    values = rng.choice(50, (N, 2), p=0.9 ** np.arange(50) / np.sum(0.9 ** np.arange(50)))
    bins, signs = rng.integers(16, size=50), rng.choice([-1.0, 1.0], 50)
    entries = signs[values].ravel(), (np.repeat(np.arange(N), 2), bins[values].ravel())
    return scipy.sparse.csr_array(entries, shape=(N, 16)), 0.6 * rng.random(50)[values[:, 0]]


def counts(rng):
    """Return small counts of eight words."""
    X = rng.poisson(0.3, (N, 8)).astype(float)
    return X, 1.0 / (1.0 + np.exp(2.0 - X @ rng.standard_normal(8)))


def rare(rng):
    """Return categories and normal numbers, and a class of 1 %."""
    X = np.column_stack([np.eye(10)[rng.integers(10, size=N)], rng.standard_normal((N, 5))])
    return X, np.full(N, 0.01)


KINDS = [one_hot, categories, hashed, counts, rare]
ALTERNATING = [*zip(KINDS, [True, False, True, False, True], strict=True)]


@pytest.mark.parametrize(
    ("generate", "intercept"), quick_cases(product(KINDS, [True, False]), ALTERNATING)
)
def test_ties_are_solved_in_25_rounds(generate, intercept):
    rng = np.random.default_rng(0)
    X, weights = generate(rng)
    y = np.where(rng.random(N) < weights, 1.0, -1.0)
    optimum = solve(SoftMarginDual(X, y, intercept=intercept), target_gap=1e-8).certificate
    blocks = Blocks.checked(ArraySource(X, y, None, N // 4))
    solution = solve(SoftMarginDual(blocks, None, intercept=intercept), NearRows(near=1000))
    assert solution.verdict == "solved"
    assert solution.iterations <= 25
    assert solution.certificate.dual_objective <= optimum.primal_objective
    assert solution.certificate.primal_objective >= optimum.dual_objective


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize(("rate", "seed"), quick_cases(RATES, RATES[::2]))
def test_a_rare_class_of_distinct_samples_is_solved_in_25_rounds(rate, seed, intercept):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.eye(10)[rng.integers(10, size=N)], rng.standard_normal((N, 5))])
    y = np.where(rng.random(N) < rate, 1.0, -1.0)
    blocks = Blocks.checked(ArraySource(X, y, None, N // 4))
    answer = solve(SoftMarginDual(blocks, None, intercept=intercept), NearRows(near=200))
    assert answer.verdict == "solved"
    assert answer.iterations <= 25


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_variables_have_one_key_only_if_their_samples_are_equal(make):
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] * 4), np.ones(16)
    y[4:8] = y[12:] = -1.0
    block = Block(make(X), y, np.ones(16))
    keys = variable_keys(block, np.arange(16), 0, 0)
    np.testing.assert_array_equal(keys[:8], keys[8:])
    assert np.unique(keys).size == 8


def test_equal_samples_have_alpha_in_proportion_to_their_weights():
    X, y = np.ones((6, 1)), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    weight = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
    blocks = Blocks.checked(ArraySource(X, y, weight, 6))
    answer = solve(SoftMarginDual(blocks, None, C=0.1, intercept=False), target_gap=1e-9)
    alpha = y * answer.point.rule.coefficients(Hinge(), blocks.times(0.1))
    np.testing.assert_allclose(alpha[:3] / weight[:3], alpha[0])
    assert answer.verdict == "solved"
