"""Proven bounds against optima found by enumeration in exact or 80-digit arithmetic, without our code.

Every dual variable is at an end of a piece of its range or free within it; for each choice the
stationary point of the free ones solves a linear system. Some optimal point is a vertex of the set of
optimal points, where that system has one solution: the largest dual value of all choices is the optimum.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Point,
    Polynomial,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
    certify,
)
from problems.certificates.proof import proven_bounds

DIGITS = 80
N, D = 3, 2


def optimum(problem, number):
    """Return the optimum in the certificates' scale and an optimal α, in `Fraction` or `Decimal`."""
    K = gram(problem, number)
    sign = [1] * problem.n if problem.is_regression else [int(s) for s in problem.y]
    Q = [[sign[i] * sign[j] * K[i][j] for j in range(N)] for i in range(N)]
    best = number(-1), None
    for choice in product(*pieces(problem, number)):
        x = stationary(Q, sign if problem.intercept else None, choice, number)
        if x is not None:
            gains = [v * slope for v, (_, _, slope) in zip(x, choice, strict=True)]
            quadratic = sum(Q[i][j] * x[i] * x[j] for i in range(N) for j in range(N))
            best = max(best, (sum(gains) - quadratic / 2, x))
    return best


def gram(problem, number):
    rows = [[number(v) for v in row] for row in problem.X.tolist()]
    return [[kernel_value(problem.kernel, x, z, number) for z in rows] for x in rows]


def kernel_value(kernel, x, z, number):
    inner = sum(u * v for u, v in zip(x, z, strict=True))
    if isinstance(kernel, RBF):
        return (-number(kernel.gamma) * sum((u - v) ** 2 for u, v in zip(x, z, strict=True))).exp()
    if isinstance(kernel, Polynomial):
        return (number(kernel.gamma) * inner + number(kernel.coef0)) ** kernel.degree
    return inner


def pieces(problem, number):
    """For each variable what it may be: (low, high, slope of the linear term); fixed if low is high."""
    if problem.problem_class == "hard_margin":
        return [[(number(0), number(0), 0), (number(0), None, 1)]] * N
    C = [number(c) for c in problem.upper.tolist()]
    if isinstance(problem, HingeERM):
        C = [1 / (N * number(problem.lam))] * N
    if not problem.is_regression:
        return [[(c * 0, c * 0, 1), (c, c, 1), (c * 0, c, 1)] for c in C]
    y, tube = [number(v) for v in problem.y.tolist()], number(problem.tube)
    above = [[(c * 0, c, t - tube), (c, c, t - tube)] for c, t in zip(C, y, strict=True)]
    below = [[(-c, c * 0, t + tube), (-c, -c, t + tube)] for c, t in zip(C, y, strict=True)]
    return [[(c * 0, c * 0, 0), *a, *b] for c, a, b in zip(C, above, below, strict=True)]


def stationary(Q, sign, choice, number):
    """Return the point of one choice if it is feasible, else None."""
    x = [low for low, _, _ in choice]
    free = [i for i, (low, high, _) in enumerate(choice) if low != high]
    for i in free:
        x[i] = number(0)
    rows = [
        [Q[i][j] for j in free]
        + ([number(sign[i])] if sign else [])
        + [choice[i][2] - sum(Q[i][j] * x[j] for j in range(N))]
        for i in free
    ]
    if sign:
        off = -sum(s * v for s, v in zip(sign, x, strict=True))
        rows.append([*(number(sign[j]) for j in free), number(0), number(off)])
    if sign and not free:
        return x if off == 0 else None
    solution = solved(rows)
    if solution is None:
        return None
    for i, value in zip(free, solution, strict=False):  # the last one is the multiplier
        low, high, _ = choice[i]
        if value < low or (high is not None and value > high):
            return None
        x[i] = value
    return x


def solved(rows):
    """Solve [A | b], or return None if A is singular."""
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda r, k=k: abs(rows[r][k]))
        if rows[pivot][k] == 0:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(len(rows)):
            if r != k and rows[r][k] != 0:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [u - factor * v for u, v in zip(rows[r], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


def make(rng, name, scale, offset, C, kernel=None):
    """Return a problem of three samples, of adversarial size."""
    y = np.array([1.0, -1.0, rng.choice([-1.0, 1.0])])
    X = (rng.standard_normal((N, D)) + 2 * y[:, None] * (name == "hard")) * scale + offset
    intercept = bool(rng.integers(2))
    if name == "hard":
        return (
            HardMarginPrimal(X, y, intercept)
            if kernel is None
            else HardMarginDual(X, y, kernel, intercept)
        )
    weights = C * rng.uniform(0.5, 2, N) if rng.integers(2) else C
    if name == "risk":
        return HingeERM(X, y, 1 / (N * C), intercept)
    if name == "soft" and kernel is None:
        return SoftMarginPrimal(X, y, weights, intercept)
    if name == "soft":
        return SoftMarginDual(X, y, weights, kernel, intercept)
    t, epsilon = rng.standard_normal(N), float(rng.choice([0.0, 0.1]))
    if kernel is None:
        return SVRPrimal(X, t, weights, epsilon, intercept)
    return SVRDual(X, t, weights, epsilon, kernel, intercept)


def points(rng, problem, alpha):
    """Yield the optimum rounded to float64, points about it, and one that is not feasible at all."""
    rounded = np.array([float(v) for v in alpha])
    size = float(np.abs(rounded).max()) or 1.0
    yield Point(rounded)
    yield Point(rounded * (1 + 1e-6 * rng.standard_normal(N)))
    yield Point(rounded + size * rng.standard_normal(N))
    if problem.is_linear:
        yield Point(rounded, problem.X.T @ problem.beta(rounded))


def check(problem, number, slack, rng):
    value, alpha = optimum(problem, number)
    room = slack * abs(value)
    for point in points(rng, problem, alpha):
        certificate = certify(problem, point, rigorous=True)
        assume(not certificate.infeasible)
        assert certificate.bound_source.startswith("proven")
        assert number(certificate.dual_objective) <= value + room
        if np.isfinite(certificate.primal_objective):
            assert number(certificate.primal_objective) >= value - room


adversarial = {
    "seed": st.integers(0, 10**6),
    "scale": st.sampled_from([1e-8, 1.0, 1e8]),
    "offset": st.sampled_from([0.0, 1.0, 1e8]),
    "C": st.sampled_from([1e-12, 1.0, 1e12]),
}


@pytest.mark.parametrize("name", ["soft", "risk", "svr", "hard"])
@given(**adversarial)
@settings(max_examples=25)
def test_a_linear_problem_is_enclosed_in_rationals(name, seed, scale, offset, C):
    rng = np.random.default_rng(seed)
    check(make(rng, name, scale, offset, C), Fraction, 0, rng)


@pytest.mark.parametrize("name", ["soft", "svr", "hard"])
@given(kernel=st.sampled_from([RBF(1e-12), RBF(0.3), RBF(1e3), Polynomial(3, 0.5)]), **adversarial)
@settings(max_examples=25)
def test_a_kernel_problem_is_enclosed_in_80_digits(name, kernel, seed, scale, offset, C):
    rng = np.random.default_rng(seed)
    with decimal.localcontext(prec=DIGITS):
        check(make(rng, name, scale, offset, C, kernel), Decimal, Decimal("1e-30"), rng)


def test_the_bounds_of_a_rounded_optimum_are_a_few_digits_apart():
    rng = np.random.default_rng(0)
    for name in ("soft", "risk", "svr", "hard"):
        problem = make(rng, name, 1.0, 0.0, 1.0)
        alpha = np.array([float(v) for v in optimum(problem, Fraction)[1]])
        assert certify(problem, Point(alpha), rigorous=True).relative_gap < 1e-14


def test_a_hard_margin_far_from_the_origin_is_as_tight_as_near_it():
    X, y = np.array([[0.25, 1.0], [-0.5, -1.0], [1.0, 3.0]]), np.array([1.0, -1.0, 1.0])
    for offset in (0.0, 2.0**40):
        problem = HardMarginPrimal(X + offset, y)
        alpha = np.array([float(v) for v in optimum(problem, Fraction)[1]])
        bounds, _ = proven_bounds(problem, alpha, None, (0.0,))
        assert bounds.gap <= 1e-14 * bounds.upper


def test_margins_that_rounding_left_short_of_one_do_not_spoil_a_bound_of_huge_C():
    problem = SoftMarginPrimal(np.array([[0.1], [-0.3], [0.7]]), np.array([1.0, -1, 1]), 1e12)
    alpha = np.array([float(v) for v in optimum(problem, Fraction)[1]])
    assert certify(problem, Point(alpha), rigorous=True).relative_gap < 1e-14
