"""Platt's SMO: the optimum within the gap that its tolerance implies."""

import pytest

from solvers import solve
from solvers.platt_smo import PlattSMO
from tests.solvers.textbook_problems import problems


@pytest.mark.parametrize("name", problems())
def test_platt_claims_optimal_within_the_gap_its_tol_implies(name):
    problem, tol = problems()[name], 1e-4
    best = solve(problem).certificate
    answer = solve(problem, PlattSMO(tol=tol))
    certificate = answer.certificate
    assert answer.claimed == "optimal"
    assert certificate.violating_pair <= 2 * tol * (1 + 1e-6)
    if name != "hard margin":
        assert certificate.gap <= tol * problem.upper.sum()
        assert best.dual_objective - certificate.dual_objective <= certificate.gap + best.gap
    assert certificate.relative_gap < 1e-2
