"""A property that decides which solver is fastest has the rank correlation that says so."""

import numpy as np
import pandas as pd

from experiments.analysis.explanations.predictors import PREDICTORS, correlations


def test_what_makes_a_solver_fall_behind_is_told_from_what_does_not():
    rng, problems = np.random.default_rng(0), [f"p{i}" for i in range(12)]
    described = pd.DataFrame(rng.random((12, len(PREDICTORS))), problems, PREDICTORS)
    described["duplicates"] = 0.0  # in no problem: predicts nothing
    rows = [{"problem": p, "solver": "even", "time": 1.0} for p in problems]
    slow = np.exp(described["condition_free"]).mask(described["condition_free"] > 0.9)  # gives up
    rows += [{"problem": p, "solver": "ill", "time": t} for p, t in slow.items()]
    found = correlations(pd.DataFrame(rows), described).set_index(["solver", "predictor"])
    assert found.loc[("ill", "condition_free"), "correlation"] > 0.99
    assert found.loc[("even", "condition_free"), "correlation"] < -0.99
    assert set(found.index[found["telling"]]) == {
        ("ill", "condition_free"),
        ("even", "condition_free"),
    }
    assert (found["problems"] == 12).all()
    assert "duplicates" not in found.index.get_level_values("predictor")
