"""Tables for papers: chosen problems, solvers and numbers, as LaTeX, Markdown or CSV.

    dualgap table runs/quickstart --format latex --columns smo,libsvm --values time,gap

Numbers are medians over the repetitions. The times of the fastest solver of a problem, and of all within
its noise (see `noise.winners`), are bold, among the solvers in the table. Answers that are not certified
as solved are never bold, and nothing is if the noise is unknown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import kind_of, missed_gap_text, words_of
from dualgap.experiments.analysis.noise import (
    MIN_REPETITIONS,
    aa_pairs,
    noise_of_problems,
    noise_unknown,
    winners,
)
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import solved_of, times, whole_runs
from dualgap.experiments.records.choices import (
    choices_text,
    common_words,
    distinct_names,
    same_name,
)
from dualgap.experiments.records.outcomes import DENSE_REFERENCE, FINAL, NOT_RUN
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import load_results
from dualgap.experiments.tables.formats import SETUP, machine_text, rounded
from dualgap.experiments.tables.table import Cell, Column, Table

Side = Literal["problem", "solver"]


class Value(NamedTuple):
    """A quantity that a table can show.

    Attributes
    ----------
    caption : its name in the caption. column : its column in the records.
    digits : default number of significant digits; 0 for integers. scale : divisor, for other units.
    scientific : whether it is shown as 4e-07.
    """

    caption: str
    column: str
    digits: int
    scale: float = 1.0
    scientific: bool = False


VALUES = {
    "time": Value("solving time in seconds", "time_solve", 3),
    "ratio": Value("time over that of the fastest", "time_solve", 3),
    "gap": Value("certified relative gap", "relative_gap", 2, scientific=True),
    "suboptimality": Value(
        "relative distance to the best bound", "relative_suboptimality", 2, scientific=True
    ),
    "objective": Value("objective", "objective", 8),
    "kkt": Value("natural residual", "kkt_violation", 2, scientific=True),
    "setup": Value("setup time in seconds", "time_setup", 3),
    "iterations": Value("iterations", "iterations", 0),
    "evaluations": Value("kernel evaluations", "n_kernel_evals", 3),
    "support": Value("support vectors", "n_support", 0),
    "memory": Value("peak memory in MiB", "peak_rss", 3, scale=2.0**20),
    "margin": Value("margin", "margin", 4),
    "train_accuracy": Value("training accuracy", "train_accuracy", 3),
    "test_accuracy": Value("test accuracy", "test_accuracy", 3),
}
_TIMES = ("time", "ratio")  # only solved answers have them; the fastest are bold
_AT_TARGET = ("time", "ratio", "gap", "memory")


def paper_table(
    folder: Path,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: Sequence[str] = ("time",),
    by: Side = "problem",
    target: float | None = None,
) -> Table:
    """Return the table of a results folder, of runs or published.

    Parameters
    ----------
    rows, columns : patterns for the names to show, in this order; by default all, solvers that solve
        most first. A pattern is a name, part of a name, or has the wildcards * and ?; or several of
        these, separated by commas.
    values : names in `VALUES`, optionally with a number of digits: "objective:10".
    by : the meaning of a row; columns are the other one.
    target : show for each solver its cheapest run, at any tolerance, that is certified to this relative
        gap (see `analysis.times`); only time, ratio, gap and memory are available then.

    Raises
    ------
    StoreError
        If the folder holds no results.
    ValueError
        If it has no runs, a pattern matches nothing, or a value is unknown; the message has the choices.
    """
    selected = dict(_value(name, target) for name in values)
    named = Results(load_results(folder))
    results = named.runs if target is None else named.by_optimum
    results = results[results["solver"].map(kind_of) != DENSE_REFERENCE]
    if results.empty:
        raise ValueError(f"Results folder {folder} has no runs of solvers to make a table of.")
    noise = noise_of_problems(aa_pairs(results))
    entries = (
        whole_runs(results[~results["aa_repeat"]])
        if target is None
        else _cheapest_runs(named, target)
    )
    patterns = (rows, columns) if by == "problem" else (columns, rows)
    words = words_of(results)
    names_by_id = dict(zip(words, distinct_names([*words.values()]), strict=True))
    problems = _chosen("problem", patterns[0], entries["problem"].unique(), names_by_id)
    solvers = _chosen("solver", patterns[1], _best_first(entries))
    entries = entries[entries["problem"].isin(problems) & entries["solver"].isin(solvers)]
    entries, unknown = _with_winners(entries, noise)
    records = entries.to_dict("records")
    entry_of = {(str(row["problem"]), str(row["solver"])): row for row in records}
    names = dict(zip(problems, distinct_names([words[p] for p in problems]), strict=True))
    outer_names, inner_names = (problems, solvers) if by == "problem" else (solvers, problems)
    lines: list[list[Cell]] = []
    for outer in outer_names:
        cells = [Cell(names.get(outer, outer))]
        for inner in inner_names:
            row = entry_of.get((outer, inner) if by == "problem" else (inner, outer))
            cells += [_cell(row, *value) if row else Cell("") for value in selected.items()]
        lines.append(cells)
    heads = [
        Column(head) if len(selected) == 1 else Column(value, group=head)
        for head in (names.get(inner, inner) for inner in inner_names)
        for value in selected
    ]
    title = _caption(folder, results, entries, selected, unknown, target)
    return Table([Column(by), *heads], lines, title)


def _cheapest_runs(results: Results, target: float) -> pd.DataFrame:
    """Return the columns of `whole_runs` from each solver's cheapest run within a target."""
    reached = times(results, [target])
    return reached.rename(columns={"time": "time_solve", "memory": "peak_rss"}).assign(
        outcome=reached["outcome"].replace("reached", "solved"),
        relative_gap=reached["gap"],
        worst_gap=reached["gap"],
        runs=0,
        solved=0,
    )


def _best_first(entries: pd.DataFrame) -> pd.Index:
    """Return the solvers, those that solved most problems first, ties by mean time."""
    solved = entries["time_solve"].where(entries["outcome"].isin(FINAL))
    scores = solved.groupby(entries["solver"], sort=False).agg(["count", "mean"])
    return scores.sort_values(["count", "mean"], ascending=[False, True]).index


def _value(text: str, target: float | None) -> tuple[str, int]:
    """Return a value's name and its digits; raise ValueError if there is no such value."""
    name, _, suffix = text.partition(":")
    accepted = VALUES if target is None else _AT_TARGET
    if name not in accepted:
        condition = "" if target is None else " with a target"
        raise ValueError(f"values{condition} must be among {', '.join(accepted)}, got {name!r}")
    if suffix and not re.fullmatch("[0-9]{1,2}", suffix):
        raise ValueError(f"values: the digits in {text!r} must be an integer from 0 to 99")
    return name, int(suffix) if suffix else VALUES[name].digits


def _chosen(
    kind: str,
    patterns: Sequence[str],
    names: Iterable[Any],
    printed: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the names that match the patterns, in their order; all names without patterns.

    Parameters
    ----------
    printed : the names as printed in tables, where different.
    """
    available = [str(name) for name in names]
    all_forms = [[name, printed.get(name, name)] for name in available]

    def matches(pattern: str) -> list[str]:
        exact = [forms[0] for forms in all_forms if any(same_name(pattern, name) for name in forms)]
        return exact or [n for n in available if pattern in n or fnmatchcase(n, pattern)]

    chosen: list[str] = []
    for text in patterns:
        # a name may have commas itself, between parentheses
        for pattern in [text] if matches(text) else re.split(r",(?![^(]*\))", text):
            if not (matching := matches(pattern.strip())):
                raise ValueError(
                    f"no {kind} matches {pattern!r}; {choices_text(pattern, all_forms)}"
                )
            chosen += matching
    return list(dict.fromkeys(chosen)) if patterns else available


def _with_winners(
    entries: pd.DataFrame, noise: Mapping[str, float]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the entries with two more columns, and the problems whose noise is unknown.

    `wins`: whether it is the fastest of its problem, or within the noise of it. `fastest`: the time of
    the fastest. Only solved entries count.
    """
    final = entries[entries["outcome"].isin(FINAL)]
    fastest = entries["problem"].map(final.groupby("problem")["time_solve"].min())
    if entries["solver"].nunique() < 2:
        return entries.assign(wins=False, fastest=fastest), []
    unclear = final.loc[noise_unknown(final, "time_solve", noise), "problem"].unique()
    wins = winners(final, "time_solve", noise).reindex(entries.index, fill_value=False)
    return entries.assign(wins=wins, fastest=fastest), [*map(str, unclear)]


def _cell(row: Mapping[Any, Any], name: str, digits: int) -> Cell:
    """Return the cell of a number; instead of a missing time, the reason or the gap that was reached."""
    value = VALUES[name]
    if name in _TIMES and row["outcome"] not in FINAL:
        if row["outcome"] in NOT_RUN:
            return Cell("–")
        has_gap = row["outcome"] != "wrong" and np.isfinite(row["worst_gap"])
        missed = f"≈ {missed_gap_text(row['worst_gap'], 0)}" if has_gap else ""
        text = missed or str(row["outcome"]).replace("_", " ")
        return Cell(f"{text} ({partial})" if (partial := solved_of(row)) else text)
    number = float(row[value.column]) / (row["fastest"] if name == "ratio" else value.scale)
    scientific = value.scientific and number
    text = f"{number:.{max(digits - 1, 0)}e}" if scientific else rounded(number, digits)
    return Cell("–" if np.isnan(number) else text, number, name in _TIMES and bool(row["wins"]))


def _caption(
    folder: Path,
    results: pd.DataFrame,
    entries: pd.DataFrame,
    names: Iterable[str],
    unknown: Sequence[str],
    target: float | None,
) -> str:
    """Return the caption: quantities, target gap, meaning of bold and other signs, and machine."""
    words = "; ".join(VALUES[name].caption for name in names)
    counts = sorted({int(runs) for runs in entries["runs"]} - {0})
    counts = counts or [int(results["repetition"].max()) + 1]
    several = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else str(counts[-1])
    medians = f"medians of {several} runs" if counts[-1] > 1 else "of single runs"
    gaps = sorted(results["target_gap"].unique()) if target is None else [target]
    accepted = ", ".join(f"{gap:g}" for gap in gaps)
    cheapest = "" if target is None else ", at the cheapest tolerance that reaches it"
    problem_words = words_of(results)
    common = common_words([problem_words[str(problem)] for problem in entries["problem"].unique()])
    unsolved = entries[~entries["outcome"].isin(FINAL)]
    impossible = unsolved["outcome"].isin(NOT_RUN)
    has_gap = ~impossible & (unsolved["outcome"] != "wrong") & np.isfinite(unsolved["worst_gap"])
    bold, timed = entries["wins"].any(), not set(names).isdisjoint(_TIMES)
    subject = f"of {len(unknown)} problems" if bold else "of these times"
    sentences = {
        f"{words[0].upper()}{words[1:]}, {medians}.": True,
        f"Solved: certified relative gap at most {accepted}{cheapest}.": True,
        f"All problems: {' '.join(common)}.": common,
        "Bold: the fastest that solved the problem, and all within the noise of its time "
        "(95 % interval of the ratio of medians, or A/A pairs).": timed and bold,
        f"The noise {subject} is unknown (fewer than {MIN_REPETITIONS} runs): none is bold there.": timed
        and unknown,
        SETUP: "setup" in names,
        "≈: not solved; relative gap that was reached.": timed and has_gap.any(),
        "–: unsupported problem, or solver not installed.": timed and impossible.any(),
    }
    in_table = results[["series", "configuration"]].isin(set(entries["solver"])).any(axis=1)
    *machine_lines, _versions = machine_text(read_manifest(folder), results[in_table])
    return " ".join([*(sentence for sentence, holds in sentences.items() if holds), *machine_lines])
