"""What simplified SMO and Platt's share, and the simplified one's own."""

import numpy as np
import pytest

from problems import (
    RBF,
    BoxQP,
    HardMarginDual,
    Sigmoid,
    SoftMarginDual,
    reduce,
)
from problems.forms import BoxQP as Form
from problems.gram.gram import Gram, SignedGram
from solvers import solve
from solvers.base import Status
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
def test_same_seed_same_path_and_other_seed_another(solver):
    problem = problems()["linear"]
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the state that must not change
    first, again, other = (solve(problem, solver(seed=s)) for s in (3, 3, 4))
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert (first.alpha == again.alpha).all()
    assert first.iterations == again.iterations
    assert (first.alpha != other.alpha).any()


@BOTH
def test_warm_start_at_the_optimum_changes_next_to_nothing(solver):
    problem = problems()["rbf"]
    best = solve(problem, target_gap=1e-9)
    answer = solve(problem, solver(tol=1e-4), initial=best)
    assert answer.certificate.relative_gap < 1e-3


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


@BOTH
def test_limit_of_iterations_is_kept(solver):
    answer = solve(problems()["rbf"], solver(), max_iter=3)
    assert answer.iterations == 3
    assert answer.status is Status.MAX_ITER


@BOTH
def test_form_is_not_changed(solver):
    form = reduce(problems()["svr"], BoxQP).form
    before = [
        v.copy() for v in (form.p, form.a, form.lb, form.ub, form.Q.block(slice(None), slice(None)))
    ]
    list(solver().iterates(form))
    after = (form.p, form.a, form.lb, form.ub, form.Q.dense())
    assert all((u == v).all() for u, v in zip(before, after, strict=True))


@BOTH
def test_what_cannot_be_solved_is_refused_with_a_sentence(solver):
    X, y = cancer(20)
    answer = solve(SoftMarginDual(X, y, 1.0, intercept=False), solver())
    assert answer.status is Status.UNSUPPORTED
    assert "without an intercept" in answer.reason
    form = reduce(SoftMarginDual(X, y, 1.0), BoxQP).form
    zeros, ones = np.zeros(20), np.ones(20)
    assert "+1 or -1" in solver().refuses(
        Form(form.Q, form.p, 2 * y, None, form.delta, zeros, ones)
    )
    assert "lower bound" in solver().refuses(Form(form.Q, form.p, y, None, form.delta, -ones, ones))
    too_large = SignedGram(Gram(X, RBF(1.0), memory=100), y)
    assert "does not fit" in solver().refuses(
        Form(too_large, form.p, y, None, form.delta, zeros, ones)
    )


@BOTH
def test_shifted_equality_is_solved(solver):
    X, y = cancer(40)
    base = reduce(SoftMarginDual(X, y, 1.0), BoxQP).form
    form = Form(base.Q, base.p, base.a, None, np.array([1.5]), base.lb, base.ub)
    *_, last = solver(tol=1e-5).iterates(form)
    assert form.a @ last.x == pytest.approx(1.5)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="max_passes"):
        SimplifiedSMO(max_passes=0)
    with pytest.raises(ValueError, match="tol"):
        PlattSMO(tol=0.0)
