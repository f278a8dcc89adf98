"""Box QPs with several equalities: what is said of them is what is said of each group alone."""

import cvxopt
import numpy as np
import pytest

from dualgap.problems import BoxQP
from dualgap.problems.box import (
    best_multiplier,
    gap_terms,
    kkt_violation,
    members_of,
    project,
    violating_pair,
)
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.problems.kernels import Linear


def grouped(seed: int, n: int = 12) -> BoxQP:
    """A box QP with three groups, two variables in none, and coefficients of every size and sign."""
    rng = np.random.default_rng(seed)
    lb = rng.uniform(-1, 0, n)
    ub = lb + rng.uniform(0.5, 3, n)
    a = rng.choice([-2.0, -1.0, 0.5, 1.0], n)
    groups = rng.permutation(np.r_[-1, -1, np.arange(n - 2) % 3])
    inside = rng.uniform(lb, ub)
    delta = np.array([a[groups == g] @ inside[groups == g] for g in range(3)])
    Q = SignedGram(Gram(rng.standard_normal((n, 4)), Linear()))
    return BoxQP(Q, rng.standard_normal(n), a, groups, delta, lb, ub)


def optimum(form: BoxQP) -> np.ndarray:
    """Return the minimiser that CVXOPT finds."""
    A, b_eq = form.equality_rows()
    assert A is not None
    assert b_eq is not None
    eye = np.eye(form.n)
    G, h = np.vstack([eye, -eye]), np.concatenate([form.ub, -form.lb])
    arguments = (form.Q.dense(), form.p[:, None], G, h[:, None], A.toarray(), b_eq[:, None])
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    solved = cvxopt.solvers.qp(*map(cvxopt.matrix, arguments), options=options)
    return np.array(solved["x"]).ravel()


@pytest.mark.parametrize("seed", range(4))
def test_each_group_is_projected_by_itself(seed: int) -> None:
    form = grouped(seed)
    z = 3 * np.random.default_rng(seed).standard_normal(form.n)
    x = form.project(z)
    for i, a, delta in form.equalities:
        assert a @ x[i] == pytest.approx(delta, abs=1e-12)
        np.testing.assert_array_equal(x[i], project(z[i], form.lb[i], form.ub[i], a, delta))
    assert form.groups is not None
    alone = form.groups < 0
    np.testing.assert_array_equal(x[alone], np.clip(z, form.lb, form.ub)[alone])
    A, _ = form.equality_rows()
    assert A is not None
    np.testing.assert_allclose(A @ x, form.delta, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_measures_are_those_of_the_groups_alone(seed: int) -> None:
    form = grouped(seed)
    x = form.project(np.zeros(form.n))
    g = form.Q.matvec(x) + form.p
    below, above = x - form.lb, form.ub - x
    assert form.groups is not None
    alone = np.flatnonzero(form.groups < 0)
    pieces = [(alone, None), *((i, a) for i, a, _ in form.equalities)]
    kkt = [kkt_violation(g[i], a, below[i], above[i]) for i, a in pieces]
    pair = [violating_pair(g[i], a, below[i], above[i]) for i, a in pieces]
    assert form.kkt_violation(g, x) == max(kkt)
    assert form.violating_pair(g, x) == max(pair)
    gap = gap_terms(g, below, above)[alone].sum()
    for i, a, delta in form.equalities:
        nu = best_multiplier(g[i], a, (form.ub - form.lb)[i], delta - float(a @ form.lb[i]))[0]
        gap += gap_terms(g[i] + nu * a, below[i], above[i]).sum()
    assert form.gap_terms(g, x).sum() == pytest.approx(gap)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_has_no_gap_and_every_violation_is_zero(seed: int) -> None:
    form = grouped(seed)
    best = optimum(form)
    x = form.project(best)
    g = form.Q.matvec(x) + form.p
    assert form.gap_terms(g, x).sum() <= 1e-6
    assert form.kkt_violation(g, x) <= 1e-5


def test_one_group_is_one_equality_of_all() -> None:
    form = grouped(0)
    single = BoxQP(form.Q, form.p, form.a, None, np.ones(1), form.lb, form.ub)
    same = BoxQP(form.Q, form.p, form.a, np.zeros(form.n, int), np.ones(1), form.lb, form.ub)
    x = single.project(np.ones(form.n))
    np.testing.assert_array_equal(x, same.project(np.ones(form.n)))
    assert single.kkt_violation(form.p, x) == same.kkt_violation(form.p, x)
    assert single.violating_pair(form.p, x) == same.violating_pair(form.p, x)


def test_members_are_in_their_order_and_a_group_may_be_empty() -> None:
    members = members_of(np.array([1, -1, 1, 3, 0]), 4)
    assert [m.tolist() for m in members] == [[4], [0, 2], [], [3]]
