"""qpsolvers and its back ends."""

import importlib.util
import sys
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy
from tests.solvers.external.baseline_problems import KERNEL, QUADRATIC, solve_installed

from dualgap.problems import (
    ConvexQP,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    QPPoint,
    certify,
)
from dualgap.solvers import CvxpyQP, QPSolversQP, Status, solve
from dualgap.solvers.external import qpsolvers_qp
from dualgap.solvers.external.qpsolvers_qp import (
    mosek_parameters,
    proxqp_at_finer_infeasibility,
)
from dualgap.solvers.external.quadprog_steps import loosened
from dualgap.solvers.numerics import backends

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("qpsolvers") is None, reason="qpsolvers is not installed"
)


BACKENDS = {
    "clarabel": "clarabel",
    "daqp": "daqp",
    "ecos": "ecos",
    "highs": "highspy",
    "osqp": "osqp",
    "piqp": "piqp",
    "proxqp": "proxsuite",
    "qpalm": "qpalm",
    "quadprog": "quadprog",
    "scs": "scs",
}


@pytest.mark.parametrize("problem", QUADRATIC.values(), ids=QUADRATIC)
@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_back_end_solves_every_quadratic_program(problem: Formulation, backend: str) -> None:
    solution = solve_installed(problem, QPSolversQP(backend, tol=1e-8))
    assert solution.verdict != "wrong"
    # their own limits on iterations end some runs of the first two, and HiGHS can cycle
    assert solution.claimed == "optimal" or backend in ("osqp", "scs", "highs")
    if solution.claimed == "optimal":  # ECOS resolves the square root of the objective
        assert solution.certificate.relative_gap <= (1e-4 if backend == "ecos" else 2e-6)


@NEEDED
@pytest.mark.parametrize("backend", BACKENDS)
def test_multipliers_of_the_margins_are_the_dual_variables(backend: str) -> None:
    solution = solve_installed(QUADRATIC["primal without intercept"], QPSolversQP(backend))
    X, Y, point = solution.problem.X, solution.problem.y, solution.point
    assert solution.certificate.primal_residual <= 1e-5
    assert np.allclose(X.T @ (Y * point.alpha), point.w, atol=1e-5)


@NEEDED
@pytest.mark.parametrize("backend", ["clarabel", "osqp", "qpalm", "scs"])
def test_an_infeasible_hard_margin_is_claimed_and_proven(backend: str) -> None:
    for formulation in (HardMarginPrimal, HardMarginDual):
        dual = KERNEL["linear"]
        solution = solve_installed(formulation(dual.X, dual.y), QPSolversQP(backend))
        assert solution.claimed == "infeasible"
        assert solution.status is Status.INFEASIBLE


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
    assert "P ≠ 0 with ECOS and quadprog" in linear.note


@NEEDED
@pytest.mark.parametrize("backend", ["gurobi", "mosek"])
def test_a_missing_licence_is_named(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no file gurobi.lic or mosek.lic")

    package = {"gurobi": "gurobipy", "mosek": "mosek"}[backend]
    monkeypatch.setitem(sys.modules, package, SimpleNamespace(Env=refuse))
    monkeypatch.setattr(importlib.import_module("qpsolvers"), "available_solvers", [backend])
    solution = solve(QUADRATIC["dual"], QPSolversQP(backend))
    assert solution.status is Status.NOT_INSTALLED
    assert solution.note == f"{backend} has no valid licence: no file gurobi.lic or mosek.lic"


def test_options_of_mosek_are_its_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"dparam": SimpleNamespace(tol="dparam.tol"), "iparam": SimpleNamespace(n="iparam.n")}
    monkeypatch.setitem(sys.modules, "mosek", SimpleNamespace(**kinds))
    assert mosek_parameters({"tol": 1e-8, "n": 1}) == {"dparam.tol": 1e-8, "iparam.n": 1}


EPS = {"eps_abs": 1e-9, "eps_rel": 0.0}
GAP = {"eps_duality_gap_abs": 1e-9, "eps_duality_gap_rel": 0.0}
HIGH_ACCURACY = {  # of qpbenchmark 2.5: solver_settings.py and test_set.py
    "clarabel": {"tol_feas": 1e-9, "tol_gap_abs": 1e-9, "tol_gap_rel": 0.0},
    "daqp": {"primal_tol": 1e-9, "dual_tol": 1e-9},
    "ecos": {"feastol": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9},
    "highs": {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    "osqp": EPS,
    "piqp": EPS | GAP,
    "proxqp": EPS | GAP | {"check_duality_gap": True},
    "qpalm": EPS,
    "quadprog": {},
    "scs": EPS,
}


@NEEDED
@pytest.mark.parametrize("backend", HIGH_ACCURACY)
def test_settings_give_the_tolerances_of_qpbenchmark(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    qpsolvers, calls = importlib.import_module("qpsolvers"), []
    # that are set without `settings` too
    others = ("initvals", "verbose", "max_iter", "max_iters", "qp_iteration_limit", "Threads")

    def call(problem: object, **options: object) -> object:
        calls.append({name: value for name, value in options.items() if name not in others})
        return qpsolvers.Solution(problem, found=False)

    monkeypatch.setitem(qpsolvers.solvers.solve_function, backend, call)
    monkeypatch.setattr(qpsolvers, "available_solvers", [backend])
    monkeypatch.setitem(sys.modules, "gurobipy", SimpleNamespace(Env=dict))
    monkeypatch.setattr(qpsolvers_qp, "proxqp_at_finer_infeasibility", lambda _, answer, __: answer)
    for settings in ("high_accuracy", "low_accuracy", "default"):
        solve(QUADRATIC["dual"], QPSolversQP(backend, settings=settings))
    high, low, default = calls[:: len(calls) // 3]
    assert high == HIGH_ACCURACY[backend]
    assert low == {name: 1e-3 if value == 1e-9 else value for name, value in high.items()}
    assert default == {}


def test_settings_are_a_known_name_and_replace_the_tolerance() -> None:
    names = "default, low_accuracy, mid_accuracy, high_accuracy"
    with pytest.raises(ValueError, match=f"settings: must be one of {names}, got 'exact'"):
        QPSolversQP(settings="exact")
    with pytest.raises(ValueError, match="settings: default states the tolerances; leave out tol"):
        QPSolversQP(settings="default", tol=1e-6)


@NEEDED
def test_a_qp_above_the_target_is_not_advised_to_scale_features_nor_settings_to_set_tol() -> None:
    problem = ConvexQP(np.diag([1.0, 2.0, 3.0]), -np.ones(3), np.ones((1, 3)), [1.0], lb=0)
    solution = solve(problem, QPSolversQP("clarabel", settings="low_accuracy"), target_gap=1e-15)
    assert solution.reason.endswith(
        "; choose another solver or other settings of it, or raise target_gap."
    )


@NEEDED
@pytest.mark.parametrize("bounds", [{}, {"lb": [-1.0, -np.inf, 0.0]}, {"lb": 0.0, "ub": [1, 9, 9]}])
def test_conditions_of_optimality_are_those_of_qpsolvers(bounds: dict[str, object]) -> None:
    rng, qpsolvers = np.random.default_rng(1), importlib.import_module("qpsolvers")
    F, G, A = (rng.standard_normal(shape) for shape in ((3, 3), (2, 3), (1, 3)))
    q, h, b, x, z, y = (rng.standard_normal(size) for size in (3, 2, 1, 3, 2, 1))
    problem = ConvexQP(F.T @ F, q, G, h, A, b, **bounds)
    c: Any = certify(problem, QPPoint(x, z, y))
    dense = {name: getattr(problem, name).toarray() for name in "PGA"}
    limits = (problem.lb, problem.ub) if bounds else (None, None)
    posed = qpsolvers.Problem(dense["P"], q, dense["G"], h, dense["A"], b, *limits)
    r = dense["P"] @ x + q + G.T @ z + A.T @ y
    free = np.where(r > 0, np.isneginf(problem.lb), np.isposinf(problem.ub))
    answer = qpsolvers.Solution(posed, found=True, x=x, y=y, z=z, z_box=np.where(free, 0.0, -r))
    assert c.primal_residual == pytest.approx(answer.primal_residual())
    assert c.dual_residual == pytest.approx(answer.dual_residual())
    assert c.duality_gap == pytest.approx(answer.duality_gap())
    c = certify(problem, x)
    assert np.isnan(c.duality_gap)


@NEEDED
def test_ecos_takes_infinite_bounds_and_claims_what_its_status_says() -> None:
    half_line = ConvexQP(np.eye(2), [-1.0, 1.0], [[1.0, 1.0]], [0.5], lb=[0, -np.inf], ub=[1, 2])
    infeasible = replace(half_line, A=[[1.0, 0.0]], b_eq=[2.0])
    unbounded = ConvexQP(P=np.diag([1.0, 0.0]), q=[0.0, -1.0], lb=0)
    for problem, claim in (
        (half_line, "optimal"),
        (infeasible, "infeasible"),
        (unbounded, "unbounded"),
    ):
        solution = solve_installed(problem, QPSolversQP("ecos", tol=1e-8))
        assert solution.claimed == claim
        assert solution.verdict == ("solved" if claim == "optimal" else "infeasible")


def test_proxqp_is_asked_again_about_a_feasible_problem_that_it_calls_infeasible() -> None:
    qpsolvers = pytest.importorskip("qpsolvers", reason="qpsolvers is not installed")
    pytest.importorskip("proxsuite", reason="ProxQP is not installed")
    options = {"eps_abs": 1e-9, "eps_rel": 0.0}
    for (limit, x), box in product(((300.0, 1.0), (-300.0, None)), ({"lb": np.zeros(1)}, {})):
        G, h = np.array([[0.01], [100.0], [-1.0]]), np.array([0.01, limit, 0.0])
        for matrix in (np.asarray, scipy.sparse.csc_matrix):
            P = matrix(1e-3 * np.eye(1))
            problem = qpsolvers.Problem(P, -np.ones(1), matrix(G), h, **box)
            answer = qpsolvers.solve_problem(problem, "proxqp", **options)
            assert not answer.found
            again = proxqp_at_finer_infeasibility(problem, answer, options)
            assert again is answer if x is None else again.x == pytest.approx([x])
            assert x is None or again.z == pytest.approx([99.9, 0.0, 0.0])


@pytest.mark.parametrize(("limit", "claim"), [(300.0, "optimal"), (-300.0, "infeasible")])
def test_cvxpy_asks_proxqp_again_with_settings_that_it_does_not_pass(
    limit: float, claim: str
) -> None:
    pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    pytest.importorskip("proxsuite", reason="ProxQP is not installed")
    problem = ConvexQP(1e-3 * np.eye(1), -np.ones(1), [[0.01], [100.0]], [0.01, limit], lb=0)
    solution = solve(problem, CvxpyQP("PROXQP", tol=1e-9))
    assert solution.claimed == claim
    assert solution.verdict == ("solved" if claim == "optimal" else "infeasible")


def test_proxqp_ends_at_a_relative_gap_where_the_optimum_is_far_below_one() -> None:
    pytest.importorskip("qpsolvers", reason="qpsolvers is not installed")
    P, G = np.diag([0.02, 2.0]), np.array([[-10.0, 1.0]])  # HS21, whose scaled optimum is 8e-5
    problem = ConvexQP(P, np.zeros(2), G, [-10.0], lb=[2.0, -50.0], ub=[50.0, 50.0])
    for solver in (QPSolversQP("proxqp", tol=1e-9), CvxpyQP("PROXQP", tol=1e-9)):
        solution = solve(problem, solver)
        assert solution.status is Status.NOT_INSTALLED or solution.certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("has_hipo", [False, True])
def test_highs_is_called_by_other_methods_and_at_its_own_tolerance_where_it_fails(
    has_hipo: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    qpsolvers, calls = pytest.importorskip("qpsolvers"), list[tuple[float, str, float]]()

    def call(problem: object, **options: Any) -> object:
        ridge, method = options.get("qp_regularization_value", 1e-7), options.get("solver", "")
        calls.append((options["dual_feasibility_tolerance"], method, ridge))
        answer = qpsolvers.Solution(problem, found=calls[-1][::2] == (1e-7, 0.0))
        answer.x = np.ones(1)
        return answer

    monkeypatch.setattr(backends, "is_installed", lambda module: has_hipo or not module)
    monkeypatch.setitem(qpsolvers.solvers.solve_function, "highs", call)
    monkeypatch.setattr(qpsolvers, "available_solvers", ["highs"])
    solution = solve(ConvexQP(np.eye(1), -np.ones(1)), QPSolversQP("highs", tol=1e-9))
    methods = [("hipo", 1e-7)] * has_hipo + [("", 1e-7), ("", 0.0)]
    assert calls == [(tol, *method) for tol in (1e-9, 1e-7) for method in methods]
    assert solution.verdict == "solved"
    assert (solution.claimed, solution.note) == (
        "stopped",
        "highs failed at tol = 1e-09 and reached 1e-07",
    )


@pytest.mark.parametrize(
    ("backend", "names", "expected"),
    [
        (
            "osqp",
            ("max_iter", "adaptive_rho", "adaptive_rho_interval"),
            [(20_000, 3, None), (150_000, 1, 2_000), (1_000_000, 1, 10_000)],
        ),
        ("scs", ("max_iters", "acceleration_lookback"), [(50_000, None), (1_000_000, 0)]),
    ],
)
def test_splitting_methods_are_called_again_with_other_steps_within_the_iterations_asked_for(
    backend: str,
    names: tuple[str, ...],
    expected: list[tuple[int | None, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    qpsolvers, calls = pytest.importorskip("qpsolvers"), list[tuple[Any, ...]]()

    def call(problem: object, **options: Any) -> object:
        calls.append(tuple(options.get(name) for name in names))
        return qpsolvers.Solution(problem, found=False)

    monkeypatch.setitem(qpsolvers.solvers.solve_function, backend, call)
    monkeypatch.setattr(qpsolvers, "available_solvers", [backend])
    for max_iter in (None, 60_000, 7):
        solve(ConvexQP(np.eye(1), -np.ones(1)), QPSolversQP(backend, max_iter=max_iter))
    limits = (1_000_000, 60_000, 7)
    assert calls == [(min(m or 0, limit), *rest) for limit in limits for m, *rest in expected]


def test_another_call_follows_one_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    qpsolvers, n_calls = pytest.importorskip("qpsolvers"), 0

    def call(problem: object, **_: Any) -> object:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            raise RuntimeError("singular")
        answer = qpsolvers.Solution(problem, found=True)
        answer.x = np.ones(1)
        return answer

    monkeypatch.setattr(backends, "is_installed", lambda module: not module)
    monkeypatch.setitem(qpsolvers.solvers.solve_function, "highs", call)
    monkeypatch.setattr(qpsolvers, "available_solvers", ["highs"])
    solution = solve(ConvexQP(np.eye(1), -np.ones(1)), QPSolversQP("highs"))
    assert (solution.verdict, solution.claimed) == ("solved", "optimal")


def test_quadprog_steps_until_its_ridge_no_longer_matters() -> None:
    pytest.importorskip("quadprog", reason="quadprog is not installed")
    # the curvature along (1, -1) is 1e-8, less than the ridge
    P = 0.5 * np.array([[1.0, 1.0], [1.0, 1.0]]) + 0.5e-8 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    problem = ConvexQP(P, [-1e-8, 1e-8], lb=-10.0, ub=10.0)
    assert solve(problem, QPSolversQP("quadprog")).certificate.relative_gap <= 1e-6


def test_quadprog_finds_a_point_of_rows_that_follow_from_others_but_for_rounding() -> None:
    qpsolvers = pytest.importorskip("qpsolvers", reason="qpsolvers is not installed")
    pytest.importorskip("quadprog", reason="quadprog is not installed")
    G = [[9.0, 9, 9, -2], [-9, -4, 0, -8], [4, 0, 9, -4], [0, 1, -7, 10], [-8, 10, -2, 6]]
    G, x = np.array([*G, [5, -6, 4, 8]]) / 10, np.array([0.3, 0.7, 0.0, 0.1])
    # with these digits quadprog 0.1.14 calls the constraints inconsistent
    q = [-1.0259089414044233, -0.8384291029351314, -0.856230059492936, 0.24450797599447816]
    P = np.diag([0.7, 0.4, 0.4, 0.7])
    problem = loosened(qpsolvers.Problem(P, np.array(q), G, G @ x, lb=np.zeros(4)))
    assert np.allclose(qpsolvers.solve_problem(problem, "quadprog").x, x, atol=1e-7)
