"""Tables made from that of `cheapest`: means of ratios, cost of the intercept, passes."""

from __future__ import annotations

import pandas as pd

from experiments.analysis.cheapest import tried_in_vain
from experiments.analysis.configurations import Row, configurations
from experiments.analysis.noise import compare

_WITHOUT = " intercept=False"


def means(table: pd.DataFrame, noise: float = 1.0) -> pd.DataFrame:
    """Return one row for each target and solver of the table of `cheapest`.

    Sorted by target, ours first. Columns: target, solver, kind, single, ours (our solvers that the
    ratios are to), mean (geometric, of the ratios), low, high and within_noise of it, problems (over
    how many), least, most, failed (problems that ours solved and it did not, though it was asked),
    alone (problems that it solved and ours did not). The interval is of the mean over these very
    problems. `noise` is what `noise_of_means` gives.
    """
    fails = table[table["kind"] == "ours"].groupby(["target", "problem"])["time"].min().isna()
    pairs = pd.MultiIndex.from_frame(table[["target", "problem"]])
    missed = table.assign(missed=fails.reindex(pairs).fillna(value=True).to_numpy(dtype=bool))
    places = ["target", "solver", "kind"]
    rows = [
        dict(zip(places, place, strict=True)) | _mean(group, noise)
        for place, group in missed.groupby(places, sort=False)
    ]
    order = ["target", "kind", "solver"]
    return pd.DataFrame(rows).sort_values(order, ascending=[False, True, True])


def _mean(rows: pd.DataFrame, noise: float) -> Row:
    both = rows.dropna(subset=["ratio"])
    others = both[both["reference"].map(len) > 0]
    pairs = list(zip(others["times"], others["reference"], strict=True))
    mean = vars(compare(pairs, noise, ones=len(both) - len(pairs)))
    names = both["ours"].value_counts()
    counted = [name if len(names) == 1 else f"{name} ({n})" for name, n in names.items()]
    return {
        "single": rows["single"].iloc[0],
        "ours": ", ".join(map(str, counted)),
        "mean": mean.pop("ratio"),
        **mean,
        "problems": len(both),
        "least": both["ratio"].min(),
        "most": both["ratio"].max(),
        "failed": int((tried_in_vain(rows) & ~rows["missed"]).sum()),
        "alone": int((rows["time"].notna() & rows["missed"]).sum()),
    }


def intercepts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of the unregularised intercept, for problems that were also solved without it.

    Columns: target, problem (with it), solver, without and with (s), ratio; one row for each target,
    problem and solver that solved both.
    """
    without = table[table["problem"].str.contains(_WITHOUT)]
    renamed = without.assign(problem=without["problem"].str.replace(_WITHOUT, ""))
    keys = ["target", "problem", "solver"]
    both = renamed[[*keys, "time"]].merge(
        table[[*keys, "time"]], on=keys, suffixes=("_without", "_with")
    )
    both = both.rename(columns={"time_without": "without", "time_with": "with"})
    return both.assign(ratio=both["with"] / both["without"]).dropna(subset=["ratio"])


def passes(results: pd.DataFrame) -> pd.DataFrame:
    """Return the configurations of solvers that count passes over the data; empty if there are none."""
    known = configurations(results)
    return known[known["setting"].str.contains("epochs")]
