"""qpsolvers and its back ends."""

import importlib.util

import numpy as np
import pytest
from tests.solvers.external.baseline_problems import KERNEL, QUADRATIC

from dualgap.problems import ConvexQP, Formulation, HardMarginDual, HardMarginPrimal
from dualgap.solvers import QPSolversQP, Status, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("qpsolvers") is None, reason="qpsolvers is not installed"
)


BACKENDS = {
    "clarabel": "clarabel",
    "highs": "highspy",
    "osqp": "osqp",
    "piqp": "piqp",
    "proxqp": "proxsuite",
    "quadprog": "quadprog",
    "scs": "scs",
}


@pytest.mark.parametrize("problem", QUADRATIC.values(), ids=QUADRATIC)
@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_back_end_solves_every_quadratic_program(problem: Formulation, backend: str) -> None:
    solution = solve(problem, QPSolversQP(backend, tol=1e-8))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.verdict != "wrong"
    # their own limits on iterations end some runs of the first two, and HiGHS can cycle
    assert solution.claimed == "optimal" or backend in ("osqp", "scs", "highs")
    if solution.claimed == "optimal":
        assert solution.certificate.relative_gap <= 2e-6


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_multipliers_of_the_margins_are_the_dual_variables(backend: str) -> None:
    solution = solve(QUADRATIC["primal without intercept"], QPSolversQP(backend))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    X, Y, point = solution.problem.X, solution.problem.y, solution.point
    assert solution.certificate.primal_residual <= 1e-5
    assert np.allclose(X.T @ (Y * point.alpha), point.w, atol=1e-5)


@NEEDED
@pytest.mark.parametrize("backend", ["clarabel", "osqp", "scs"])
def test_an_infeasible_hard_margin_is_claimed_and_proven(backend: str) -> None:
    for formulation in (HardMarginPrimal, HardMarginDual):
        dual = KERNEL["linear"]
        solution = solve(formulation(dual.X, dual.y), QPSolversQP(backend))
        if solution.status is Status.NOT_INSTALLED:
            pytest.skip(solution.note)
        assert solution.claimed == "infeasible"
        assert solution.status is Status.INFEASIBLE


@NEEDED
@pytest.mark.parametrize("backend", ["clarabel", "osqp", "piqp", "proxqp", "scs"])
def test_back_ends_stop_at_max_iter(backend: str) -> None:
    solution = solve(QUADRATIC["dual"], QPSolversQP(backend, tol=1e-10), max_iter=2)
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == 2


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_missing_back_end_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("qpsolvers"), "available_solvers", ["other"])
    solution = solve(QUADRATIC["dual"], QPSolversQP(backend))
    assert solution.status is Status.NOT_INSTALLED
    assert f"pip install qpsolvers {BACKENDS[backend]}" in solution.note


@NEEDED
def test_quadprog_refuses_an_iteration_limit_and_a_linear_program() -> None:
    limited = solve(QUADRATIC["dual"], QPSolversQP("quadprog"), max_iter=2)
    assert limited.status is Status.UNSUPPORTED
    assert "has no limit on its iterations" in limited.note
    linear = solve(ConvexQP(q=[1.0], lb=0), QPSolversQP("quadprog"))
    assert linear.status is Status.UNSUPPORTED
    assert "P ≠ 0 with quadprog" in linear.note
