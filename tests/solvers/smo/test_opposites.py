"""Opposite labels on equal samples: one variable with a tube has the cost of the best split in two."""

import numpy as np
import pytest

from problems import RBF, BoxQP, SoftMarginDual, reduce
from solvers import SMO, solve
from solvers.smo import duplicates
from solvers.smo.duplicates import merge
from solvers.smo.variables import from_form

RNG = np.random.default_rng(5)


def contradicting(C: object = 2.0, intercept: bool = True) -> SoftMarginDual:
    """Of 500 samples 200 twice with one label, and 300 of all with the other label too."""
    X = RNG.standard_normal((500, 3))
    y = np.where(X[:, 0] + RNG.standard_normal(500) > 0, 1.0, -1.0)
    rows = np.concatenate([np.arange(500), np.arange(200), np.arange(100, 400), np.arange(100)])
    labels = np.where(np.arange(1100) < 700, y[rows], -y[rows])
    return SoftMarginDual(X[rows], labels, C, RBF(0.5), intercept)


def test_the_cost_is_that_of_the_best_split() -> None:
    form = reduce(contradicting(np.linspace(0.5, 2, 1100)), BoxQP).form
    merged = merge(from_form(form))
    pairs = merged.opposites
    assert pairs is not None
    assert pairs.low.size == 400
    v, apart = pairs.together, pairs.apart
    z = RNG.uniform(v.lo, v.hi)
    split = pairs.split(z)
    assert (split >= apart.lo - 1e-12).all()
    assert (split <= apart.hi + 1e-12).all()
    z1, z2 = split[pairs.low], split[pairs.high]
    assert np.maximum(z1 - apart.hi[pairs.low], apart.lo[pairs.high] - z2) == pytest.approx(0.0)
    assert split.sum() == pytest.approx((z + pairs.centre).sum())
    cost = v.q @ z + v.tube @ np.abs(z) + v.q @ pairs.centre
    constant = pairs.constant - v.q @ pairs.centre
    assert cost + constant == pytest.approx(apart.q @ split)
    x = merged.spread(z)
    assert form.p @ x == pytest.approx(apart.q @ split)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_the_optimum_is_that_of_two_variables(
    monkeypatch: pytest.MonkeyPatch, C: float, intercept: bool
) -> None:
    problem = contradicting(C, intercept)
    solver = SMO(tol=1e-12, gap=5e-10)
    together = solve(problem, solver)
    again = solve(problem, SMO(tol=1e-2), initial=together)
    assert again.iterations == 0
    monkeypatch.setattr(duplicates, "_opposite", lambda *_: (np.arange(0), np.arange(0)))
    apart = solve(problem, solver)
    assert together.claimed == apart.claimed == "optimal"
    assert together.certificate.relative_gap <= 1e-9
    assert together.certificate.dual_objective <= apart.certificate.primal_objective
    assert apart.certificate.dual_objective <= together.certificate.primal_objective


def test_the_gap_that_ends_a_run_counts_the_centres() -> None:
    problem = contradicting(5.0)
    solution = solve(problem, SMO(tol=1e-12, gap=1e-4))
    assert 0.0 < solution.certificate.relative_gap <= 1.01e-4
