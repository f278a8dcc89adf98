"""What simplified SMO and Platt's share, and the simplified one's own."""

import numpy as np
import pytest

from problems import (
    BoxQP,
    reduce,
)
from solvers import solve
from solvers.platt_smo import PlattSMO
from solvers.simplified_smo import SimplifiedSMO
from tests.solvers.textbook_problems import problems

BOTH = pytest.mark.parametrize("solver", [SimplifiedSMO, PlattSMO])


@pytest.mark.parametrize("name", ["rbf", "weights", "svr", "hard margin"])
def test_simplified_comes_close_and_claims_nothing(name):
    answer = solve(problems()[name], SimplifiedSMO(tol=1e-4, max_passes=30))
    assert answer.claimed == "stopped"
    assert answer.certificate.relative_gap < 1e-2


@BOTH
def test_objective_never_rises_and_the_point_stays_feasible(solver, monkeypatch):
    monkeypatch.setattr(f"{solver.__module__}._BLOCK_ENTRIES", 1000)
    form = reduce(problems()["rbf"], BoxQP).form
    values = []
    for point in solver().iterates(form):
        x = point.x
        assert (x >= 0).all()
        assert (x <= form.ub).all()
        assert abs(form.a @ x) < 1e-10 * form.ub.max()
        values.append(0.5 * x @ form.Q.matvec(x) + form.p @ x)
    assert len(values) > 1
    assert (np.diff(values) <= 1e-12 * abs(values[-1])).all()
