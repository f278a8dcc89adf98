"""Conjugate gradients on a plane solve the bordered system."""

import numpy as np
import pytest

from solvers.numerics.projected_cg import conjugate_gradients, on_plane


@pytest.mark.parametrize("groups", [None, np.arange(30) % 2], ids=["one", "two"])
def test_the_residual_is_a_multiplier_of_each_equality(groups: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 30))
    M, r = A @ A.T + np.eye(30), rng.standard_normal(30)
    onto, _ = on_plane(lambda v: v / M.diagonal(), 30, True, groups)
    d = conjugate_gradients(lambda v: M @ v, onto, np.zeros(30), r, 200, 1e-6)
    for g in [np.zeros(30, int)] if groups is None else [groups]:
        for k in range(int(g.max()) + 1):
            assert abs(d[g == k].sum()) <= 1e-12
            assert np.ptp((M @ d + r)[g == k]) <= 1e-4
