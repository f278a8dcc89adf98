"""L-BFGS and Newton-CG begin at a start that they are given, and stop in the unit of the targets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.halves import quick_cases

from dualgap.problems import RBF, Polynomial, RegularizedERM, datasets
from dualgap.solvers import LBFGS, NewtonCG, solve

CANCER = datasets.load("breast_cancer", standardize=True, limit=200, seed=0)


@given(exponent=st.floats(-12, 12), offset=st.sampled_from([0.0, 100.0]))
@pytest.mark.parametrize("solver", [LBFGS(), NewtonCG()])
def test_the_unit_of_the_targets_does_not_matter(solver, exponent, offset):
    unit, y = 10.0**exponent, offset + CANCER.X[:, 0] ** 2
    problem = RegularizedERM(CANCER.X[:, 1:6], unit * y, 0.01, "squared", intercept=True)
    solution = solve(problem, solver)
    assert solution.certificate.relative_gap < 1e-8
    assert solution.claimed == "optimal"


@pytest.mark.parametrize("solver", [LBFGS(), NewtonCG()])
@pytest.mark.parametrize("kernel", [RBF(0.03), Polynomial(1)])  # of the latter K has the rank 31
@pytest.mark.parametrize("intercept", [False, True])
def test_a_factor_of_K_replaces_the_samples_of_a_kernel(solver, kernel, intercept):
    problem = RegularizedERM(CANCER.X, CANCER.y, 0.01, "logistic", kernel, intercept)
    solution = solve(problem, solver)
    assert solution.verdict == "solved"
    assert solution.certificate.bound_source == "alpha"


@pytest.mark.parametrize("solver", [LBFGS(), NewtonCG()])
@pytest.mark.parametrize("lam", quick_cases([1e-6, 1e-9], [1e-6]))
def test_coefficients_with_a_large_gap_are_not_claimed_optimal(solver, lam):
    problem = RegularizedERM(CANCER.X, CANCER.y, lam, "squared_hinge", RBF(0.03), intercept=True)
    assert solve(problem, solver).verdict != "wrong"
