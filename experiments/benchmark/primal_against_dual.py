"""What the primal and the dual of one machine cost, as the lecture notes tabulate it, measured.

    python -m experiments.benchmark.primal_against_dual runs/primal_against_dual

                      primal             dual
    variables         d + 1 (+ n slacks) n
    model             w, b: d + 1        support vectors and their α: nSV·(d + 1) + 1 numbers
    training          grows with d       grows with n
    predicting        O(d) a sample      O(nSV·d) a sample

(Straka's NPFL129 notes, lecture 7.) Variables, model and training time are of the runs in the folder;
what a prediction takes is measured on this machine, with models of the same sizes. Writes
primal_against_dual.md, .png and .svg into the folder.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from experiments.plots.style import key, legend, looks, panels, save, style
from experiments.plots.time_against_n import label_sizes
from experiments.store.folder import load_results
from problems import RBF, Kernel, Linear

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_SAMPLES = 1000  # predicted at a time
_TRIALS = 15
_MEASURES = {
    "variables": "variables",
    "model": "numbers in the model",
    "train": "time to train (s)",
    "predict": "time to predict (µs a sample)",
}


def costs(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each face and size: n, d, face, variables, model, train (s), predict (µs).

    Times are medians; runs that the certificate does not call solved are left out.
    """
    solved = results[results["verdict"] == "solved"]
    rows = [_row(runs) for _, runs in solved.groupby("problem_id", sort=False)]
    return pd.DataFrame(rows, columns=["face", "n", "d", *_MEASURES])


def _row(runs: pd.DataFrame) -> list[object]:
    first = runs.iloc[0]
    n, d, support = int(first["n"]), int(first["d"]), int(first["n_support"])
    train = float(runs["time_solve"].median())
    if first["formulation"].endswith("primal"):
        return ["primal, linear", n, d, d + 1 + n, d + 1, train, _predicting(d)]
    rbf = "rbf" in first["kernel"]
    kernel = RBF(1.0 / d) if rbf else Linear()
    name = "dual, rbf" if rbf else "dual, linear"
    return [name, n, d, n, support * (d + 1) + 1, train, _predicting(d, support, kernel)]


def _predicting(d: int, support: int = 0, kernel: Kernel | None = None) -> float:
    """Return the least time that a model of this size took to predict a sample, in microseconds."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((_SAMPLES, d)), rng.standard_normal(d)
    vectors, alpha = rng.standard_normal((max(1, support), d)), rng.standard_normal(max(1, support))
    taken: list[float] = []
    with threadpool_limits(1):  # threads cost such small products more than they help
        for _ in range(_TRIALS):
            begun = time.perf_counter()
            _ = X @ w if kernel is None else kernel.cross(X, vectors, slice(None)) @ alpha
            taken.append(time.perf_counter() - begun)
    return 1e6 * min(taken) / _SAMPLES


def to_markdown(table: pd.DataFrame) -> str:
    """Return the table in words."""
    shown = table.rename(columns=_MEASURES).sort_values(["d", "n", "face"])
    return "# Primal against dual\n\n" + shown.to_markdown(index=False, floatfmt=".3g") + "\n"


def draw(table: pd.DataFrame) -> Figure:
    """Draw each cost against n, a line for each face and d."""
    lines = table.assign(label=table["face"] + ", d = " + table["d"].astype(str))
    drawn = looks(dict.fromkeys(lines["label"]))
    new, axes = panels(list(_MEASURES.values()), height=2.2)
    for measure, ax in zip(_MEASURES, axes, strict=True):
        for label, rows in lines.groupby("label", sort=False):
            ordered = rows.sort_values("n")
            ax.plot(ordered["n"], ordered[measure], **drawn[str(label)].line())
        ax.set(xscale="log", yscale="log", xlabel="samples n")
        label_sizes(ax, np.unique(table["n"].to_numpy(dtype=np.float64)))
    legend(new, [(key(**look.line()), name) for name, look in drawn.items()])
    return new


@click.command()
@click.argument("folder", type=_FOLDER)
def main(folder: Path) -> None:
    """Write the table and the figure of the FOLDER of a run."""
    table = costs(load_results(folder))
    path = folder / "primal_against_dual.md"
    path.write_text(to_markdown(table))
    with style():
        written = save(draw(table), folder, "primal_against_dual")
    for each in (path, *written):
        click.echo(each)


if __name__ == "__main__":
    main()
