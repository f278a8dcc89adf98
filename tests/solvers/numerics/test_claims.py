"""Duality gaps that solvers compute for themselves."""

import numpy as np

from dualgap.problems import SoftMarginDual, reduce
from dualgap.problems.forms import ERM
from dualgap.solvers.numerics.claims import relative_gap


def test_a_gap_of_zero_is_not_negative_by_rounding():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = 0.01 * rng.standard_normal((7, 2)), np.where(rng.random(7) < 0.5, -1.0, 1.0)
        form = reduce(SoftMarginDual(X, y, 0.1, intercept=False), ERM).form
        assert 0 <= relative_gap(form, 0.1 * y) <= 1e-15  # all samples are inside the margin
