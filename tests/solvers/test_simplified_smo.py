"""What simplified SMO and Platt's share, and the simplified one's own."""

import numpy as np
import pytest

from problems import (
    BoxQP,
    HardMarginDual,
    Sigmoid,
    SoftMarginDual,
    reduce,
)
from solvers import solve
from solvers.platt_smo import PlattSMO
from solvers.simplified_smo import SimplifiedSMO
from tests.solvers.textbook_problems import cancer, problems

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


@BOTH
@pytest.mark.parametrize("same_label", [True, False])
@pytest.mark.parametrize("hard", [True, False])
def test_duplicates_end(solver, same_label, hard):
    X, y = cancer(30)
    X, y = np.vstack([X, X]), np.concatenate([y, y if same_label else -y])
    problem = HardMarginDual(X, y) if hard else SoftMarginDual(X, y, 1.0)
    answer = solve(problem, solver(tol=1e-4, max_iter=5000))
    assert answer.iterations <= 5000
    if not hard and solver is PlattSMO:
        assert answer.certificate.relative_gap < 1e-2


@BOTH
@pytest.mark.parametrize("n", [1, 3])
def test_one_class_ends_at_zero(solver, n):
    answer = solve(SoftMarginDual(np.eye(3)[:n], np.ones(n), 1.0), solver())
    assert (answer.alpha == 0).all()
    assert answer.verdict == "solved"


@BOTH
def test_indefinite_kernel_ends(solver):
    X, y = cancer(40)
    answer = solve(SoftMarginDual(X, y, 1.0, Sigmoid(1.0, -1.0)), solver(max_iter=3000))
    assert answer.verdict == "uncertified"
