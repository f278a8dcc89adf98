"""ν-SVC against its ν-property, the soft margin of the same answer, and scikit-learn."""

import numpy as np
import pytest

from problems import RBF, BoxQP, Linear, NuSVC, Point, SoftMarginDual, certify, reduce
from solvers import SMO, CvxoptQP, LibSVM, solve

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 2))
Y = np.where(X[:, 0] + 0.4 * RNG.standard_normal(80) > 0.2, 1.0, -1.0)
MOST = 2 * min((Y > 0).mean(), (Y < 0).mean())


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)])
def test_divided_by_rho_it_is_the_soft_margin_with_C_of_1_over_rho(kernel):
    solution = solve(NuSVC(X, Y, 0.5, kernel), SMO(tol=1e-11))
    rho = solution.problem.decision_scale(solution.certificate.offsets)
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


def test_each_class_has_a_group_with_half_of_the_weight():
    form = reduce(NuSVC(X, Y, 0.25), BoxQP).form
    np.testing.assert_array_equal(form.delta, [10.0, -10.0])
    np.testing.assert_array_equal(form.a, Y)
    np.testing.assert_array_equal(form.ub, np.ones(80))
