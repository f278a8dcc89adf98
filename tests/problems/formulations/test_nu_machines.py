"""ν-SVC, ν-SVR and the one-class machine: their ν-property, and scikit-learn's answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm

from dualgap.problems import (
    RBF,
    BoxQP,
    Formulation,
    Kernel,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Point,
    SoftMarginDual,
    SVRDual,
    certify,
    reduce,
)
from dualgap.problems.risk.dual_point import budget, infeasibility
from dualgap.problems.risk.risk import box_point, from_box_point
from dualgap.solvers import SMO, CvxoptQP, LibSVM, Pegasos, Status, solve

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
    errors = geometry.slacks > 1e-7 * max(1.0, problem.decision(offsets).margin)
    assert errors.mean() <= problem.nu + 1e-12
    no_tube = name == "regression" and problem.decision(offsets).tube <= 1e-6
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
        scale = solution.problem.decision(
            solution.certificate.offsets
        ).margin  # LIBSVM divides by ρ
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
def test_a_nu_outside_0_to_1_is_refused(nu):
    for build in (
        lambda: NuSVC(X, Y, nu),
        lambda: NuSVR(X, TARGETS, nu, 2.0),
        lambda: OneClassSVM(X, nu),
    ):
        with pytest.raises(ValueError, match="nu: must be a number above 0 and at most 1"):
            build()


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)])
def test_nu_svc_divided_by_rho_is_the_soft_margin_with_C_of_1_over_rho(kernel):
    solution = solve(NuSVC(X, Y, 0.5, kernel), SMO(tol=1e-11))
    rho = solution.problem.decision(solution.certificate.offsets).margin
    soft = SoftMarginDual(X, Y, 1 / rho, kernel)
    certificate = certify(soft, Point(solution.alpha / rho))
    assert certificate.relative_gap <= 1e-8
    assert certificate.point.b == pytest.approx(solution.b / rho, rel=1e-6)
    margin = solve(soft, SMO(tol=1e-9)).geometry.margin
    assert solution.geometry.margin == pytest.approx(margin, rel=1e-6)


def test_a_nu_that_no_machine_has_is_refused_with_the_reason():
    y = np.where(np.arange(80) < 16, 1.0, -1.0)
    NuSVC(X, y, 0.4)  # 2·16/80
    with pytest.raises(ValueError, match=r"nu: must be at most 2·min\(n₊, n₋\)/n = 0.4 for 16"):
        NuSVC(X, y, 0.41)
    with pytest.raises(ValueError, match=r"at most .* = 0 for 80 samples"):
        NuSVC(X, np.ones(80), 0.1)


@pytest.mark.parametrize("solver", [SMO(tol=1e-9), CvxoptQP(), LibSVM(tol=1e-6)])
def test_the_largest_nu_has_a_certified_answer(solver):
    problem = NuSVC(X, Y, MOST, RBF(1.0))
    solution = solve(problem, solver)
    assert solution.verdict == "solved"
    rare = (Y > 0) if (Y > 0).sum() < 40 else (Y < 0)
    np.testing.assert_allclose(solution.alpha[rare], 1.0, rtol=1e-6)  # all that the class has


def test_classes_that_overlap_have_the_optimum_0_and_are_solved():
    X, y = np.zeros((40, 2)), np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    X[:, 0] = np.arange(40) // 2  # each sample with either label
    for solver in (SMO(), CvxoptQP(), SMO(tol=1e-9)):
        solution = solve(NuSVC(X, y, 0.9), solver)
        assert solution.verdict == "solved"
        assert solution.certificate.dual_objective <= 0.0 <= solution.certificate.primal_objective


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
def test_regression_with_its_tube_has_the_same_answer(kernel):
    solution = solve(NuSVR(X, TARGETS, 0.4, 2.0, kernel), SMO(tol=1e-10))
    epsilon = solution.problem.decision(solution.certificate.offsets).tube
    certificate = certify(SVRDual(X, TARGETS, 2.0, epsilon, kernel), Point(solution.alpha))
    assert certificate.relative_gap <= 1e-7
    assert certificate.point.b == pytest.approx(solution.b, abs=1e-6)


@pytest.mark.parametrize("nu", [1e-3, 0.5, 1.0])
def test_tubes_of_every_width_are_certified(nu):
    weights = np.linspace(0.5, 2.0, 80)
    solution = solve(NuSVR(X, TARGETS, nu, weights, RBF(0.5)), SMO(tol=1e-9), target_gap=1e-5)
    assert solution.verdict == "solved"
    assert solution.certificate.projection_distance <= 1e-5


def test_a_point_at_the_budget_keeps_the_bounds_of_its_variables():
    problem = NuSVR(X, TARGETS, 0.4, 2.0, RBF(0.5))
    solution = solve(problem, SMO(tol=1e-10))
    assert np.abs(solution.alpha).sum() == pytest.approx(budget(problem.risk))
    assert solution.certificate.violating_pair <= 1e-9
    assert {"zero", "free", "bounded"} == set(solution.geometry.kinds)
    x = box_point(problem.risk, solution.alpha)
    form = reduce(problem, BoxQP).form
    np.testing.assert_allclose(np.bincount(form.groups, form.a * x), form.delta)
    np.testing.assert_array_equal(from_box_point(problem.risk, x), solution.alpha)


def test_less_than_the_budget_is_filled_with_equal_parts():
    problem = NuSVR(X, TARGETS, 1.0, 2.0)
    alpha = np.where(np.arange(80) % 2 == 0, 0.1, -0.1)
    assert infeasibility(problem.risk, alpha) <= 1e-12
    x = box_point(problem.risk, alpha)
    form = reduce(problem, BoxQP).form
    np.testing.assert_allclose(form.project(x), x)
    np.testing.assert_allclose(from_box_point(problem.risk, x), alpha)
    assert infeasibility(problem.risk, 20.0 * alpha) == pytest.approx(0.0)
    assert infeasibility(problem.risk, 30.0 * alpha) == pytest.approx(80.0)


def test_the_single_feasible_point_at_the_largest_one_class_nu_is_certified():
    certificate = solve(OneClassSVM(X + 1.0, 1.0, RBF(1.0)), CvxoptQP()).certificate
    assert certificate.relative_gap <= 1e-9
    np.testing.assert_allclose(certificate.point.alpha, 1.0)


def test_samples_around_the_origin_have_the_optimum_0_and_are_solved():
    solution = solve(OneClassSVM(np.vstack([X + 1.0, -X - 1.0]), 0.9))
    assert solution.verdict == "solved"
    assert solution.certificate.primal_objective <= 1e-4
    assert certify(solution.problem, solution, rigorous=True).relative_gap <= 1e-6


def test_a_data_set_gives_the_samples_labelled_plus_one():
    y = np.where(np.arange(80) < 50, 1.0, -1.0)
    problem = OneClassSVM.from_data(X, y, nu=0.1, kernel=RBF(1.0))
    np.testing.assert_array_equal(problem.X, X[:50])
    with pytest.raises(ValueError, match="no sample is labelled"):
        OneClassSVM.from_data(X, -np.ones(80), nu=0.1)


def test_a_one_class_machine_with_an_unpenalised_offset_is_unsupported_by_pegasos():
    solution = solve(OneClassSVM(X + 1.0, 0.1), Pegasos())
    assert solution.status is Status.UNSUPPORTED
    assert "without a cost" in solution.reason


def test_fractions_of_weights_rounded_up_are_carried():
    """0.1 seven times is 0.7000000000000001 as the nearest float64, and less in all."""
    one = OneClassSVM(np.eye(7), 1.0, C=0.1)
    two = NuSVC(np.eye(14), np.repeat([1.0, -1.0], 7), 1.0, C=0.1)
    for problem in (one, two):
        certificate = certify(problem, Point(np.zeros(problem.n)))
        np.testing.assert_allclose(certificate.point.alpha, 0.1)
        assert certificate.relative_gap <= 1e-9
