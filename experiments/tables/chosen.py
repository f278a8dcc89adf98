"""Tables for papers: chosen problems, solvers and numbers, as LaTeX, Markdown or CSV.

    dualgap table runs/quickstart --format latex --columns smo --columns libsvm --values time,gap

Numbers are medians over the repetitions. Bold are the times of the fastest solver of a problem and of
all that are within the noise of it (see `noise.ranks`), among the solvers that are shown. An answer that
is not solved, by its certificate, never is; where the noise is not known, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from experiments.analysis.hosts import split_by_host
from experiments.analysis.labels import kind_of, words_of
from experiments.analysis.noise import FEWEST, aa_pairs, noise_of_problems, ranked, without_repeats
from experiments.analysis.times import joined_by_optimum, solved_of, times
from experiments.records.names import distinct_names
from experiments.records.outcomes import FINAL, NOT_RUN
from experiments.store.reading import load_results
from experiments.tables.caption import caption
from experiments.tables.formats import rounded
from experiments.tables.table import Cell, Column, Table
from experiments.tables.values import VALUES, parse_value

Side = Literal["problem", "solver"]


def paper_table(
    folder: Path,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: Sequence[str] = ("time",),
    digits: int | None = None,
    by: Side = "problem",
    target: float | None = None,
) -> Table:
    """Return the table of a results folder, be it of runs or published.

    Parameters
    ----------
    rows, columns : patterns of what to show, in this order; where there are none all, of solvers those
        first that solve most. A pattern is a name, part of one, or has the wildcards * and ?.
    values : names in `VALUES`, each perhaps with its number of digits: "objective:10".
    digits : significant digits of all other values.
    by : what a row is; the columns are the other.
    target : show of each solver the cheapest run, whatever its tolerance, that is certified to this
        relative gap (see `analysis.times`); only time, ratio, gap and memory are known then.

    Raises
    ------
    StoreError
        If the folder holds no results.
    ValueError
        If a pattern fits nothing, or a value is not known; the message has what is.
    """
    shown = dict(parse_value(name, digits, target) for name in values)
    results = split_by_host(load_results(folder))
    results = results[results["solver"].map(kind_of) != "floor"]
    results = results if target is None else joined_by_optimum(results)
    noise = noise_of_problems(aa_pairs(results))
    known = without_repeats(results)
    entries = times(known, "whole_run") if target is None else _at_target(results, target)
    patterns = (rows, columns) if by == "problem" else (columns, rows)
    problems = _chosen("problem", patterns[0], entries["problem"].unique())
    # those first that solved most problems, and took least time for them
    solved = entries["time_solve"].where(entries["outcome"].isin(FINAL))
    best = solved.groupby(entries["solver"], sort=False).agg(["count", "mean"])
    best = best.sort_values(["count", "mean"], ascending=[False, True])
    solvers = _chosen("solver", patterns[1], best.index)
    entries = entries[entries["problem"].isin(problems) & entries["solver"].isin(solvers)]
    entries, unknown = _with_winners(entries, noise)
    cells = {
        (str(row["problem"]), str(row["solver"])): [
            _cell(row, name, count) for name, count in shown.items()
        ]
        for row in entries.to_dict("records")
    }
    blank = [Cell("")] * len(shown)
    words = words_of(results)
    short = distinct_names([words[problem] for problem in problems])
    sides = [(problems, short), (solvers, solvers)]
    (down, names), (across, groups) = sides if by == "problem" else sides[::-1]
    lines: list[list[Cell]] = []
    for d, shown_name in zip(down, names, strict=True):
        places = [(d, a) if by == "problem" else (a, d) for a in across]
        lines.append([Cell(shown_name), *(c for place in places for c in cells.get(place, blank))])
    heads = [
        Column(group) if len(shown) == 1 else Column(v, group=group)
        for group in groups
        for v in shown
    ]
    title = caption(folder, results, entries, shown, unknown, target)
    return Table([Column(by), *heads], lines, title)


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
    """Return what whole runs have, of each solver's cheapest run that reached the target."""
    table = times(results, "cheapest_setting", [target])
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
    """Return a number; in place of a time why there is none, or the gap that was reached."""
    value = VALUES[name]
    if value.is_time and row["outcome"] not in FINAL:
        if row["outcome"] in NOT_RUN:
            return Cell("–")
        known = row["outcome"] != "wrong" and np.isfinite(row["worst_gap"])
        text = f"≈ {row['worst_gap']:.0e}" if known else str(row["outcome"]).replace("_", " ")
        return Cell(f"{text} ({some})" if (some := solved_of(row)) else text)
    number = float(row[value.column]) / (row["least"] if name == "ratio" else value.scale)
    text = f"{number:.{max(digits - 1, 0)}e}" if value.small and number else rounded(number, digits)
    return Cell("–" if np.isnan(number) else text, number, value.is_time and bool(row["wins"]))
