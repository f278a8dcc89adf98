"""What the primal and the dual cost, from the records of a run."""

import numpy as np
import pandas as pd

from dualgap.experiments.plots.figures.primal_against_dual import PrimalAgainstDual, costs
from dualgap.experiments.plots.runs import Runs


def results() -> pd.DataFrame:
    views = (("primal", "linear"), ("dual", "linear"), ("dual", "rbf(gamma=1)"))
    rows = [
        {
            "problem_id": f"{view} {kernel} {n}",
            "formulation": f"soft_margin_{view}",
            "kernel": kernel,
            "n": float(n),
            "d": 10.0,
            "n_support": n / 2,
            "time_solve": time,
            "verdict": "solved",
        }
        for n in (100, 200)
        for view, kernel in views
        for time in (1.0, 3.0, 2.0)
    ]
    rows.append(rows[0] | {"problem_id": "other", "verdict": "inaccurate"})
    return pd.DataFrame(rows)


def test_costs_follow_the_note_and_count_solved_runs_only():
    cost_table = costs(results())
    table = cost_table.set_index(["view", "n"])
    assert len(table) == 6
    assert table.loc[("primal, linear", 100), ["variables", "model"]].tolist() == [111, 11]
    assert table.loc[("dual, linear", 200), ["variables", "model"]].tolist() == [200, 1101]
    assert (table["train"] == 2.0).all()
    (_, figure), (_, text) = PrimalAgainstDual().draw(Runs(results(), pd.DataFrame()))
    assert all(view in text for view in set(cost_table["view"]))
    axes = figure.axes
    assert len(axes) == 3
    assert np.array_equal(axes[0].lines[0].get_xdata(), [100, 200])
