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
from experiments.analysis.noise import (
    FEWEST,
    aa_pairs,
    noise_of_problems,
    ranks,
    without_repeats,
)
from experiments.analysis.outcomes import FINAL, NOT_RUN
from experiments.paper import caption
from experiments.paper.text import FORMATS, Cell, PaperTable, rounded
from experiments.paper.values import VALUES, Value, parse_value
from experiments.store.published import read_records

__all__ = ["FORMATS", "VALUES", "PaperTable", "paper_table"]

Side = Literal["problem", "solver"]
_Row = dict[str, Any]


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
    winners, unknown = _winners(entries, noise)
    cells = _cells(entries, shown, winners)
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
        caption=_caption(folder, results, entries, shown, winners, unknown, target),
    )


def _caption(
    folder: Path,
    results: pd.DataFrame,
    entries: pd.DataFrame,
    shown: Iterable[str],
    winners: set[tuple[str, str]],
    unknown: Sequence[str],
    target: float | None,
) -> str:
    problems = [str(problem) for problem in entries["problem"].unique()]
    sentences = [caption.values_text(shown, results, target), *caption.common_text(problems)]
    if any(VALUES[name].is_time for name in shown):
        sentences += caption.bold_text(bool(winners), len(unknown))
        sentences += caption.signs_text(entries)
    return " ".join([*sentences, *caption.machine(folder, results)])


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
        found = [n for n in known if n == pattern] or [n for n in known if _fits(n, pattern)]
        if not found:
            raise ValueError(f"no {what} fits {pattern!r}; there are: {'; '.join(known)}")
        chosen += found
    return list(dict.fromkeys(chosen)) if patterns else known


def _fits(name: str, pattern: str) -> bool:
    return pattern in name or fnmatchcase(name, pattern)


def _at_target(results: pd.DataFrame, target: float) -> pd.DataFrame:
    """Return what `measured` does, of each solver's cheapest run that reached the target."""
    table = cheapest(results, [target])
    return table.assign(
        outcome=table["outcome"].replace("reached", "solved"),
        time_solve=table["time"],
        relative_gap=table["gap"],
        worst_gap=table["gap"],
        peak_rss=table["memory"],
    )


def _winners(
    entries: pd.DataFrame, noise: Mapping[str, float]
) -> tuple[set[tuple[str, str]], list[str]]:
    """Return the fastest for each problem and all within the noise of it.

    Also the problems for which this is not known.
    """
    final = entries[entries["outcome"].isin(FINAL)].sort_values("time_solve", kind="stable")
    if entries["solver"].nunique() < 2:
        return set(), []
    winners: set[tuple[str, str]] = set()
    unknown: list[str] = []
    for problem, rows in final.groupby("problem", sort=False):
        name, times = str(problem), rows["times"].tolist()
        if len(times) > 1 and name not in noise and min(map(len, times)) < FEWEST:
            unknown.append(name)
            continue
        placed = zip(rows["solver"], ranks(times, noise.get(name, 1.0)), strict=True)
        winners |= {(name, str(solver)) for solver, rank in placed if rank == 1}
    return winners, unknown


def _cells(
    entries: pd.DataFrame, shown: Mapping[str, int], winners: set[tuple[str, str]]
) -> dict[tuple[str, str], list[Cell]]:
    final = entries[entries["outcome"].isin(FINAL)]
    fastest = final.groupby("problem")["time_solve"].min().to_dict()
    found: dict[tuple[str, str], list[Cell]] = {}
    for row in entries.to_dict("records"):
        place = str(row["problem"]), str(row["solver"])
        unit = {"ratio": fastest.get(place[0], np.nan)}
        found[place] = [
            _cell(
                {str(k): v for k, v in row.items()},
                VALUES[name],
                count,
                unit.get(name, VALUES[name].scale),
                place in winners,
            )
            for name, count in shown.items()
        ]
    return found


def _cell(row: _Row, value: Value, digits: int, unit: float, wins: bool) -> Cell:
    if value.is_time and row["outcome"] not in FINAL:
        return Cell(np.nan, _instead(row))
    number = float(row[value.column]) / unit
    text = f"{number:.{max(digits - 1, 0)}e}" if value.small and number else rounded(number, digits)
    return Cell(number, "–" if np.isnan(number) else text, value.is_time and wins)


def _instead(row: _Row) -> str:
    """Return what stands in place of a time: why there is none, or the gap that was reached."""
    if row["outcome"] in NOT_RUN:
        return "–"
    if row["outcome"] == "wrong" or not np.isfinite(row["worst_gap"]):
        return str(row["outcome"]).replace("_", " ")
    return f"≈ {row['worst_gap']:.0e}"
