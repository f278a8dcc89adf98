"""Measured costs of the primal and the dual of one machine, as tabulated in the lecture notes.

    dualgap plot runs/primal_against_dual --figure primal_against_dual

                      primal             dual
    variables         d + 1 (+ n slacks) n
    model             w, b: d + 1        support vectors and their α: nSV·(d + 1) + 1 numbers
    training          grows with d       grows with n
    predicting        O(d) per sample    O(nSV·d) per sample

(Straka's NPFL129 notes, lecture 7.) The cost of a prediction is proportional to the size of the model.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import label_sizes, legend, line_styles, panels, solver_keys

_MEASURES = {
    "variables": "variables",
    "model": "numbers in the model",
    "train": "time to train (s)",
}


class PrimalAgainstDual(Drawing):
    """Size of the problem and the model, and times, against n; one panel per cost."""

    columns = ("n", "d", "n_support", "formulation", "kernel", "time_solve", "verdict")
    on_request = True  # it needs a fixed set of problems

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield a figure, with one line per view and d, and its table."""
        table = costs(runs.table)
        lines = table.assign(label=table["view"] + ", d = " + table["d"].astype(str))
        drawn = line_styles(lines["label"])
        new, axes = panels(list(_MEASURES.values()), height=2.2)
        for measure, ax in zip(_MEASURES, axes, strict=True):
            for label, rows in lines.groupby("label", sort=False):
                ordered = rows.sort_values("n")
                ax.plot(ordered["n"], ordered[measure], **drawn[str(label)].arguments())
            ax.set(xscale="log", yscale="log", xlabel="number of samples n")
            label_sizes(ax, np.unique(table["n"].to_numpy(dtype=np.float64)))
        legend(new, solver_keys(drawn))
        yield self.name, new
        measured = table.rename(columns=_MEASURES).sort_values(["d", "n", "view"])
        text = measured.to_markdown(index=False, floatfmt=".3g")
        yield self.name, f"# Primal against dual\n\n{text}\n"


def costs(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per view and size: n, d, view, variables, model, train (s).

    Times are medians; runs that are not certified as solved are omitted.
    """
    solved = results[results["verdict"] == "solved"]
    rows: list[list[object]] = []
    for _, runs in solved.groupby("problem_id", sort=False):
        first, train = runs.iloc[0], float(runs["time_solve"].median())
        n, d, support = int(first["n"]), int(first["d"]), int(first["n_support"])
        if first["formulation"].endswith("primal"):
            rows.append(["primal, linear", n, d, d + 1 + n, d + 1, train])
        else:
            name = "dual, rbf" if "rbf" in first["kernel"] else "dual, linear"
            rows.append([name, n, d, n, support * (d + 1) + 1, train])
    return pd.DataFrame(rows, columns=["view", "n", "d", *_MEASURES])
