"""Proven bounds of adversarial sizes against optima found by enumeration in rationals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    Linear,
    Point,
    Polynomial,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    certify,
)
from problems.certificates.proof import proven_bounds
from tests.differential.posed import rational
from tests.differential.reference import exact_reference

N, D = 3, 2


RISKS = {"risk": "hinge", "ridge": "squared", "logistic": "logistic"}


def make(rng, name, scale, offset, C, kernel=None):
    """Return a problem of three samples, of adversarial size."""
    y = np.array([1.0, -1.0, rng.choice([-1.0, 1.0])])
    X = (rng.standard_normal((N, D)) + 2 * y[:, None] * (name == "hard")) * scale + offset
    kernel, intercept, t = kernel or Linear(), bool(rng.integers(2)), rng.standard_normal(N)
    if name == "hard":
        return HardMarginDual(X, y, kernel, intercept)
    if name in RISKS:
        y = t + offset if name == "ridge" else y
        return RegularizedERM(X, y, 1 / (N * C), RISKS[name], kernel, intercept)
    weights = C * rng.uniform(0.5, 2, N) if rng.integers(2) else C
    if name == "soft":
        return SoftMarginDual(X, y, weights, kernel, intercept)
    return SVRDual(X, t, weights, float(rng.choice([0.0, 0.1])), kernel, intercept)


def points(rng, problem, rounded):
    """Yield the optimum rounded to float64, points about it, and one that is not feasible at all."""
    size = float(np.abs(rounded).max()) or 1.0
    yield Point(rounded)
    yield Point(rounded * (1 + 1e-6 * rng.standard_normal(N)))
    yield Point(rounded + size * rng.standard_normal(N))
    if problem.is_linear:
        yield Point(rounded, problem.X.T @ problem.beta(rounded))


def best(problem):
    return exact_reference(problem).point().alpha


@pytest.mark.parametrize("name", ["soft", "svr", "hard", *RISKS])
@given(
    kernel=st.sampled_from([None, RBF(1e-12), RBF(0.3), RBF(1e3), Polynomial(3, 0.5)]),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    offset=st.sampled_from([0.0, 1.0, 1e8]),
    C=st.sampled_from([1e-12, 1.0, 1e12]),
)
@settings(max_examples=40)
def test_the_optimum_is_enclosed(name, kernel, seed, scale, offset, C):
    rng = np.random.default_rng(seed)
    problem = make(rng, name, scale, offset, C, kernel)
    reference = exact_reference(problem)
    assume(not reference.is_infeasible)
    for point in points(rng, problem, reference.point().alpha):
        assume(np.isfinite(point.alpha).all())
        certificate = certify(problem, point, rigorous=True)
        assert certificate.bound_source.startswith("proven")
        assert rational(certificate.dual_objective) <= reference.upper
        if np.isfinite(certificate.primal_objective):
            assert rational(certificate.primal_objective) >= reference.lower


def test_the_bounds_of_a_rounded_optimum_are_a_few_digits_apart():
    rng = np.random.default_rng(0)
    for name in ("soft", "risk", "svr", "hard"):
        problem = make(rng, name, 1.0, 0.0, 1.0)
        assert certify(problem, Point(best(problem)), rigorous=True).relative_gap < 1e-14


def test_a_hard_margin_far_from_the_origin_is_as_tight_as_near_it():
    X, y = np.array([[0.25, 1.0], [-0.5, -1.0], [1.0, 3.0]]), np.array([1.0, -1.0, 1.0])
    for offset in (0.0, 2.0**40):
        problem = HardMarginPrimal(X + offset, y)
        bounds, _ = proven_bounds(problem, best(problem), None, (0.0,))
        assert bounds.gap <= 1e-14 * bounds.upper


def test_margins_that_rounding_left_short_of_one_do_not_spoil_a_bound_of_huge_C():
    problem = SoftMarginPrimal(np.array([[0.1], [-0.3], [0.7]]), np.array([1.0, -1, 1]), 1e12)
    assert certify(problem, Point(best(problem)), rigorous=True).relative_gap < 1e-14
