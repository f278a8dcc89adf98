"""The map between ν and C: soft margins and ν-machines of the same samples on one curve.

At the optimum of the soft margin Σαᵢ = ν·C·n states its ν; divided by its ρ, the answer of ν-SVC is
that of the soft margin with C = 1/ρ (Schölkopf, Smola, Williamson & Bartlett 2000, proposition 13). Both
follow from the records: Σαᵢ is the dual objective + ½‖w‖², 2/‖w‖ or 2ρ/‖w‖ is the margin, and ν is in
the problem's specification.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.analysis.labels import specifications
from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import BLUE, GREY, VERMILION, key, label_outside, legend, panels
from experiments.tables.table import Column, Table

_SOFT, _NU = "soft_margin_dual", "nu_svc"
_SHARES = ["n_bounded", "n_support"]
_LOOSE = 1e-2  # relative gap above which an answer says nothing of the other parameter
_STYLES = {
    _SOFT: (BLUE, "o", "soft margin: ν = Σα/(C·n)"),
    _NU: (VERMILION, "s", "ν-SVC: C = 1/ρ"),
}
_COLUMNS = {
    "title": Column("samples"),
    "formulation": Column("solved as"),
    "C": Column("C", "{:.4g}".format),
    "nu": Column("ν", "{:.4g}".format),
    "n_bounded": Column("at the bound", "{:.3f}".format),
    "n_support": Column("support vectors", "{:.3f}".format),
    "margin": Column("margin", "{:.4g}".format),
    "test_accuracy": Column("test accuracy", "{:.4f}".format, missing="nan"),
}


class NuAgainstC(Drawing):
    """ν against C, a panel for each data set and kernel that both machines have been solved on."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure and a table if there are runs of both machines."""
        points = mapped(runs.table)
        if not points.empty:
            yield self.name, nu_against_c(points)
            yield self.name, to_markdown(points)


def mapped(table: pd.DataFrame) -> pd.DataFrame:
    """Return one run of each problem of samples that both machines have, with its `C` and `nu`."""
    good = table[table["formulation"].isin(_STYLES) & (table["relative_gap"] <= _LOOSE)]
    good = good[np.isfinite(good["margin"]) & (good["margin"] > 0)]
    best = good.sort_values("relative_gap").drop_duplicates("problem_id")
    dual, is_soft = best["dual_objective"], best["formulation"] == _SOFT
    norm = np.where(is_soft, 2 / best["margin"], np.sqrt(np.maximum(-2 * dual, 0.0)))
    rho = best["margin"] * norm / 2
    C = np.where(is_soft, best["C"], 1 / rho)
    parameters = {k: v["parameters"] for k, v in specifications(best).items()}
    stated = (
        best["problem_id"].map({k: own.get("nu") for k, own in parameters.items()}).astype(float)
    )
    nu = np.where(is_soft, (dual + 0.5 * norm**2) / (C * best["n"]), stated)
    titles = best["dataset"].astype(str) + " " + best["kernel"].astype(str)
    known = best.assign(C=C, nu=nu, title=titles)
    both = known.groupby("title")["formulation"].transform("nunique") == len(_STYLES)
    return known[both].sort_values(["title", "C"])


def nu_against_c(points: pd.DataFrame) -> Figure:
    """Draw ν against C, and the shares of samples at the bound and of all support vectors."""
    titles = list(dict.fromkeys(points["title"]))
    new, axes = panels(titles)
    for title, ax in zip(titles, axes, strict=True):
        rows = points[points["title"] == title]
        bounded, support = (rows[name] / rows["n"] for name in _SHARES)
        ax.fill_between(rows["C"], bounded, support, color=GREY, alpha=0.25, linewidth=0)
        ax.plot(rows["C"], rows["nu"], color=GREY, linewidth=0.8, zorder=1)
        for name, (colour, marker, _) in _STYLES.items():
            own = rows[rows["formulation"] == name]
            ax.plot(own["C"], own["nu"], color=colour, marker=marker, linestyle="none")
        ax.set(xscale="log", ylim=(0, None))
    label_outside(axes, "C", "ν, and shares of the samples")
    marks = [
        (key(color=colour, marker=marker, linestyle="none"), label)
        for colour, marker, label in _STYLES.values()
    ]
    shares = key(color=GREY, alpha=0.25, linewidth=6), "from α = C (all margin errors) to all α > 0"
    legend(new, [*marks, shares], columns=2)
    return new


def to_markdown(points: pd.DataFrame) -> str:
    """Return a table of the machines in the order of C."""
    shares = points[_SHARES].div(points["n"], axis=0)
    table = Table.of(points.assign(**{k: shares[k] for k in _SHARES}), _COLUMNS).markdown()
    return (
        f"# ν and C\n\n{table}\n\nOf the soft margin ν = Σα/(C·n), of ν-SVC C = 1/ρ: "
        "the other parameter with which the same machine is found. ν is between the shares of "
        "samples at the bound, which all margin errors are, and of support vectors.\n"
    )
