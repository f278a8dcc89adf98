"""CVXPY's back ends: each solves, and one that is missing is named."""

import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackError
from tests.small_problems import two_classes

from dualgap.problems import ConvexQP, SoftMarginDual, SoftMarginPrimal
from dualgap.solvers import CvxpyQP, Status, solve
from dualgap.solvers.numerics import backends

VIEWS = [SoftMarginDual, SoftMarginPrimal]


@pytest.mark.parametrize("backend", CvxpyQP.backends())
@pytest.mark.parametrize("view", VIEWS)
def test_every_back_end_solves_a_soft_margin(backend: str, view: type) -> None:
    X, y = two_classes()
    solution = solve(view(X, y, 1.0), CvxpyQP(backend, tol=1e-9), target_gap=1e-5)
    assert solution.verdict == "solved"
    assert solution.claimed == "optimal"


# ARPACK's error comes from CVXPY's search for dependent rows, ValueError from a status unknown to it
@pytest.mark.parametrize("error", ["SolverError", "ValueError", "ArpackError"])
def test_cvxopt_is_called_with_other_factors_where_the_first_fail(
    error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    errors = {"SolverError": cp.SolverError, "ValueError": ValueError, "ArpackError": ArpackError}
    solve_problem = cp.Problem.solve

    def fail_without_ldl(problem: Any, **options: Any) -> Any:
        if "kktsolver" not in options:
            raise errors[error](-1)
        return solve_problem(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", fail_without_ldl)
    X, y = two_classes()
    solution = solve(SoftMarginPrimal(X, y, 1.0), CvxpyQP("CVXOPT", tol=1e-8))
    assert (solution.verdict, solution.claimed) == ("solved", "optimal")


def test_highs_is_called_again_where_it_stops_without_an_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    pytest.importorskip("highspy", reason="HiGHS is not installed")
    solve_problem, ridges = cp.Problem.solve, list[float]()

    def stop_at_once(problem: Any, highs_options: dict[str, Any], **others: Any) -> Any:
        ridges.append(highs_options.get("qp_regularization_value", 1e-7))
        limit = {"qp_iteration_limit": 0} if len(ridges) == 1 else {}
        return solve_problem(problem, highs_options=highs_options | limit, **others)

    monkeypatch.setattr(backends, "is_installed", lambda module: not module)
    monkeypatch.setattr(cp.Problem, "solve", stop_at_once)
    problem = ConvexQP(np.eye(2), A=[[1.0, 1.0]], b_eq=[1.0], lb=0)
    solution = solve(problem, CvxpyQP("HIGHS"))
    assert ridges == [1e-7, 0.0]
    assert (solution.verdict, solution.claimed) == ("solved", "optimal")


def test_osqp_is_called_again_with_rarer_changes_of_rho_where_it_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    pytest.importorskip("osqp", reason="OSQP is not installed")
    solve_problem, calls = cp.Problem.solve, list[tuple[int, int]]()

    def stop_at_once(problem: Any, **options: Any) -> Any:
        calls.append((options["max_iter"], options["adaptive_rho"]))
        return solve_problem(problem, **options | ({"max_iter": 1} if len(calls) == 1 else {}))

    monkeypatch.setattr(cp.Problem, "solve", stop_at_once)
    X, y = two_classes()
    solution = solve(SoftMarginPrimal(X, y, 1.0), CvxpyQP("OSQP", tol=1e-8))
    assert calls == [(20_000, 3), (150_000, 1)]
    assert (solution.verdict, solution.claimed) == ("solved", "optimal")


def test_at_a_larger_tolerance_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    solve_problem = cp.Problem.solve

    def fail_at_small_tolerances(problem: Any, **options: Any) -> Any:
        if options["feastol"] < 1e-6:
            raise cp.SolverError
        return solve_problem(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", fail_at_small_tolerances)
    infeasible = ConvexQP(np.eye(2), A=[[1.0, 1.0]], b_eq=[3.0], lb=0, ub=1)
    solution = solve(infeasible, CvxpyQP("CVXOPT", tol=1e-8))
    assert solution.claimed == "stopped"
    assert solution.note == "CVXOPT failed at tol = 1e-08 and reached 1e-06"


@pytest.mark.parametrize("claim", ["infeasible", "unbounded"])
def test_cvxopt_is_not_believed_with_factors_that_may_lose_rows(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cp = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    solve_problem = cp.Problem.solve

    def claim_without_ldl(problem: Any, **options: Any) -> Any:
        value = solve_problem(problem, **options)
        if "kktsolver" not in options:
            problem._status = claim
        return value

    monkeypatch.setattr(cp.Problem, "solve", claim_without_ldl)
    X, y = two_classes()
    solution = solve(SoftMarginPrimal(X, y, 1.0), CvxpyQP("CVXOPT", tol=1e-8))
    assert (solution.verdict, solution.claimed) == ("solved", "optimal")


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
