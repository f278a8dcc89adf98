"""Units of a QP's cost, rows and variables: every back end answers alike in all of them."""

import numpy as np
import pytest

from solvers import Status, solve
from solvers.cvxopt_qp import CvxoptQP
from solvers.cvxpy_qp import CvxpyQP
from solvers.external.qpsolvers_qp import QPSolversQP
from tests.problems.convex_qps import drawn, in_other_units, problem_of

FIRST_ORDER = ("osqp", "proxqp", "scs")  # how close they come depends on rounding
RESOLVED = 1e-12  # relative gaps below it are rounding
SOLVERS = [
    CvxoptQP(),
    *(CvxpyQP(backend=name) for name in CvxpyQP.choices),
    *(QPSolversQP(backend=name) for name in QPSolversQP.choices),
]


def judge(problem, solver):
    """Return the verdict, and the relative gap of the problem or of the nearby one."""
    answer = solve(problem, solver)
    if answer.status is Status.NOT_INSTALLED:
        pytest.skip(answer.reason)
    c = answer.certificate
    return answer.verdict, max((c.nearby or c).relative_gap, RESOLVED)


def check_units(solver, seeds):
    faults = []
    for seed in seeds:
        kind, arrays = drawn(seed)
        if (arrays["lb"] > arrays["ub"]).any():
            continue
        scaled = in_other_units(arrays, np.random.default_rng([14, seed]))
        (verdict, gap), (other, other_gap) = (
            judge(problem_of(given), solver) for given in (arrays, scaled)
        )
        is_exact = getattr(solver, "backend", "").lower() not in FIRST_ORDER
        differs = is_exact and verdict == "solved" and not 0.5 <= gap / other_gap <= 2
        if verdict != other or differs:
            faults.append(f"{seed} {kind}: {verdict} {gap:.2g}, scaled {other} {other_gap:.2g}")
    assert faults == []


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_back_end_answers_alike_in_other_units_of_cost_rows_and_columns(solver):
    check_units(solver, range(6))


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_back_end_answers_alike_in_other_units_of_many_more(solver):
    check_units(solver, range(6, 150))
