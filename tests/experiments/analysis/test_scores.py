"""Means in which failures are charged."""

import numpy as np
import pytest

from experiments.analysis.scores import par, shifted_geometric_mean


def test_equal_times_are_their_own_mean():
    assert shifted_geometric_mean([3.0, 3.0], limit=10) == pytest.approx(3.0)
    assert par([3.0, 3.0], limit=10) == 3.0


def test_failures_count_as_the_limit_or_twice_as_much():
    assert shifted_geometric_mean([np.nan], limit=10) == pytest.approx(10.0)
    assert shifted_geometric_mean([0.0, 30.0], limit=30) == pytest.approx(10.0)
    assert par([np.nan, 0.0, 11.0], limit=10) == pytest.approx(40 / 3)
