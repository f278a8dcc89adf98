"""Conjugate gradients on a plane solve the bordered system."""

import numpy as np
import pytest

from dualgap.solvers.numerics.projected_cg import conjugate_gradients, on_plane


@pytest.mark.parametrize("count", [1, 2])
def test_the_residual_is_a_multiplier_of_each_equality(count: int) -> None:
    rng, groups = np.random.default_rng(0), np.arange(30) % count
    A = rng.standard_normal((30, 30))
    M, r = A @ A.T + np.eye(30), rng.standard_normal(30)
    onto, _ = on_plane(lambda v: v / M.diagonal(), groups)
    d = conjugate_gradients(lambda v: M @ v, onto, np.zeros(30), r, 200, 1e-6)
    for k in range(count):
        assert abs(d[groups == k].sum()) <= 1e-12
        assert np.ptp((M @ d + r)[groups == k]) <= 1e-4
