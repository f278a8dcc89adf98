"""Bounds of the answers between two others hold, and optimal weights are within the radii."""

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    HingeERM,
    Point,
    RegularizedERM,
    SoftMarginDual,
    SVRDual,
    certify,
)
from dualgap.problems.answers.interpolation import Interpolation, with_value
from dualgap.solvers import SMO, solve

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(40) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + 0.3 * RNG.standard_normal(40)
CASES = {
    "C": (SoftMarginDual(X, Y), "C", 1.0),
    "C of a kernel": (SoftMarginDual(X, Y, kernel=RBF(0.3)), "C", 1.0),
    "C of weights": (SoftMarginDual(X, Y, C=RNG.uniform(0.5, 2, 40)), "C", 1.0),
    "C of a regression": (SVRDual(X, TARGETS, 1.0, 0.2, RBF(0.3)), "C", 1.0),
    "lam": (HingeERM(X, Y, 0.1, intercept=True), "lam", 0.1),
    "lam of a smooth loss": (RegularizedERM(X, Y, 0.1, "logistic"), "lam", 0.1),
    "epsilon": (SVRDual(X, TARGETS, 1.0, 0.2), "epsilon", 0.2),
}
FACTORS = [(0.5, 0.9), (0.95, 1.05), (1.5, 40.0)]


def interpolation(name: str, factors: tuple[float, float], tol: float = 1e-2) -> Interpolation:
    problem, parameter, value = CASES[name]
    values = tuple(factor * value for factor in factors)
    certificates = []
    for at in values:
        changed = with_value(problem, parameter, at)
        alpha = answer_to(changed, tol).alpha
        certificates.append(certify(changed, Point(alpha=alpha), target_gap=np.inf))
    return Interpolation(problem, parameter, values, tuple(certificates))  # type: ignore[arg-type]


def answer_to(problem, tol: float):
    solver = SMO(tol=tol) if problem.risk.terms is not None else None
    return solve(problem, solver, target_gap=max(tol, 1e-10))


def combination(segment: Interpolation, fraction: float):
    """Return the value at a fraction, the problem there, and the certificate of the combination."""
    values = np.linspace(*segment.values, 2001)
    value = values[np.abs(segment.fraction(values) - fraction).argmin()]
    problem = with_value(segment.problem, segment.parameter, value)
    certificate = certify(problem, Point(alpha=segment.alpha(value)), target_gap=np.inf)
    return float(segment.fraction(value)), problem, certificate


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factors", FACTORS)
def test_the_gap_of_a_combination_is_within_the_bound(
    name: str, factors: tuple[float, float]
) -> None:
    segment = interpolation(name, factors)
    ends = np.linspace(0.0, 1.0, 65)
    for fraction in (0.0, 0.1, 0.4, 0.5, 0.8, 1.0):
        t, _, certificate = combination(segment, fraction)
        column = min(int(np.searchsorted(ends, t, "right")) - 1, 63)
        assert certificate.relative_gap <= (1 + 1e-9) * segment.relative_gaps[column] + 1e-12
        assert certificate.gap <= (1 + 1e-9) * segment.gaps(np.array([t, t]))[0] + 1e-12


@pytest.mark.parametrize("name", [name for name in CASES if name != "lam of a smooth loss"])
def test_the_bound_of_a_gap_is_close_to_what_the_combination_has(name: str) -> None:
    segment = interpolation(name, (0.7, 1.0), tol=1e-8)
    t, _, certificate = combination(segment, 0.5)
    assert segment.gaps(np.array([t, t]))[0] <= 2.0 * certificate.gap + 1e-6


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factors", FACTORS)
def test_optimal_weights_are_within_the_radii(name: str, factors: tuple[float, float]) -> None:
    segment = interpolation(name, factors)
    K = segment.problem.samples.gram().dense()
    fractions = np.array([0.0, 0.3, 0.6, 1.0])
    for low, high, radius in zip(fractions, fractions[1:], segment.radii(fractions), strict=False):
        for fraction in (low + 0.01, high - 0.01):
            _, problem, answer = combination(segment, fraction)
            optimum = answer_to(problem, 1e-12)
            error = problem.risk.beta(optimum.alpha) - problem.risk.beta(answer.point.alpha)
            assert np.sqrt(error @ K @ error) <= (1 + 1e-6) * radius


def test_between_optima_with_the_same_free_samples_the_combinations_are_optimal() -> None:
    """All α are at their limits, so the path is linear."""
    segment = interpolation("C of a kernel", (1e-4, 1e-3), tol=1e-12)
    assert segment.gaps(np.linspace(0.0, 1.0, 9)).max() <= 1e-9
