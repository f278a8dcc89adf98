"""Variables of equal samples with opposite labels are one, whose optimum is theirs."""

import numpy as np

from problems import RBF, BoxQP, SoftMarginDual, reduce
from solvers.semismooth_newton.opposites import join
from solvers.smo.duplicates import merge
from solvers.smo.variables import from_form


def test_the_joined_cost_is_the_least_of_the_two() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((1200, 3))] * 2)
    y = np.where(rng.uniform(size=2400) < 0.5, 1.0, -1.0)
    form = reduce(SoftMarginDual(X, y, rng.uniform(1, 2, 2400), RBF(1.0)), BoxQP).form
    joined = join(merge(from_form(form)))
    v = joined.variables
    opposite = int((y[:1200] != y[1200:]).sum())
    assert joined.first.size == opposite
    assert v.n == 1200
    s = rng.uniform(v.lo, v.hi)
    x = joined.spread(s)
    assert (form.lb <= x).all()
    assert (x <= form.ub).all()
    order = np.argsort(X[v.sample, 0])  # of both, by sample
    sums = ((y * x)[:1200] + (y * x)[1200:])[np.argsort(X[:1200, 0])]
    assert np.allclose(sums, s[order])
    other = rng.uniform(v.lo, v.hi)
    costs = [v.q * each + v.tube * np.abs(each - joined.kink) for each in (s, other)]
    assert np.isclose((costs[0] - costs[1]).sum(), form.p @ (x - joined.spread(other)))
    at_an_end = (x == 0) | (np.abs(x - form.ub) < 1e-12)
    twice = y[:1200] != y[1200:]
    assert (at_an_end[:1200] | at_an_end[1200:])[twice].all()
    f = rng.normal(size=v.n)
    assert np.array_equal(joined.scores(f)[:1200], joined.scores(f)[1200:])
