"""Tables for papers: chosen problems, solvers and numbers, as LaTeX, Markdown or CSV.

    dualgap table runs/quickstart --format latex --columns smo --columns libsvm --values time,gap

Numbers are medians over the repetitions. Bold are the times of the fastest solver of a problem and of
all within the noise of it (see `noise.winners`), among the solvers that are shown. An answer that is
not solved, by its certificate, never is; where the noise is not known, nothing is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.hosts import split_by_host
from dualgap.experiments.analysis.labels import kind_of, words_of
from dualgap.experiments.analysis.noise import (
    FEWEST,
    aa_pairs,
    noise_of_problems,
    noise_unknown,
    winners,
    without_repeats,
)
from dualgap.experiments.analysis.times import joined_by_optimum, solved_of, times, whole_runs
from dualgap.experiments.records.names import (
    choices_text,
    common_words,
    distinct_names,
    missed_gap_text,
    same_name,
)
from dualgap.experiments.records.outcomes import FINAL, NOT_RUN
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import load_results
from dualgap.experiments.tables.formats import SETUP, machine_text, rounded
from dualgap.experiments.tables.table import Cell, Column, Table

Side = Literal["problem", "solver"]


class Value(NamedTuple):
    """A number that a table can show.

    Attributes
    ----------
    words : its name in the caption. column : where it is among the records.
    digits : significant ones, unless given; 0 for whole numbers. scale : units of one.
    small : whether it is shown as 4e-07.
    """

    words: str
    column: str
    digits: int
    scale: float = 1.0
    small: bool = False


VALUES = {
    "time": Value("solving time in seconds", "time_solve", 3),
    "ratio": Value("time over that of the fastest", "time_solve", 3),
    "gap": Value("certified relative gap", "relative_gap", 2, small=True),
    "suboptimality": Value(
        "relative distance to the best bound", "relative_suboptimality", 2, small=True
    ),
    "objective": Value("objective", "objective", 8),
    "kkt": Value("natural residual", "kkt_violation", 2, small=True),
    "setup": Value("setup time in seconds", "time_setup", 3),
    "iterations": Value("iterations", "iterations", 0),
    "evaluations": Value("kernel evaluations", "n_kernel_evals", 3),
    "support": Value("support vectors", "n_support", 0),
    "memory": Value("peak memory in MiB", "peak_rss", 3, scale=2.0**20),
    "margin": Value("margin", "margin", 4),
    "train_accuracy": Value("training accuracy", "train_accuracy", 3),
    "test_accuracy": Value("test accuracy", "test_accuracy", 3),
}
_TIMES = ("time", "ratio")  # only solved answers have them, and the fastest of these are bold
_AT_TARGET = ("time", "ratio", "gap", "memory")


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
        If it has no runs, a pattern fits nothing, or a value is not known; the message has what is.
    """
    shown = dict(_value(name, digits, target) for name in values)
    results = split_by_host(load_results(folder))
    results = results[results["solver"].map(kind_of) != "floor"]
    if results.empty:
        raise ValueError(f"{folder}: has no runs of solvers, of which a table could be made")
    results = results if target is None else joined_by_optimum(results)
    noise = noise_of_problems(aa_pairs(results))
    if target is None:
        entries = whole_runs(without_repeats(results))
    else:  # what whole runs have, of each solver's cheapest run that reached the target
        entries = times(results, [target])
        entries = entries.rename(columns={"time": "time_solve", "memory": "peak_rss"}).assign(
            outcome=entries["outcome"].replace("reached", "solved"),
            relative_gap=entries["gap"],
            worst_gap=entries["gap"],
            runs=0,
            solved=0,
        )
    patterns = (rows, columns) if by == "problem" else (columns, rows)
    words = words_of(results)
    printed = dict(zip(words, distinct_names([*words.values()]), strict=True))
    problems = _chosen("problem", patterns[0], entries["problem"].unique(), printed)
    # those first that solved most problems, and took least time for them
    solved = entries["time_solve"].where(entries["outcome"].isin(FINAL))
    best = solved.groupby(entries["solver"], sort=False).agg(["count", "mean"])
    best = best.sort_values(["count", "mean"], ascending=[False, True])
    solvers = _chosen("solver", patterns[1], best.index)
    entries = entries[entries["problem"].isin(problems) & entries["solver"].isin(solvers)]
    entries, unknown = _with_winners(entries, noise)
    known = {(str(row["problem"]), str(row["solver"])): row for row in entries.to_dict("records")}
    names = dict(zip(problems, distinct_names([words[p] for p in problems]), strict=True))
    places, groups = (problems, solvers) if by == "problem" else (solvers, problems)
    lines: list[list[Cell]] = []
    for place in places:
        cells = [Cell(names.get(place, place))]
        for group in groups:
            row = known.get((place, group) if by == "problem" else (group, place))
            cells += [_cell(row, *value) if row else Cell("") for value in shown.items()]
        lines.append(cells)
    heads = [
        Column(head) if len(shown) == 1 else Column(value, group=head)
        for head in (names.get(group, group) for group in groups)
        for value in shown
    ]
    title = _caption(folder, results, entries, shown, unknown, target)
    return Table([Column(by), *heads], lines, title)


def _value(text: str, digits: int | None, target: float | None) -> tuple[str, int]:
    """Return a value's name and its digits; ValueError if there is none of that name."""
    name, _, own = text.partition(":")
    known = VALUES if target is None else _AT_TARGET
    if name not in known:
        where = "" if target is None else " with a target"
        raise ValueError(f"values: must be of {', '.join(known)}{where}, got {name!r}")
    if own and not re.fullmatch("[0-9]{1,2}", own):
        raise ValueError(f"values: the digits in {text!r} must be a whole number")
    default = VALUES[name].digits
    return name, int(own) if own else default if digits is None or default == 0 else digits


def _chosen(
    what: str,
    patterns: Sequence[str],
    names: Iterable[Any],
    printed: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the names that patterns choose, in their order; all if there are none.

    Parameters
    ----------
    printed : what tables print for some of the names.
    """
    known = [str(name) for name in names]
    every = [[name, printed.get(name, name)] for name in known]
    chosen: list[str] = []
    for pattern in patterns:
        fitting = [n for n in known if pattern in n or fnmatchcase(n, pattern)]
        same = [own[0] for own in every if any(same_name(pattern, name) for name in own)]
        if not (same or fitting):
            raise ValueError(f"no {what} fits {pattern!r}; {choices_text(pattern, every)}")
        chosen += same or fitting
    return list(dict.fromkeys(chosen)) if patterns else known


def _with_winners(
    entries: pd.DataFrame, noise: Mapping[str, float]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the entries with two more columns, and the problems whose noise is not known.

    `wins`: whether it is the fastest of its problem, or within the noise of it. `least`: the time of the
    fastest. Only solved entries count.
    """
    final = entries[entries["outcome"].isin(FINAL)]
    least = entries["problem"].map(final.groupby("problem")["time_solve"].min())
    if entries["solver"].nunique() < 2:
        return entries.assign(wins=False, least=least), []
    unclear = final.loc[noise_unknown(final, "time_solve", noise), "problem"].unique()
    wins = winners(final, "time_solve", noise).reindex(entries.index, fill_value=False)
    return entries.assign(wins=wins, least=least), [*map(str, unclear)]


def _cell(row: Mapping[Any, Any], name: str, digits: int) -> Cell:
    """Return a number; in place of a time why there is none, or the gap that was reached."""
    value = VALUES[name]
    if name in _TIMES and row["outcome"] not in FINAL:
        if row["outcome"] in NOT_RUN:
            return Cell("–")
        known = row["outcome"] != "wrong" and np.isfinite(row["worst_gap"])
        missed = f"≈ {missed_gap_text(row['worst_gap'], 0)}" if known else ""
        text = missed or str(row["outcome"]).replace("_", " ")
        return Cell(f"{text} ({some})" if (some := solved_of(row)) else text)
    number = float(row[value.column]) / (row["least"] if name == "ratio" else value.scale)
    text = f"{number:.{max(digits - 1, 0)}e}" if value.small and number else rounded(number, digits)
    return Cell("–" if np.isnan(number) else text, number, name in _TIMES and bool(row["wins"]))


def _caption(
    folder: Path,
    results: pd.DataFrame,
    entries: pd.DataFrame,
    names: Iterable[str],
    unknown: Sequence[str],
    target: float | None,
) -> str:
    """Return the numbers, the target gap, the meaning of bold and other signs, and the machine."""
    words = "; ".join(VALUES[name].words for name in names)
    counts = sorted({int(runs) for runs in entries["runs"]} - {0})
    counts = counts or [int(results["repetition"].max()) + 1]
    several = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else str(counts[-1])
    medians = f"medians of {several} runs" if counts[-1] > 1 else "of single runs"
    gaps = sorted(results["target_gap"].unique()) if target is None else [target]
    accepted = ", ".join(f"{gap:g}" for gap in gaps)
    cheapest = "" if target is None else ", at the cheapest tolerance that reaches it"
    known = words_of(results)
    common = common_words([known[str(problem)] for problem in entries["problem"].unique()])
    unsolved = entries[~entries["outcome"].isin(FINAL)]
    impossible = unsolved["outcome"].isin(NOT_RUN)
    near = ~impossible & (unsolved["outcome"] != "wrong") & np.isfinite(unsolved["worst_gap"])
    bold, timed = entries["wins"].any(), not set(names).isdisjoint(_TIMES)
    of = f"of {len(unknown)} problems" if bold else "of these times"
    said = {
        f"{words[0].upper()}{words[1:]}, {medians}.": True,
        f"Solved: certified relative gap at most {accepted}{cheapest}.": True,
        f"All problems: {' '.join(common)}.": common,
        "Bold: the fastest that solved the problem, and all whose times are within the noise of it "
        "(95 % interval of the ratio of medians, or A/A pairs).": timed and bold,
        f"The noise {of} is not known (fewer than {FEWEST} runs): none is bold there.": timed
        and unknown,
        SETUP: "setup" in names,
        "≈: not solved, with the relative gap that was reached.": timed and near.any(),
        "–: the solver cannot take this problem, or is not installed.": timed and impossible.any(),
    }
    *described, _versions = machine_text(read_manifest(folder), results)
    return " ".join([*(sentence for sentence, holds in said.items() if holds), *described])
