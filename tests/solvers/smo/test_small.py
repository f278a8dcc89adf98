"""Small problems by all of K: certified, with multipliers that are intercepts."""

import numpy as np
import pytest
from tests.small_problems import two_classes

from dualgap.problems import (
    RBF,
    Gram,
    HardMarginDual,
    KernelQP,
    Linear,
    Point,
    SoftMarginDual,
    certify,
    reduce,
)
from dualgap.problems.forms import GroupedTerms
from dualgap.solvers import SMO, solve
from dualgap.solvers.smo import is_small
from dualgap.solvers.smo.small import SmallProblem

X, Y = two_classes(80, 5)


def solved(kernel, C=1.0, intercept=True, max_steps=10**6):
    """Return z and the fit of a soft margin: to 1e-3, from there to 1e-9."""
    limits, groups = (np.minimum(C * Y, 0.0), np.maximum(C * Y, 0.0)), np.full(80, intercept - 1)
    z, f, terms = np.zeros(80), np.zeros(80), GroupedTerms(-Y, np.zeros(80), *limits, groups)
    return z, SmallProblem(kernel(X, X), terms).minimise(z, f, 1e-3, 1e-9, max_steps)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.2), RBF(50.0)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_a_soft_margin_is_certified_and_its_multiplier_is_an_optimal_intercept(
    kernel, intercept, C
):
    beta, fit = solved(kernel, C, intercept)
    assert fit.violation <= 1e-9
    certificate = certify(SoftMarginDual(X, Y, C, kernel, intercept), Point(alpha=Y * beta))
    assert certificate.primal_residual < 1e-9
    assert certificate.relative_gap < 1e-7
    if intercept:
        low, high = certificate.b_interval
        assert low - 1e-6 <= fit.b[0] <= high + 1e-6


def test_seven_steps_give_a_feasible_point():
    beta, fit = solved(RBF(0.2), max_steps=7)
    assert fit.steps == 7
    assert fit.violation > 1e-3
    assert abs(beta.sum()) < 1e-12


def test_smo_stores_all_of_K_if_it_fits_and_stops_at_the_gap():
    problem, repeated = SoftMarginDual(X, Y, 10.0, RBF(0.2)), np.tile(X, (7, 1))
    form = reduce(problem, KernelQP).form
    assert is_small(form, None)
    assert not is_small(form, 0.04)
    assert not is_small(reduce(SoftMarginDual(repeated, np.tile(Y, 7)), KernelQP).form, None)
    exact, rough = (solve(problem, SMO(tol=1e-9, gap=gap)) for gap in (None, 1e-1))
    rows = solve(problem, SMO(tol=1e-9, cache_size=0.04))
    assert exact.counters["bits"] == 64
    assert "refreshes" in rows.counters, "rows are in a cache"
    assert rough.iterations <= exact.iterations
    assert rough.certificate.relative_gap <= 1e-1
    assert max(s.certificate.relative_gap for s in (exact, rows)) <= 1e-8


def test_a_thin_margin_far_from_the_origin_is_a_margin() -> None:
    solution = solve(HardMarginDual([[1990.0], [1991.0]], [-1.0, 1.0]))
    assert (solution.claimed, solution.verdict) == ("optimal", "solved")


def test_a_matrix_without_a_cache_is_computed_by_rows() -> None:
    X = np.random.default_rng(0).standard_normal((50, 2))
    problem = SoftMarginDual(X, np.sign(X[:, 0]), 1.0, RBF(0.5))
    gram = Gram(problem.X, problem.kernel, memory=0)
    assert solve(problem, SMO(tol=1e-8), gram=gram).verdict == "solved"


@pytest.mark.parametrize("X", [[[1.7e9], [1.7e9 + 1000]], [[1e4], [1e4 + 0.005]]])
def test_two_close_samples_far_from_the_origin_are_separable(
    X: list[list[float]],
) -> None:
    solution = solve(HardMarginDual(X, [-1.0, 1.0]))
    assert solution.claimed != "infeasible"
    assert solution.verdict in ("solved", "uncertified")
