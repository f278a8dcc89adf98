"""Rates are found in distances that have them."""

import numpy as np
import pytest

from dualgap.experiments.analysis.rates import fit_rate

K = np.unique(np.geomspace(1, 1000, 40).astype(int)).astype(float)


@pytest.mark.parametrize(
    ("order", "distances", "value"),
    [("sublinear", 3 * K**-2.0, -2.0), ("linear", 5 * 0.97**K, 0.97)],
)
def test_the_order_and_the_rate_are_those_of_the_distances(order, distances, value):
    noisy = distances * np.exp(0.1 * np.random.default_rng(0).standard_normal(K.size))
    rate = fit_rate(K, noisy, resolution=0.0)
    assert rate.order == order
    assert rate.low < value < rate.high
    assert abs(rate.value - value) < 0.1 * abs(value)


def test_a_jump_to_the_optimum_is_finite_and_5_evaluations_have_no_rate():
    distances = np.array([1.0, 0.5, 0.2, 0.0, 0.0])
    assert fit_rate(np.arange(10.0, 15.0), distances, 1e-12)[:2] == ("finite", 13.0)
    assert fit_rate(10 ** np.arange(1.0, 6.0), distances, 1e-12)[:2] == ("", 1e4)
