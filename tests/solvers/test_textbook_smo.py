"""Simplified SMO and Platt's: every point on their way, and the gap that Platt's tolerance implies."""

import numpy as np
import pytest
from tests.small_problems import PROBLEMS, two_classes

from dualgap.problems import RBF, BoxQP, SoftMarginDual, reduce
from dualgap.problems.risk.risk import decision_exponent
from dualgap.solvers import PlattSMO, SimplifiedSMO, solve


@pytest.mark.parametrize("solver", [SimplifiedSMO, PlattSMO])
def test_objective_never_rises_and_the_point_stays_feasible(solver, monkeypatch):
    monkeypatch.setattr(f"{solver.__module__}.ENTRIES_PER_YIELD", 1000)
    form = reduce(SoftMarginDual(*two_classes(120), 10.0, RBF(0.1)), BoxQP).form
    values = []
    for point in solver().iterates(form):
        x = point.x
        assert (x >= 0).all()
        assert (x <= form.ub).all()
        assert abs(form.a @ x) < 1e-10 * form.ub.max()
        values.append(0.5 * x @ form.Q.matvec(x) + form.p @ x)
    assert len(values) > 1
    assert (np.diff(values) <= 1e-12 * abs(values[-1])).all()


@pytest.mark.parametrize("name", ["soft_dual_linear", "soft_dual_weights", "svr_dual_rbf"])
def test_the_gap_of_platts_smo_is_within_the_bound_of_its_tol(name):
    problem, tol = PROBLEMS[name], 1e-3
    unit = 2.0 ** decision_exponent(problem.risk)
    assert solve(problem, PlattSMO(tol=tol)).certificate.gap <= tol * unit * problem.risk.C.sum()
