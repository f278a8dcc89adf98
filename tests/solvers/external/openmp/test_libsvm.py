"""LIBSVM with OpenMP: the same answers as the plain build gives, through its own interface."""

import importlib.util

import pytest
from tests.solvers.external.baseline_problems import KERNEL

from dualgap.problems import RBF, Sigmoid, SoftMarginDual
from dualgap.solvers import LibSVM, LibSVMOpenMP, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("libsvm") is None, reason="libsvm-official is not installed"
)


@NEEDED
@pytest.mark.parametrize("name", ["linear", "polynomial, sparse", "regression"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_it_agrees_with_the_plain_build(name: str, shrinking: bool) -> None:
    threaded = solve(KERNEL[name], LibSVMOpenMP(tol=1e-8, cache_size=1.0, shrinking=shrinking))
    plain = solve(KERNEL[name], LibSVM(tol=1e-8))
    assert threaded.claimed == plain.claimed == "optimal"
    assert threaded.verdict == plain.verdict == "solved"
    assert threaded.certificate.violating_pair <= 1e-5
    gaps = threaded.certificate.gap + plain.certificate.gap
    assert abs(threaded.objective - plain.objective) <= gaps


@NEEDED
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_it_meets_its_tolerance_and_prints_nothing(
    capfd: pytest.CaptureFixture[str], tol: float
) -> None:
    problem = SoftMarginDual(KERNEL["linear"].X, -KERNEL["linear"].y, 2.0, RBF(0.3))
    solution = solve(problem, LibSVMOpenMP(tol=tol))
    assert solution.certificate.violating_pair <= 1.01 * tol
    assert abs(solution.point.b - solution.certificate.point.b) <= tol
    assert solution.iterations > 0
    assert capfd.readouterr() == ("", "")


@NEEDED
def test_an_indefinite_kernel_is_solved_to_stationarity() -> None:
    X, y = KERNEL["linear"].X, KERNEL["linear"].y
    solution = solve(SoftMarginDual(X, y, 1.0, Sigmoid(0.5, -1.0)), LibSVMOpenMP(tol=1e-6))
    assert solution.verdict == "uncertified"
    assert solution.certificate.violating_pair <= 1e-5
