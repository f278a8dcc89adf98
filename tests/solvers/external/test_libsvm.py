"""LIBSVM as a baseline: it must be given the same problem, weights, kernel and all."""

import numpy as np
from tests.small_problems import two_classes

from dualgap.problems import (
    RBF,
    SVDD,
    HingeERM,
    NuSVC,
    Sigmoid,
    SoftMarginDual,
)
from dualgap.solvers import LibSVM, Solution, solve


def reachable(solution: Solution, tol: float) -> float:
    """LIBSVM keeps Q in single precision: each gradient is off by up to eps·Σ|Qᵢⱼ|xⱼ."""
    problem = solution.problem
    rows = np.abs(problem.samples.gram().dense()) @ np.abs(solution.alpha)
    return tol + np.finfo(np.float32).eps * float(rows.max())


def test_the_answer_meets_its_tolerance_up_to_single_precision() -> None:
    problem = SoftMarginDual(*two_classes(80), 1.0, RBF(0.3))
    for tol in (1e-1, 1e-3, 1e-6, 1e-9):
        solution = solve(problem, LibSVM(tol=tol))
        assert solution.certificate.violating_pair <= reachable(solution, tol)


def test_shrinking_changes_the_iterates_but_not_the_answer() -> None:
    problem = SoftMarginDual(*two_classes(80), 100.0, RBF(0.3))
    for shrinking in (True, False):
        solution = solve(problem, LibSVM(tol=1e-7, shrinking=shrinking, cache_size=1.0))
        assert solution.certificate.violating_pair <= reachable(solution, 1e-7)


def test_an_indefinite_kernel_is_solved_to_stationarity() -> None:
    solution = solve(SoftMarginDual(*two_classes(80), 1.0, Sigmoid(0.5, -1.0)), LibSVM(tol=1e-6))
    assert solution.verdict == "uncertified"
    assert solution.certificate.violating_pair <= 1e-5


def test_a_risk_with_hinge_loss_and_intercept_is_c_svc() -> None:
    X, y = two_classes(80)
    risk = HingeERM(X, y, 0.01, intercept=True)
    margin = SoftMarginDual(X, y, risk.risk.C)
    assert np.array_equal(solve(risk, LibSVM()).alpha, solve(margin, LibSVM()).alpha)


def test_the_variables_of_nu_svc_have_their_signs_although_rho_is_negative() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 3)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    solution = solve(NuSVC(X, y, nu=0.3), LibSVM(tol=1e-6))
    assert solution.point.alpha.min() >= 0


def test_svdd_with_one_norm_for_all_samples_is_the_one_class_machine() -> None:
    X, _ = two_classes(80)
    assert solve(SVDD(X, 0.2, RBF(0.5)), LibSVM(tol=1e-6)).verdict == "solved"
