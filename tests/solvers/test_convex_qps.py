"""Every back end on convex QPs that are not of samples, certified from its own multipliers."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from tests.halves import quick_cases
from tests.solvers.external.baseline_problems import solve_installed

from dualgap.problems import QP, ConvexQP, QPPoint, certify, reduce
from dualgap.solvers import Status, solve
from dualgap.solvers.cvxopt_qp import CvxoptQP
from dualgap.solvers.cvxpy_qp import CvxpyQP
from dualgap.solvers.external.qpsolvers_qp import QPSolversQP
from dualgap.solvers.running.modelled import certify_cvxpy

PROBLEM = ConvexQP(
    P=[[2.0, 0.5], [0.5, 1.0]],
    q=[1.0, 1.0],
    G=[[1.0, -1.0]],
    h=[0.5],
    A=[[1.0, 1.0]],
    b_eq=[1.0],
    lb=0,
)


def qp_solvers():
    yield CvxoptQP()
    names = [name for name in CvxpyQP.backends() if name != "HIGHS"]
    yield from (CvxpyQP(backend=name, tol=1e-8) for name in names)
    names = ("clarabel", "daqp", "ecos", "highs", "osqp", "piqp", "qpalm", "scs")
    yield from (QPSolversQP(backend=name) for name in names)


@pytest.mark.parametrize("solver", list(qp_solvers()), ids=repr)
def test_each_back_end_is_certified_from_its_multipliers(solver):
    answer = solve_installed(PROBLEM, solver)
    assert answer.verdict == "solved"
    assert np.allclose(answer.certificate.point.x, [0.25, 0.75], atol=1e-4)
    assert answer.point.z.shape == answer.point.y.shape == (1,)


def test_the_default_solver_solves_a_convex_qp():
    assert solve(PROBLEM).verdict == "solved"


def test_cvxopt_solves_a_qp_of_equations_with_a_singular_P():
    # (4x₁ − x₂)² + (x₂ + x₃ − 2)² + (x₄ − 1)² + (x₅ − 1)², problem 52 of Hock & Schittkowski 1981
    F = np.array([[4.0, -1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]])
    A = [[1.0, 3, 0, 0, 0], [0, 0, 1, 1, -2], [0, 1, 0, 0, -1]]
    problem = ConvexQP(2 * F.T @ F, -2 * F.T @ [0.0, 2, 1, 1], A=A, b_eq=np.zeros(3))
    answer = solve(problem, CvxoptQP())
    assert answer.verdict == "solved"
    assert answer.objective == pytest.approx(1859 / 349 - 6)


def test_equations_that_follow_from_others_are_not_posed():
    problem = replace(PROBLEM, A=[[1.0, 1.0], [3.0, 3.0], [0.0, 0.0]], b_eq=[1.0, 3.0, 0.0])
    assert reduce(problem, QP).form.A.shape == (1, 2)
    answer = solve(problem, CvxoptQP())
    assert answer.verdict == "solved"
    assert np.count_nonzero(answer.point.y) == 1
    contradictory = replace(problem, b_eq=[1.0, 4.0, 0.0])
    assert reduce(contradictory, QP).form.A.shape == (2, 2)
    assert solve(contradictory, CvxoptQP()).verdict == "infeasible"


def test_the_tolerance_of_proxqp_is_one_of_the_duality_gap_too():
    P, G = [[8.0, 2.0], [2.0, 10.0]], [[-2.0, -1.0], [-1.0, 2.0]]
    answer = solve_installed(
        ConvexQP(P, [1.5, -2.0], G, [-2.0, 6.0], lb=0.0), QPSolversQP("proxqp", tol=1e-9)
    )
    assert answer.certificate.relative_gap < 1e-8


def test_infeasible_and_unbounded_problems_end_with_a_proof():
    infeasible = ConvexQP(P=np.eye(2), A=[[1.0, 1.0]], b_eq=[3.0], lb=0, ub=1)
    unbounded = ConvexQP(P=np.diag([1.0, 0.0]), q=[0.0, -1.0], lb=0)
    for problem, objective in ((infeasible, np.inf), (unbounded, -np.inf)):
        answer = solve(problem, CvxoptQP())
        assert (answer.verdict, answer.status) == ("infeasible", Status.INFEASIBLE)
        assert answer.objective == objective


def test_a_back_end_receives_the_time_limit(monkeypatch):
    qpsolvers, limits = pytest.importorskip("qpsolvers", reason="qpsolvers is not installed"), []
    functions = qpsolvers.solvers.solve_function
    for backend in ("clarabel", "daqp", "qpalm", "ecos", "piqp"):

        def call(problem, original=functions[backend], **options):
            limits.append(options.get("time_limit"))
            return original(problem, **options)

        monkeypatch.setitem(functions, backend, call)
        solve(PROBLEM, QPSolversQP(backend=backend), time_limit=60)
    assert limits == [60, 60, 60, None, None]  # ECOS and PIQP have none


def test_a_cvxpy_problem_is_certified_from_the_values_of_its_variables():
    x, A = cp.Variable(3), np.random.default_rng(0).standard_normal((5, 3))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - 1) + cp.norm1(x)), [cp.sum(x) == 0.5])
    with pytest.raises(ValueError, match=r"has no value; call problem.solve\(\) first"):
        certify_cvxpy(problem)
    problem.solve(solver=cp.CLARABEL)
    c = certify_cvxpy(problem)
    assert c.relative_gap < 1e-5
    assert c.dual_objective - 1e-6 <= problem.value <= c.primal_objective + 1e-6
    x.value = x.value + np.array([0.1, -0.1, 0.0])
    assert certify_cvxpy(problem).relative_gap > 1e-4


def test_a_cvxpy_problem_that_is_not_a_qp_is_refused():
    x = cp.Variable()
    x.value = 0.0
    with pytest.raises(ValueError, match="problem: must be a QP, and CVXPY reports"):
        certify_cvxpy(cp.Problem(cp.Minimize(cp.exp(x))))


@pytest.mark.parametrize("declared", [{"nonneg": True}, {"bounds": [0, 1]}])
def test_values_of_cvxpy_variables_with_attributes_are_certified(declared):
    x = cp.Variable(3, **declared)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 2)), [cp.sum(x) == 1.5])
    x.value = np.array([1.0, 0.5, 0.0])
    assert certify_cvxpy(problem).relative_gap > 1e-2
    x.value = np.full(3, 0.5)
    assert certify_cvxpy(problem).relative_gap < 1e-5


def test_a_cvxpy_variable_with_reduced_storage_is_refused_by_name():
    S = cp.Variable((2, 2), symmetric=True, name="S")
    S.value = np.eye(2)
    with pytest.raises(ValueError, match="replaces S by other variables"):
        certify_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(S - 1))))


def test_a_cvxpy_problem_without_an_optimum_is_certified():
    x = cp.Variable(2)
    infeasible = cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1, cp.sum(x) <= 1])
    unbounded = cp.Problem(cp.Minimize(cp.sum(x)), [x <= 1])
    for problem, value in ((infeasible, np.inf), (unbounded, -np.inf)):
        problem.solve(solver=cp.CLARABEL)
        c = certify_cvxpy(problem)
        assert c.infeasible
        assert c.primal_objective == value


def test_a_claim_of_unboundedness_is_refuted_by_a_lower_bound():
    # of rank 2 but for rounding, which makes the stored matrix indefinite
    F = np.array([[1.0, 2.0, 3.0], [0.1, 0.7, 0.2]])
    unbounded, bounded = ConvexQP(F.T @ F, [-1.0, 0.0, 0.0]), ConvexQP(np.eye(1), [1.0])
    limits = solve(unbounded, QPSolversQP(backend="osqp", tol=1e-6))
    assert (limits.claimed, limits.verdict) == ("unbounded", "uncertified")
    assert replace(limits, problem=bounded, point=QPPoint(np.array([-1.0]))).verdict == "wrong"


BACKENDS = ["clarabel", "daqp", "osqp", "qpalm", "scs"]


@pytest.mark.parametrize("backend", quick_cases(BACKENDS, ["clarabel", "daqp", "scs"]))
def test_an_exception_of_a_back_end_is_a_row_with_its_message(backend):
    line = ConvexQP(P=np.outer([5, -1, 2.0], [5, -1, 2.0]), q=[-1.0, -2.0, 0.0])
    bent = ConvexQP(P=[[0.0, -1.0], [-1.0, 0.0]], lb=0, ub=1)
    assert solve(line, QPSolversQP(backend=backend)).verdict == "infeasible"
    answer = solve(bent, QPSolversQP(backend=backend))
    assert answer.verdict == "uncertified"
    assert answer.reason


def test_a_problem_without_constraints_is_a_row_of_every_back_end_of_cvxpy():
    answer = solve(ConvexQP(P=[[2.0, 0.5], [0.5, 1.0]], q=[1.0, 1.0]), CvxpyQP("SCS", tol=1e-6))
    assert answer.verdict == "solved" or "gave no answer" in answer.reason


def test_a_tolerance_at_which_cvxopt_fails_is_relaxed():
    rng = np.random.default_rng(0)
    F, A = rng.standard_normal((6, 6)), rng.standard_normal((2, 6))
    problem = ConvexQP(F.T @ F, rng.standard_normal(6), A=A, b_eq=A @ np.ones(6), lb=0, ub=3)
    answer = solve(problem, CvxpyQP("CVXOPT", tol=1e-14))
    assert (answer.verdict, answer.claimed) == ("solved", "stopped")
    assert "failed at tol = 1e-14 and reached" in answer.note


def test_an_infinite_side_is_a_row_without_a_constraint():
    problem = ConvexQP(np.eye(2), [-1.0, -1.0], [[1.0, 1.0], [1.0, 0.0]], [np.inf, 0.5])
    answer = solve(problem)
    assert answer.verdict == "solved"
    assert np.allclose(answer.certificate.point.x, [0.5, 1.0], atol=1e-6)
    assert answer.certificate.point.z.shape == (2,)
    assert certify(problem, [0.5, 1.0]).relative_gap < 1e-6
    with pytest.raises(ValueError, match="h: entry 0 is -inf"):
        ConvexQP(q=[1.0], G=[[1.0]], h=[-np.inf])


def test_an_answer_within_a_backward_error_is_solved_unless_none_is_allowed():
    # 0.1·3 is not 0.3 in float64: both equations hold but for rounding
    problem = ConvexQP(np.eye(1), A=[[0.1], [1.0]], b_eq=[0.1 * 3, 3.0])
    solver = QPSolversQP(backend="clarabel")
    answer, strict = solve(problem, solver), solve(problem, solver, backward_error=0.0)
    assert answer.verdict == "solved"
    assert answer.objective == pytest.approx(4.5)
    assert strict.verdict in ("infeasible", "uncertified")
    assert "within a backward error of" in answer.reason
    assert replace(answer, claimed="infeasible").verdict == strict.verdict
