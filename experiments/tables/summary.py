"""The summary of a run: the solvers of each problem by rank, in the terminal and as Markdown.

A solver is ranked by its median time if all its repetitions are certified as solved (or infeasible);
solvers whose difference is within the noise share a rank. All others follow, with the reason.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group
from rich.text import Text

from dualgap.experiments.analysis.labels import AA_REPEAT
from dualgap.experiments.analysis.noise import (
    MARK,
    MIN_REPETITIONS,
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
    ranked,
)
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import TIME_DEFINITIONS, grouped, solved_of, whole_runs
from dualgap.experiments.records.outcomes import FAILING, FINAL
from dualgap.experiments.tables.formats import SETUP, hosts_note, precise_duration
from dualgap.experiments.tables.table import Cell, Column, Table
from dualgap.problems.texts import markdown

_RENAMED = {
    "objective": "objective",
    "relative_gap": "gap",
    "relative_suboptimality": "subopt.",
    "kkt_violation": "KKT",
    "time_solve": "time",
    "time_setup": "set-up",
    "n_support": "SV",
}


def _exponent(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"


_COLUMNS = {
    "rank": Column("#", "{:.0f}".format),
    "solver": Column("solver", align="words"),
    "time": Column("time", precise_duration),
    "set-up": Column("set-up", precise_duration, drop_priority=4),
    "compared": Column("ratio", align="left"),
    "objective": Column("objective", "{:.8g}".format, drop_priority=5),
    "gap": Column("gap", _exponent),
    "subopt.": Column("subopt.", _exponent, drop_priority=1),
    "KKT": Column("KKT", _exponent, drop_priority=2),
    "SV": Column("SV", "{:.0f}".format, drop_priority=3),
    "ended": Column("outcome", align="words"),
}
_LEGEND = (
    f"{TIME_DEFINITIONS['whole_run']} `time` is the solving time, `set-up` the time before (imports, "
    f"compiling, a small warm-up run). {SETUP} `gap` and `subopt.` are relative: the certified gap of "
    "the answer, and its distance to the best lower bound of any solver; `KKT` is the natural "
    "residual, `SV` the number of support vectors. `ratio` is the time over that of the fastest, with "
    f"its 95 % interval (Student's t of the logarithms) from {MIN_REPETITIONS} repetitions on; "
    f"`{MARK}` means a difference within the noise. A solver marked {AA_REPEAT} is an identical "
    "configuration run a second time: its ratio to the first one estimates timing noise. `proven`: both "
    "bounds are theorems about the stored data, from ball arithmetic.\n"
)
_WITHIN_NOISE = (
    f"{MARK} within the noise: 1 is inside the 95 % interval of the ratio, or an {AA_REPEAT} pair, two "
    "identical runs, differs as much on this problem."
)
_MAX_PROBLEMS = 40  # problems in the terminal; the others are in summary.md
_NO_COMPARISON = Comparison(np.nan)
_Row = dict[str, Any]


def summarise(results: Results) -> pd.DataFrame:
    """Return one row per problem and solver, best first within a problem.

    Columns: problem, rank (NaN for those not ranked), solver, time (s), set-up (s), ratio (to the
    fastest that is ranked), low, high, within_noise (see `Comparison`), objective, gap (relative),
    subopt. (relative), KKT, SV, outcome, proven (whether the bounds of all runs are), runs, solved (how
    many of these are), reason, host. Numbers are medians over the repetitions. The second run of an A/A
    pair is not ranked, and its ratio is to the first. Runs on several hosts are separate problems.
    """
    noise = noise_of_problems(aa_pairs(results.runs))
    table = whole_runs(results.runs).drop(columns="gap").rename(columns=_RENAMED)
    final = table["outcome"].isin(FINAL)
    table["rank"] = ranked(table[final & ~table["aa_repeat"]], "time", noise)
    sort_keys = {
        "problem": table.groupby("problem", sort=False).ngroup(),
        "open": ~final,
        "second of a pair": final & table["aa_repeat"],
        "value": table["time"].where(final, table["gap"]),
    }
    order = pd.DataFrame(sort_keys).sort_values(list(sort_keys)).index
    rows = table.loc[order].to_dict("records")
    firsts = {(row["problem"], row["solver"]): row for row in rows}
    fastest: dict[Any, dict[Any, Any]] = {}  # first row of each problem
    ranked_rows: list[dict[Any, Any]] = []
    for row in rows:
        problem, outcome, repeat = row["problem"], row["outcome"], row["aa_repeat"]
        reference = fastest.setdefault(problem, row)
        if repeat:  # the first of a pair may not have run yet
            reference = firsts.get((problem, row["first"]))
            if reference and outcome == reference["outcome"] not in FINAL:
                continue  # it would repeat the first one
        if outcome not in FINAL or not reference or np.isnan(row["time"]):
            ratio = _NO_COMPARISON
        elif reference is row:
            ratio = Comparison(1.0)
        else:
            compared = [(row["times"], reference["times"])]
            ratio = compare(compared, 1.0 if repeat else noise.get(str(problem), 1.0))
        ranked_rows.append(row | vars(ratio))
    names = ["problem", "rank", "solver", "time", "set-up", *vars(_NO_COMPARISON), "objective"]
    names += ["gap", "subopt.", "KKT", "SV", "outcome", "proven", "runs", "solved", "reason"]
    return pd.DataFrame(ranked_rows, columns=[*names, "host"])


def to_terminal(summary: pd.DataFrame) -> Group:
    """Return the summary for the terminal, one table per problem, failures first if there are many."""
    problems = list(_by_problem(summary))
    if more := max(0, len(problems) - _MAX_PROBLEMS):
        problems.sort(key=lambda each: not any(row["outcome"] in FAILING for row in each[1]))
    tables = [_table(problem, rows) for problem, rows in problems[:_MAX_PROBLEMS]]
    legend = [Text(SETUP, style="dim"), ""] if summary["set-up"].notna().any() else []
    legend += [Text(_WITHIN_NOISE, style="dim"), ""] if summary["within_noise"].any() else []
    if hosts := hosts_note(summary["host"]):
        legend += [Text(hosts, style="dim"), ""]
    legend += [f"... and {more} more problem{'s' * (more > 1)}, in summary.md", ""] if more else []
    return Group(*(part for table in tables for part in (table, "")), *legend)


def _table(problem: str, rows: list[_Row]) -> Table:
    """Return the table of one problem, with notes on why solvers are not ranked."""
    notes = [
        f"{row['solver']}: {row['reason']}"
        for row in rows
        if row["reason"] and row["outcome"] not in FINAL
    ]
    cells: list[_Row] = []
    for row in rows:
        compared = Comparison(*(row[name] for name in vars(_NO_COMPARISON)))
        outcome = row["outcome"]
        outcome_text = ", ".join(
            filter(None, [outcome, row["proven"] and "proven", solved_of(row)])
        )
        colour = "green" if outcome in FINAL else "red" if outcome in FAILING else "yellow"
        cells.append(row | {"compared": str(compared), "ended": Cell(outcome_text, style=colour)})
    return Table.of(cells, _COLUMNS, problem, notes)


def to_markdown(summary: pd.DataFrame, title: str) -> str:
    """Return the summary as a Markdown document."""
    hosts = hosts_note(summary["host"])
    parts = [f"# {markdown(title)}\n", *([f"{markdown(hosts)}\n"] if hosts else [])]
    for problem, rows in _by_problem(summary):
        table = _table(problem, rows)
        parts.append(f"## {markdown(problem)}\n\n{table.markdown()}\n")
        parts += [f"- {markdown(note)}" for note in table.notes] + [""]
    return "\n".join([*parts, _LEGEND])


def to_json(summary: pd.DataFrame) -> dict[str, Any]:
    """Return the counts of outcomes and the rows of a summary as plain values."""
    outcomes = summary["outcome"].value_counts().to_dict()
    return {"outcomes": outcomes, "rows": summary.to_dict("records")}


def _by_problem(summary: pd.DataFrame) -> Iterator[tuple[str, list[_Row]]]:
    for (problem,), problem_rows in grouped(summary.to_dict("records"), summary["problem"]).items():
        yield str(problem), problem_rows
