"""How times grow with n."""

import numpy as np
import pandas as pd
import pytest
from tests.experiments.rows import problem_spec, results_from, timed

from dualgap.experiments.analysis.growth import exponent, growth
from dualgap.experiments.analysis.means import compared


def test_the_exponent_is_that_of_a_power_law():
    n = np.array([10.0, 30.0, 50.0, 900.0])
    assert exponent(pd.Series(0.1 * n**1.7, index=n)) == pytest.approx(1.7)
    assert np.isnan(exponent(pd.Series([1.0, 2.0], index=[1, 2])))


def test_exponents_are_fitted_to_problems_that_differ_in_n_alone():
    rows = [
        timed(problem=problem_spec(n=n), n=float(n), time=1e-6 * n**1.5, peak_rss=1e3 * n)
        for n in (100, 400, 1600)
    ]
    results = results_from(*rows)
    names = dict.fromkeys(results.table["problem_id"], "moons")
    (grown,) = growth(compared(results, [1e-3]), names).to_dict("records")
    assert grown["exponent"] == pytest.approx(1.5)
    assert (grown["largest"], grown["memory"], grown["sizes"]) == (1600, 1.6e6, 3)
    assert growth(compared(results_from(timed()), [1e-3]), {"p": "p"}).empty


def test_two_limits_above_the_size_of_a_data_set_are_one_size():
    rows = [
        timed(problem=problem_spec(limit=limit), n=min(limit, 400.0), time=limit / 100)
        for limit in (100, 200, 800, 1600)
    ]
    results = results_from(*rows)
    names = dict.fromkeys(results.table["problem_id"], "moons")
    (grown,) = growth(compared(results, [1e-3]), names).to_dict("records")
    assert (grown["largest"], grown["sizes"]) == (400, 3)
    assert grown["time"] in (8.0, 16.0)
    assert np.isnan(exponent(pd.Series([1.0, 2.0, 3.0], index=[1, 2, 2])))
