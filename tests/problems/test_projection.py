"""The projection onto a box and a hyperplane, against a direct search of its breakpoints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.problems.box import project

INF = float("inf")


@st.composite
def feasible_sets(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """A point z, a box (shifted, perhaps unbounded or a point), a normal with zeros, and delta."""
    n = draw(st.integers(1, 8))

    def vector(values: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(values, min_size=n, max_size=n)))

    z = vector(st.floats(-20, 20).map(lambda v: round(v, 3)))
    corner = vector(st.integers(-4, 4).map(float))
    width = vector(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    lb = np.where(vector(st.sampled_from([0.0, 0.0, 1.0])) > 0, -INF, corner)
    ub = np.where(vector(st.sampled_from([0.0, 0.0, 1.0])) > 0, INF, corner + width)
    a = vector(st.sampled_from([-2.5, -1.0, 0.0, 0.3, 1.0, 4.0]))
    fraction = draw(st.sampled_from([0.0, 0.25, 1.0]))
    return z, lb, ub, a, np.array(float(a @ (corner + fraction * width)))


def nearest(z: np.ndarray, lb: np.ndarray, ub: np.ndarray, a: np.ndarray, delta: float):
    """Return clip(z − μa, lb, ub) with aᵀx = delta, by looking at every breakpoint of μ."""

    def x_at(mu: float) -> np.ndarray:
        return np.clip(z - mu * a, lb, ub)

    moving = a != 0
    ends = np.concatenate([(z - ub)[moving] / a[moving], (z - lb)[moving] / a[moving]])
    points = np.unique(ends[np.isfinite(ends)])
    inner = points if points.size else np.zeros(1)
    points = np.concatenate([[inner[0] - 1e3], inner, [inner[-1] + 1e3]])
    values = np.array([a @ x_at(mu) for mu in points]) - delta
    k = int(np.clip(np.flatnonzero(values >= -1e-12)[-1], 0, points.size - 2))
    fall = values[k] - values[k + 1]
    fraction = values[k] / fall if fall > 0 else 0.0
    return x_at(points[k] + fraction * (points[k + 1] - points[k]))


@given(feasible_sets())
def test_the_projection_is_feasible_and_nearest(drawn: tuple[np.ndarray, ...]) -> None:
    z, lb, ub, a, delta = drawn
    x = project(z, lb, ub, a, float(delta))
    assert (x >= lb).all()
    assert (x <= ub).all()
    assert abs(a @ x - delta) <= 1e-11 * (1 + np.abs(a) @ np.abs(x))
    np.testing.assert_allclose(x, nearest(z, lb, ub, a, float(delta)), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_large_projections_meet_the_optimality_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 5000
    z, lb = 3 * rng.standard_normal(n), rng.uniform(-1, 0, n)
    ub, a = lb + rng.exponential(size=n), rng.standard_normal(n)
    delta = float(a @ rng.uniform(lb, ub))
    x = project(z, lb, ub, a, delta)
    free = (x > lb) & (x < ub)
    mu = ((z - x) / a)[free]
    assert np.ptp(mu) <= 1e-8 * np.abs(mu).max()
    assert abs(a @ x - delta) <= 1e-10
    np.testing.assert_allclose(x, np.clip(z - np.median(mu) * a, lb, ub), atol=1e-9)


def test_the_projection_of_a_feasible_point_is_identical() -> None:
    x = np.array([0.0, 1.0, 0.25, 0.75])
    y = np.array([1.0, -1.0, 1.0, 1.0])
    assert np.array_equal(project(x, np.zeros(4), np.ones(4), y), x)


def test_without_a_hyperplane_it_clips() -> None:
    z = np.array([-1.0, 0.5, 9.0])
    assert np.array_equal(project(z, np.zeros(3), np.array([1, 1, INF])), [0.0, 0.5, 9.0])


def test_a_hyperplane_that_misses_the_box_is_refused() -> None:
    with pytest.raises(ValueError, match=r"delta = 3 is outside the range \[-1, 2\] of a'x"):
        project(np.zeros(3), np.zeros(3), np.ones(3), np.array([1.0, 1.0, -1.0]), 3.0)


def test_the_inputs_are_not_modified() -> None:
    arrays = [np.array([2.0, -3.0]), np.zeros(2), np.ones(2), np.array([1.0, -1.0])]
    for array in arrays:
        array.flags.writeable = False
    np.testing.assert_allclose(project(*arrays), [0.0, 0.0], atol=1e-15)
