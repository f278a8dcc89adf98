"""How times grow with n."""

import numpy as np
import pandas as pd
import pytest

from experiments.analysis.growth import exponent


def test_the_exponent_is_that_of_a_power_law():
    n = np.array([10.0, 30.0, 50.0, 900.0])
    assert exponent(pd.Series(0.1 * n**1.7, index=n)) == pytest.approx(1.7)
    assert np.isnan(exponent(pd.Series([1.0, 2.0], index=[1, 2])))
