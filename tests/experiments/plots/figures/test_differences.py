"""Every problem of a verification is a mark or is counted beside its row."""

import pandas as pd

from dualgap.experiments.plots.figures.differences import Differences
from dualgap.experiments.plots.runs import Runs

NAN = float("nan")


def test_marks_and_counts_make_up_all_problems():
    ends = ("finished", "solved")
    rows = [("qp", 0.0, *ends), ("qp", 1e-9, *ends), ("qp", NAN, "finished", "infeasible")]
    rows += [("smo", 1e-8, *ends), ("smo", NAN, "unsupported", "uncertified"), ("smo", 0.0, *ends)]
    checks = pd.DataFrame(rows, columns=["solver", "difference", "status", "verdict"])
    runs = Runs(
        pd.DataFrame({"target_gap": [1e-6]}), pd.DataFrame(), checks=checks.assign(passed=True)
    )
    ((_, figure),) = Differences().draw(runs)
    (ax,) = figure.axes
    assert [len(marks.get_offsets()) for marks in ax.collections] == [2, 2]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "qp\n3 problems,\nof these 1 infeasible",
        "smo\n3 problems,\nof these 1 unsupported",
    ]
