"""Tables for papers: chosen problems, solvers and numbers, as LaTeX, Markdown or CSV.

    dualgap table runs/quickstart --format latex --columns smo --columns libsvm --values time,gap

Numbers are medians over the repetitions. Bold are the times of the fastest solver of a problem and of
all that are within the noise of it (see `noise.ranks`), among the solvers that are shown. An answer that
is not solved, by its certificate, never is; where the noise is not known, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from experiments.analysis.cheapest import cheapest
from experiments.analysis.configurations import joined_by_optimum, measured
from experiments.analysis.hosts import split_by_host
from experiments.analysis.labels import distinct_names, kind_of
from experiments.analysis.noise import FEWEST, aa_pairs, noise_of_problems, ranked, without_repeats
from experiments.analysis.outcomes import FINAL, NOT_RUN, solved_of
from experiments.paper.caption import caption
from experiments.paper.text import FORMATS, Cell, PaperTable, rounded
from experiments.paper.values import VALUES, parse_value
from experiments.store.published import read_records

__all__ = ["FORMATS", "VALUES", "PaperTable", "paper_table"]

Side = Literal["problem", "solver"]


def paper_table(
    folder: Path,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: Sequence[str] = ("time",),
    digits: int | None = None,
    by: Side = "problem",
    target: float | None = None,
) -> PaperTable:
    """Return the table of a results folder, be it of runs or published.

    Parameters
    ----------
    rows, columns : patterns of what to show, in this order; where there are none all, of solvers those
        first that solve most. A pattern is a name, part of one, or has the wildcards * and ?.
    values : names in `VALUES`, each perhaps with its number of digits: "objective:10".
    digits : significant digits of all other values.
    by : what a row is; the columns are the other.
    target : show of each solver the cheapest run, whatever its tolerance, that is certified to this
        relative gap (see `benchmark.cheapest`); only time, ratio, gap and memory are known then.

    Raises
    ------
    StoreError
        If the folder holds no results.
    ValueError
        If a pattern fits nothing, or a value is not known; the message has what is.
    """
    shown = dict(parse_value(name, digits, target) for name in values)
    results = split_by_host(read_records(folder))
    results = results[results["solver"].map(kind_of) != "floor"]
    results = results if target is None else joined_by_optimum(results)
    noise = noise_of_problems(aa_pairs(results))
    entries = measured(without_repeats(results)) if target is None else _at_target(results, target)
    patterns = (rows, columns) if by == "problem" else (columns, rows)
    problems = _chosen("problem", patterns[0], entries["problem"].unique())
    solvers = _chosen("solver", patterns[1], _best_first(entries))
    entries = entries[entries["problem"].isin(problems) & entries["solver"].isin(solvers)]
    entries, unknown = _with_winners(entries, noise)
    cells = {
        (str(row["problem"]), str(row["solver"])): [
            _cell(row, name, count) for name, count in shown.items()
        ]
        for row in entries.to_dict("records")
    }
    blank = [Cell(np.nan, "")] * len(shown)
    short = distinct_names(problems)
    sides = [(problems, short), (solvers, solvers)]
    (down, names), (across, groups) = sides if by == "problem" else sides[::-1]
    places = [[(d, a) if by == "problem" else (a, d) for a in across] for d in down]
    return PaperTable(
        name=folder.name,
        corner=by,
        rows=tuple(names),
        groups=tuple(groups),
        heads=tuple(shown),
        cells=tuple(
            tuple(chain.from_iterable(cells.get(place, blank) for place in line)) for line in places
        ),
        caption=caption(folder, results, entries, shown, unknown, target),
    )


def _best_first(entries: pd.DataFrame) -> list[str]:
    """Return the solvers: those first that solved most problems, and took least time for them."""
    times = entries["time_solve"].where(entries["outcome"].isin(FINAL))
    known = times.groupby(entries["solver"], sort=False).agg(["count", "mean"])
    ordered = known.sort_values(["count", "mean"], ascending=[False, True])
    return [str(name) for name in ordered.index]


def _chosen(what: str, patterns: Sequence[str], names: Iterable[Any]) -> list[str]:
    known = [str(name) for name in names]
    chosen: list[str] = []
    for pattern in patterns:
        fitting = [n for n in known if pattern in n or fnmatchcase(n, pattern)]
        found = [pattern] if pattern in known else fitting
        if not found:
            raise ValueError(f"no {what} fits {pattern!r}; there are: {'; '.join(known)}")
        chosen += found
    return list(dict.fromkeys(chosen)) if patterns else known


def _at_target(results: pd.DataFrame, target: float) -> pd.DataFrame:
    """Return what `measured` does, of each solver's cheapest run that reached the target."""
    table = cheapest(results, [target])
    return table.assign(
        outcome=table["outcome"].replace("reached", "solved"),
        time_solve=table["time"],
        relative_gap=table["gap"],
        worst_gap=table["gap"],
        peak_rss=table["memory"],
        runs=0,
        solved=0,
    )


def _with_winners(
    entries: pd.DataFrame, noise: Mapping[str, float]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the entries with two more columns, and the problems whose noise is not known.

    `wins`: whether it is the fastest of its problem, or within the noise of it. `least`: the time of the
    fastest. Only solved entries count.
    """
    final = entries[entries["outcome"].isin(FINAL)]
    least = entries["problem"].map(final.groupby("problem")["time_solve"].min())
    several = final.groupby("problem", sort=False)["solver"].transform("size") > 1
    few = final["times"].map(len).groupby(final["problem"]).transform("min") < FEWEST
    unclear = final[several & few & ~final["problem"].isin(list(noise))]
    wins = ranked(final.drop(unclear.index), "time_solve", noise).reindex(entries.index) == 1
    if entries["solver"].nunique() < 2:
        return entries.assign(wins=False, least=least), []
    return entries.assign(wins=wins, least=least), [*map(str, unclear["problem"].unique())]


def _cell(row: Mapping[Any, Any], name: str, digits: int) -> Cell:
    value = VALUES[name]
    if value.is_time and row["outcome"] not in FINAL:
        return Cell(np.nan, _instead(row))
    number = float(row[value.column]) / (row["least"] if name == "ratio" else value.scale)
    text = f"{number:.{max(digits - 1, 0)}e}" if value.small and number else rounded(number, digits)
    return Cell(number, "–" if np.isnan(number) else text, value.is_time and row["wins"])


def _instead(row: Mapping[Any, Any]) -> str:
    """Return what stands in place of a time: why there is none, or the gap that was reached."""
    if row["outcome"] in NOT_RUN:
        return "–"
    known = row["outcome"] != "wrong" and np.isfinite(row["worst_gap"])
    text = f"≈ {row['worst_gap']:.0e}" if known else str(row["outcome"]).replace("_", " ")
    return f"{text} ({some})" if (some := solved_of(row)) else text
