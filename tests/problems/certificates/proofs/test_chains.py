"""Proven bounds of structured margins, against the enumeration of every labelling in rationals."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import ChainMargin, Point, certify, datasets
from solvers import CuttingPlane, solve


def primal(problem, w):
    """½‖w‖² + C Σₛ max over all labellings of Δ + wᵀΨ(ŷ) − wᵀΨ(y), in rationals."""
    K, d, L = problem.labels, problem.d, problem.length
    w = [Fraction(v) for v in w.tolist()]
    X = [[Fraction(v) for v in row] for row in problem.X.tolist()]
    y = problem.y.astype(int).tolist()

    def score(s, path):
        nodes = sum(w[k * d + j] * X[s + t][j] for t, k in enumerate(path) for j in range(d))
        edges = sum(w[K * d + a * K + b] for a, b in pairwise(path))
        return nodes + edges

    total = sum(v * v for v in w) / 2
    for s in range(0, problem.n, L):
        given = y[s : s + L]
        total += Fraction(problem.C) * max(
            sum(a != b for a, b in zip(path, given, strict=True)) + score(s, path) - score(s, given)
            for path in product(range(K), repeat=L)
        )
    return total


def chains(seed, length, scale=1.0, C=0.7):
    rng = np.random.default_rng(seed)
    y = np.append([0.0, 1.0, 2.0], rng.integers(0, 3, 9))
    return ChainMargin(scale * rng.standard_normal((12, 2)), y, length, C)


@given(
    seed=st.integers(0, 10**6),
    length=st.sampled_from([1, 3]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_the_upper_bound_is_the_largest_of_all_labellings_rounded_up(seed, length, scale):
    problem = chains(seed, length, scale)
    w = np.random.default_rng(seed).standard_normal(15) / scale
    exact = primal(problem, w)
    proven = certify(problem, Point(w=w), rigorous=True)
    assert exact <= Fraction(proven.primal_objective) <= exact * (1 + Fraction(1, 2**51))
    assert -1e-12 <= proven.dual_objective <= 0  # that of the labels given


@pytest.mark.parametrize("length", [1, 3])
def test_any_marginals_lie_below_any_weights(length):
    problem, rng = chains(1, length), np.random.default_rng(2)
    for size in (0.0, 1e-9, 1.0, 1e9):
        alpha = size * rng.random((12, 9))
        proven = certify(problem, Point(alpha), rigorous=True)
        plain = certify(problem, Point(alpha))
        assert proven.bound_source == "proven: alpha"
        assert proven.dual_objective == pytest.approx(plain.dual_objective, rel=1e-12, abs=1e-12)
        assert proven.primal_objective == pytest.approx(plain.primal_objective, rel=1e-12)
        for w in rng.standard_normal((3, 15)):
            assert Fraction(proven.dual_objective) <= primal(problem, w)


def test_the_bounds_of_an_optimum_are_proven_as_tight_as_in_float64():
    data = datasets.load("hidden_markov", n=8, length=5, labels=3)
    problem = ChainMargin(data.X, data.y, 5, 0.5)
    solution = solve(problem, CuttingPlane())
    proven = certify(problem, solution, rigorous=True)
    assert proven.relative_gap <= solution.certificate.relative_gap + 1e-14
    assert proven.reason == ""
