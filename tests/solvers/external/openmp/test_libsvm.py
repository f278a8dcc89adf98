"""LIBSVM with OpenMP: the same answers as the plain build gives, through its own interface."""

import importlib.util
import sys
from collections.abc import Callable

import pytest

from problems import RBF, Formulation, Precomputed, Sigmoid, SoftMarginDual
from solvers import LibSVM, LibSVMOpenMP, Solver, Status, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("libsvm") is None, reason="libsvm-official is not installed"
)


@NEEDED
@pytest.mark.parametrize("name", ["linear", "polynomial, sparse", "regression"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_it_agrees_with_the_plain_build(
    kernel: dict[str, Formulation], name: str, shrinking: bool
) -> None:
    threaded = solve(kernel[name], LibSVMOpenMP(tol=1e-6, cache_size=1.0, shrinking=shrinking))
    plain = solve(kernel[name], LibSVM(tol=1e-6))
    assert threaded.claimed == plain.claimed == "optimal"
    assert threaded.verdict == plain.verdict == "solved"
    assert threaded.certificate.violating_pair <= 1e-5
    gaps = threaded.certificate.gap + plain.certificate.gap
    assert abs(threaded.objective - plain.objective) <= gaps


@NEEDED
@pytest.mark.parametrize("name", ["classification", "regression", "one class"])
def test_it_solves_machines_with_nu(nu: dict[str, Formulation], name: str) -> None:
    solution = solve(nu[name], LibSVMOpenMP(tol=1e-6))
    assert (solution.claimed, solution.verdict) == ("optimal", "solved")
    assert abs(solution.objective - solve(nu[name], LibSVM(tol=1e-6)).objective) <= 1e-6


@NEEDED
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_it_meets_its_tolerance_and_prints_nothing(
    kernel: dict[str, Formulation], capfd: pytest.CaptureFixture[str], tol: float
) -> None:
    problem = SoftMarginDual(kernel["linear"].X, -kernel["linear"].y, 2.0, RBF(0.3))
    solution = solve(problem, LibSVMOpenMP(tol=tol))
    assert solution.certificate.violating_pair <= 1.01 * tol
    assert abs(solution.point.b - solution.certificate.point.b) <= tol
    assert solution.iterations > 0
    assert capfd.readouterr() == ("", "")


@NEEDED
def test_an_indefinite_kernel_is_solved_to_stationarity(kernel: dict[str, Formulation]) -> None:
    X, y = kernel["linear"].X, kernel["linear"].y
    solution = solve(SoftMarginDual(X, y, 1.0, Sigmoid(0.5, -1.0)), LibSVMOpenMP(tol=1e-6))
    assert solution.verdict == "uncertified"
    assert solution.certificate.violating_pair <= 1e-5


def test_what_it_cannot_do_is_refused(
    linear: dict[str, Formulation],
    kernel: dict[str, Formulation],
    refused: Callable[[Solver, Formulation], str],
) -> None:
    X, y = linear["one C"].X, linear["one C"].y
    precomputed = SoftMarginDual(X @ X.T, y, 1.0, Precomputed())
    only = "linear, RBF, polynomial and sigmoid kernels only"
    assert only in refused(LibSVMOpenMP(), precomputed)
    assert "libsvm_openmp always has an intercept" in refused(LibSVMOpenMP(), linear["one C"])
    for name in ("rbf, a C for each", "regression, a C for each"):
        assert "one C for all samples" in refused(LibSVMOpenMP(), kernel[name])


def test_an_absent_package_is_named(
    kernel: dict[str, Formulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libsvm.svm", None)
    solution = solve(kernel["linear"], LibSVMOpenMP())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install libsvm-official" in solution.note
