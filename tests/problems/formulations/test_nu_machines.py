"""ν-SVC, ν-SVR and the one-class machine: their ν-property, and scikit-learn's answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from problems import RBF, Formulation, Kernel, Linear, NuSVC, NuSVR, OneClassSVM
from solvers import SMO, solve

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 2))
Y = np.where(X[:, 0] + 0.4 * RNG.standard_normal(80) > 0.2, 1.0, -1.0)
TARGETS = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_normal(80) + 7.0
MOST = 2 * min((Y > 0).mean(), (Y < 0).mean())
MACHINES = ("classification", "regression", "one class")


def machine(name: str, nu: float, kernel: Kernel) -> Formulation:
    """Return a machine with this ν; of two classes there is none with more than `MOST`."""
    if name == "classification":
        return NuSVC(X, Y, min(nu, MOST - 1e-9), kernel)
    if name == "regression":
        return NuSVR(X, TARGETS, nu, 2.0, kernel)
    return OneClassSVM(sp.csr_array(X + 1.0), nu, kernel)


@pytest.mark.parametrize("name", MACHINES)
@given(nu=st.floats(0.02, 1.0), gamma=st.floats(0.1, 20.0))
@settings(max_examples=15, deadline=None)
def test_nu_is_between_the_errors_and_the_support_vectors(name, nu, gamma):
    problem = machine(name, nu, RBF(gamma))
    solution = solve(problem, SMO(tol=1e-10))
    geometry, offsets = solution.geometry, solution.certificate.offsets
    errors = geometry.slacks > 1e-7 * max(1.0, problem.decision_scale(offsets))
    assert errors.mean() <= problem.nu + 1e-12
    no_tube = name == "regression" and problem.tube_at(offsets) <= 1e-6
    assert no_tube or geometry.support.size >= problem.nu * 80 - 1e-6


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.7)])
@pytest.mark.parametrize("name", MACHINES)
def test_answers_are_those_of_scikit_learn(name, kernel):
    solution = solve(machine(name, 0.61, kernel), SMO(tol=1e-10))
    options = {"kernel": "linear"} if kernel == Linear() else {"kernel": "rbf", "gamma": 0.7}
    options |= {"nu": 0.61, "tol": 1e-9}  # of 80 samples no whole number
    decision, scale = solution.decision_function(X), 1.0
    if name == "classification":
        theirs = svm.NuSVC(**options).fit(X, Y).decision_function(X)
        scale = solution.problem.decision_scale(solution.certificate.offsets)  # LIBSVM divides by ρ
    elif name == "regression":
        theirs = svm.NuSVR(C=2.0, **options).fit(X, TARGETS).predict(X)
    else:
        fitted = svm.OneClassSVM(**options).fit(X + 1.0)
        decision, theirs = (m.decision_function(X + 1.0) for m in (solution, fitted))
        assert solution.b == pytest.approx(-fitted.offset_[0], rel=1e-6)
        predicted = solution.problem.task.predict(solution.decision_function(X + 5.0))
        np.testing.assert_array_equal(predicted, fitted.predict(X + 5.0))
    np.testing.assert_allclose(decision, scale * theirs, atol=1e-5 * scale)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan, "half"])
def test_a_nu_that_is_no_share_is_refused(nu):
    for build in (
        lambda: NuSVC(X, Y, nu),
        lambda: NuSVR(X, TARGETS, nu, 2.0),
        lambda: OneClassSVM(X, nu),
    ):
        with pytest.raises(ValueError, match="nu: must be a number above 0 and at most 1"):
            build()
