"""The one-class machine against its ν-property and scikit-learn."""

import numpy as np
import pytest

from problems import RBF, OneClassSVM, certify
from solvers import CvxoptQP, Pegasos, Status, solve

X = np.random.default_rng(0).standard_normal((80, 3)) + 1.0


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
