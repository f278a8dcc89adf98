"""Gaps, multipliers and violations of box QPs, against their definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgap.problems.box import (
    best_multiplier,
    gap_terms,
    kkt_violation,
    middle,
    violating_pair,
)

SEEDS = st.integers(0, 2**32 - 1)


def random_point(seed, labels=True):
    """A gradient, an equality's coefficients, and a point with entries at both bounds and between."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    signs = rng.choice([-1.0, 1.0], n)
    a = signs if labels else signs * rng.uniform(0.2, 3.0, n)
    width = rng.uniform(0.1, 2.0, n)
    fractions = rng.choice([0.0, 1.0, rng.random()], n)
    return rng.normal(0, 1, n).round(1), a, fractions * width, (1 - fractions) * width


def gap(nu, g, a, below, above):
    return float(gap_terms(g + nu * a, below, above).sum())


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "any coefficients"])
@given(seed=SEEDS)
def test_no_multiplier_has_a_smaller_gap(labels, seed):
    g, a, below, above = random_point(seed, labels)
    low, high = best_multiplier(g, a, below + above, float(a @ below))
    best = gap(middle(low, high), g, a, below, above)
    candidates = np.concatenate([-g / a, np.linspace(-20, 20, 201)])
    assert best <= min(gap(nu, g, a, below, above) for nu in candidates) + 1e-12


@given(seed=SEEDS)
def test_exactly_the_returned_interval_is_optimal(seed):
    g, a, below, above = random_point(seed)
    low, high = best_multiplier(g, a, below + above, float(a @ below))
    best = gap(middle(low, high), g, a, below, above)
    for end, step in ((low, -1.0), (high, 1.0)):
        if np.isfinite(end):
            assert gap(end, g, a, below, above) == pytest.approx(best, abs=1e-12)
            assert gap(end + 0.01 * step, g, a, below, above) > best


def test_one_class_has_a_half_line_of_multipliers():
    low, high = best_multiplier(np.array([-1.0, -2.0]), np.ones(2), np.ones(2))
    assert (low, high) == (2.0, np.inf)
    assert middle(low, high) == 2.0


def test_variables_that_cannot_move_do_not_count():
    assert best_multiplier(np.ones(2), np.zeros(2), np.ones(2)) == (0.0, 0.0)
    assert best_multiplier(np.ones(2), np.ones(2), np.zeros(2)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [((1.0, 3.0), 2.0), ((-np.inf, 3.0), 3.0), ((1.0, np.inf), 1.0), ((-np.inf, np.inf), 0.0)],
)
def test_the_middle_of_an_interval(interval, expected):
    assert middle(*interval) == expected


def natural_residual(nu, g, a, below, above):
    return float(np.abs(np.clip(g + nu * a, -above, below)).max())


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "any coefficients"])
@given(seed=SEEDS)
def test_kkt_violation_is_the_smallest_natural_residual(labels, seed):
    g, a, below, above = random_point(seed, labels)
    violation = kkt_violation(g, a, below, above)
    grid = np.concatenate([-g / a, np.linspace(-6, 6, 2401)])
    brute = min(natural_residual(nu, g, a, below, above) for nu in grid)
    assert violation <= brute + 1e-9
    assert violation >= brute - 0.0025 * np.abs(a).max() - 1e-9  # half a step of the grid


def test_kkt_violation_without_equality():
    g, below, above = (
        np.array([1.0, -2.0, 0.5]),
        np.array([0.0, 1.0, 0.2]),
        np.array([1.0, 0.5, 1.0]),
    )
    assert kkt_violation(g, None, below, above) == 0.5


def test_kkt_violation_counts_variables_outside_the_equality():
    g, a = np.array([0.4, 5.0, 5.0]), np.array([0.0, 1.0, 1.0])
    assert kkt_violation(g, a, np.ones(3), np.ones(3)) == pytest.approx(0.4)


def test_kkt_violation_with_infinite_bounds_is_finite():
    g, a = np.array([-1.0, -1.0, 2.0]), np.array([1.0, -1.0, 1.0])
    assert kkt_violation(g, a, np.array([1.0, 1.0, 0.0]), np.full(3, np.inf)) == pytest.approx(1.0)


def pair_by_definition(g, a, below, above):
    """The largest decrease rate of moving i up and j down along the equality, over all pairs."""
    n = len(g)
    up = [i for i in range(n) if a[i] and (above[i] > 0 if a[i] > 0 else below[i] > 0)]
    down = [i for i in range(n) if a[i] and (below[i] > 0 if a[i] > 0 else above[i] > 0)]
    return max([0.0] + [-g[i] / a[i] + g[j] / a[j] for i, j in product(up, down)])


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "any coefficients"])
@given(seed=SEEDS)
def test_violating_pair_is_the_worst_of_all_pairs(labels, seed):
    g, a, below, above = random_point(seed, labels)
    assert violating_pair(g, a, below, above) == pytest.approx(
        pair_by_definition(g, a, below, above)
    )


def test_violating_pair_without_equality_spans_the_projected_gradients():
    g = np.array([3.0, -2.0, 5.0, -7.0, 9.0])
    below, above = np.array([1.0, 1, 0, 1, 0]), np.array([1.0, 1, 1, 0, 0])
    assert violating_pair(g, None, below, above) == 5.0  # 3 − (−2); the others are at a bound


@given(seed=SEEDS)
def test_all_measures_are_0_together_at_an_optimum(seed):
    rng = np.random.default_rng(seed)
    a, kind = rng.choice([-1.0, 1.0], 8), rng.integers(0, 3, 8)
    r = np.where(kind == 0, rng.random(8), np.where(kind == 1, -rng.random(8), 0.0))
    below = np.where(kind == 0, 0.0, np.where(kind == 1, 1.0, 0.5))
    g = r - rng.normal() * a
    low, high = best_multiplier(g, a, np.ones(8), float(a @ below))
    assert gap(middle(low, high), g, a, below, 1 - below) <= 1e-14
    assert kkt_violation(g, a, below, 1 - below) <= 1e-12
    assert violating_pair(g, a, below, 1 - below) <= 1e-12


def test_selection_among_5000_breakpoints_gives_the_optimal_multiplier():
    rng = np.random.default_rng(0)
    g, a, width = rng.normal(0, 1, 5000).round(2), rng.choice([-1.0, 1.0], 5000), np.ones(5000)
    low, high = best_multiplier(g, a, width, 300.0)
    nus = np.unique(-g / a)
    values = np.array([(width * np.maximum(-g - nu * a, 0)).sum() + 300.0 * nu for nu in nus])
    optimal = nus[values <= values.min() + 1e-9]
    assert (low, high) == pytest.approx((optimal.min(), optimal.max()))
