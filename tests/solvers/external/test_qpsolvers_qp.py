"""qpsolvers and its back ends."""

import importlib.util
import sys
from collections.abc import Callable

import numpy as np
import pytest

from problems import Formulation, HardMarginDual, HardMarginPrimal, Sigmoid, SoftMarginDual
from solvers import QPSolversQP, Solver, Status, solve

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


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_back_end_solves_every_quadratic_program(program: Formulation, backend: str) -> None:
    solution = solve(program, QPSolversQP(backend, tol=1e-8))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.verdict != "wrong"
    # their own limits on iterations end some runs of the first two, and HiGHS can cycle
    assert solution.claimed == "optimal" or backend in ("osqp", "scs", "highs")
    if solution.claimed == "optimal":
        assert solution.certificate.relative_gap <= 2e-6


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_multipliers_of_the_margins_are_the_dual_variables(
    quadratic: dict[str, Formulation], backend: str
) -> None:
    solution = solve(quadratic["primal without intercept"], QPSolversQP(backend))
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    X, Y, point = solution.problem.X, solution.problem.y, solution.point
    assert solution.certificate.primal_residual <= 1e-5
    assert np.allclose(X.T @ (Y * point.alpha), point.w, atol=1e-5)


@NEEDED
@pytest.mark.parametrize("backend", ["clarabel", "osqp", "scs"])
def test_an_infeasible_hard_margin_is_claimed_and_proven(
    kernel: dict[str, Formulation], backend: str
) -> None:
    for formulation in (HardMarginPrimal, HardMarginDual):
        dual = kernel["linear"]
        solution = solve(formulation(dual.X, dual.y), QPSolversQP(backend))
        if solution.status is Status.NOT_INSTALLED:
            pytest.skip(solution.note)
        assert solution.claimed == "infeasible"
        assert solution.status is Status.INFEASIBLE


@NEEDED
@pytest.mark.parametrize("backend", ["clarabel", "osqp", "piqp", "proxqp", "scs"])
def test_back_ends_stop_at_max_iter(quadratic: dict[str, Formulation], backend: str) -> None:
    solution = solve(quadratic["dual"], QPSolversQP(backend, tol=1e-10), max_iter=2)
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == 2


def test_unknown_back_ends_are_refused_with_the_valid_ones() -> None:
    with pytest.raises(ValueError, match=r"clarabel, highs, osqp, .* got 'gurobi'"):
        QPSolversQP("gurobi")


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_missing_back_end_is_named(
    quadratic: dict[str, Formulation], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("qpsolvers"), "available_solvers", ["other"])
    solution = solve(quadratic["dual"], QPSolversQP(backend))
    assert solution.status is Status.NOT_INSTALLED
    assert f"pip install qpsolvers {BACKENDS[backend]}" in solution.note


def test_what_qpsolvers_cannot_do_is_refused(
    kernel: dict[str, Formulation], refused: Callable[[Solver, Formulation], str]
) -> None:
    X, y = kernel["linear"].X, kernel["linear"].y
    sigmoid = SoftMarginDual(X, y, 1.0, Sigmoid(0.5, -1.0))
    assert "indefinite" in refused(QPSolversQP(), sigmoid)
    limited = QPSolversQP("quadprog", max_iter=5)
    assert "no limit on its iterations" in refused(limited, kernel["linear"])


def test_an_absent_package_is_named(
    kernel: dict[str, Formulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qpsolvers", None)
    solution = solve(kernel["linear"], QPSolversQP())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install qpsolvers clarabel" in solution.note
