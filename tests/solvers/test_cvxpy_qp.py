"""CVXPY's back ends: each solves, and one that is missing is named."""

import sys
from typing import Any

import pytest
from tests.small_problems import two_classes

from dualgap.problems import SoftMarginDual, SoftMarginPrimal
from dualgap.solvers import CvxpyQP, Status, solve

VIEWS = [SoftMarginDual, SoftMarginPrimal]


@pytest.mark.parametrize("backend", CvxpyQP.backends())
@pytest.mark.parametrize("view", VIEWS)
def test_every_back_end_solves_a_soft_margin(backend: str, view: type) -> None:
    X, y = two_classes()
    solution = solve(view(X, y, 1.0), CvxpyQP(backend, tol=1e-9), target_gap=1e-5)
    assert solution.verdict == "solved"
    assert solution.claimed == "optimal"


def test_cvxopt_is_called_with_other_factors_where_the_first_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    solve_problem = cp.Problem.solve

    def fail_without_ldl(problem: Any, **options: Any) -> Any:
        if "kktsolver" not in options:
            raise cp.SolverError("Cholesky factors are singular")
        return solve_problem(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", fail_without_ldl)
    X, y = two_classes()
    assert solve(SoftMarginPrimal(X, y, 1.0), CvxpyQP("CVXOPT", tol=1e-8)).verdict == "solved"


def test_a_missing_back_end_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CvxpyQP, "backends", staticmethod(tuple[str, ...]))
    solution = solve(SoftMarginDual(*two_classes()), CvxpyQP("PIQP"))
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install piqp" in solution.note


def test_a_missing_cvxpy_is_named_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    solution = solve(SoftMarginDual(*two_classes()), CvxpyQP())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install cvxpy" in solution.note
