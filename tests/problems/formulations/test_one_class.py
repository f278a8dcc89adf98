"""The one-class machine against its ν-property and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from problems import RBF, Linear, OneClassSVM, certify
from solvers import SMO, CvxoptQP, Pegasos, Status, solve

X = np.random.default_rng(0).standard_normal((80, 3)) + 1.0


@given(nu=st.floats(0.02, 1.0), gamma=st.floats(0.05, 10.0))
@settings(max_examples=15, deadline=None)
def test_nu_is_between_the_outliers_and_the_support_vectors(nu, gamma):
    geometry = solve(OneClassSVM(X, nu, RBF(gamma)), SMO(tol=1e-10)).geometry
    assert (geometry.slacks > 1e-7).mean() <= nu + 1e-12
    assert geometry.support.size >= nu * 80 - 1e-6


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3)])
def test_decisions_and_multipliers_are_those_of_scikit_learn(kernel):
    solution = solve(OneClassSVM(sp.csr_array(X), 0.3, kernel), SMO(tol=1e-10))
    name = "linear" if isinstance(kernel, Linear) else "rbf"
    theirs = svm.OneClassSVM(nu=0.3, kernel=name, gamma=0.3, tol=1e-9).fit(X)
    np.testing.assert_allclose(
        solution.decision_function(X), theirs.decision_function(X), atol=1e-6
    )
    assert solution.b == pytest.approx(-theirs.offset_[0], rel=1e-6)
    assert solution.alpha.sum() == pytest.approx(0.3 * 80)
    predicted = solution.problem.task.predict(solution.decision_function(X + 5.0))
    np.testing.assert_array_equal(predicted, theirs.predict(X + 5.0))


def test_the_largest_nu_leaves_one_point_and_it_is_certified():
    certificate = solve(OneClassSVM(X, 1.0, RBF(1.0)), CvxoptQP()).certificate
    assert certificate.relative_gap <= 1e-9
    np.testing.assert_allclose(certificate.point.alpha, 1.0)


def test_samples_around_the_origin_have_the_optimum_0_and_are_solved():
    solution = solve(OneClassSVM(np.vstack([X, -X]), 0.9))
    assert solution.verdict == "solved"
    assert solution.certificate.primal_objective <= 1e-4
    assert certify(solution.problem, solution, rigorous=True).relative_gap <= 1e-6


def test_a_data_set_gives_the_samples_labelled_plus_one():
    y = np.where(np.arange(80) < 50, 1.0, -1.0)
    problem = OneClassSVM.from_data(X, y, nu=0.1, kernel=RBF(1.0))
    np.testing.assert_array_equal(problem.X, X[:50])
    with pytest.raises(ValueError, match="no sample is labelled"):
        OneClassSVM.from_data(X, -np.ones(80), nu=0.1)


def test_what_has_one_intercept_without_a_cost_says_why_it_cannot():
    solution = solve(OneClassSVM(X, 0.1), Pegasos())
    assert solution.status is Status.UNSUPPORTED
    assert "without a cost" in solution.reason


def test_a_nu_that_is_no_share_is_refused():
    for nu in (0.0, 1.5):
        with pytest.raises(ValueError, match="nu: must be a number above 0 and at most 1"):
            OneClassSVM(X, nu)
