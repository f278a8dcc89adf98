"""Newton's method on the faces of a box: at the minimum where there is time, never worse than before."""

import numpy as np
import pytest

from dualgap.solvers.numerics.subspace import minimise_on_subspaces

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("rank", [12, 3])
def test_the_minimiser_stays_in_the_box_with_a_lower_objective(equality, rank):
    F = RNG.standard_normal((12, rank))
    A, r = F @ F.T, RNG.standard_normal(12)
    start = RNG.uniform(0.2, 0.8, 12)
    z = start.copy()
    minimise_on_subspaces(A, r, z, np.zeros(12), np.ones(12), np.full(12, equality - 1), np.inf)
    step = z - start
    assert ((z >= 0) & (z <= 1)).all()
    assert 0.5 * step @ A @ step - r @ step < 0
    if equality:
        np.testing.assert_allclose(step.sum(), 0.0, atol=1e-10)


def test_inside_the_box_the_point_is_the_minimum():
    F = RNG.standard_normal((6, 6))
    A, z = F @ F.T + np.eye(6), np.zeros(6)
    r = RNG.standard_normal(6)
    minimise_on_subspaces(A, r, z, np.full(6, -1e3), np.full(6, 1e3), np.full(6, -1), np.inf)
    np.testing.assert_allclose(A @ z, r, atol=1e-6)


@pytest.mark.parametrize("shift", [0.0, -3.0])
def test_each_group_keeps_its_sum_at_the_minimum(shift):
    """Also where A is definite only along the face, as kernels are that are moved by a constant."""
    F, groups = RNG.standard_normal((9, 9)), np.repeat([0, 1, 0], 3)
    A, r, z = F @ F.T + 0.1 * np.eye(9) + shift, RNG.standard_normal(9), np.zeros(9)
    minimise_on_subspaces(A, r, z, np.full(9, -1e3), np.full(9, 1e3), groups, np.inf)
    E = np.stack([groups == 0, groups == 1]).astype(float)
    exact = np.linalg.solve(np.block([[A, E.T], [E, np.zeros((2, 2))]]), np.append(r, [0.0, 0.0]))
    np.testing.assert_allclose(E @ z, 0.0, atol=1e-12)
    np.testing.assert_allclose(z, exact[:9], atol=1e-6)


def test_without_time_the_point_is_unchanged():
    z = np.full(3, 0.5)
    minimise_on_subspaces(np.eye(3), np.ones(3), z, np.zeros(3), np.ones(3), np.full(3, -1), 0.0)
    np.testing.assert_array_equal(z, 0.5)
