"""The summary of a run: for each problem its solvers by rank, in the terminal and as Markdown.

A solver is ranked by its median time if the certificate calls all its repetitions solved (or proven
infeasible); solvers whose difference is within the noise share a rank. All others follow, with the
reason.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group
from rich.text import Text

from dualgap.experiments.analysis.hosts import hosts_note, split_by_host
from dualgap.experiments.analysis.noise import (
    FEWEST,
    MARK,
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
    ranked,
)
from dualgap.experiments.analysis.times import READINGS, grouped, solved_of, whole_runs
from dualgap.experiments.records.names import AA_REPEAT
from dualgap.experiments.records.outcomes import FAILING, FINAL
from dualgap.experiments.tables.formats import SETUP, precise_duration
from dualgap.experiments.tables.table import Cell, Column, Table
from dualgap.problems.texts import markdown

_MEDIANS = {
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
    "solver": Column("solver", side="words"),
    "time": Column("time", precise_duration),
    "set-up": Column("set-up", precise_duration, optional=4),
    "compared": Column("ratio", side="left"),
    "objective": Column("objective", "{:.8g}".format, optional=5),
    "gap": Column("gap", _exponent),
    "subopt.": Column("subopt.", _exponent, optional=1),
    "KKT": Column("KKT", _exponent, optional=2),
    "SV": Column("SV", "{:.0f}".format, optional=3),
    "ended": Column("outcome", side="words"),
}
_LEGEND = (
    f"{READINGS['whole_run']} `time` is of solving, `set-up` of what comes before (imports, "
    f"compiling, a first small run). {SETUP} `gap` and `subopt.` are relative: the certified gap of the "
    "answer, and its distance to the best lower bound that any solver reached; `KKT` is the "
    "natural residual, `SV` the number of support vectors. `ratio` is the time over that of the "
    f"fastest, from {FEWEST} repetitions on with its 95 % interval (Student's t of the logarithms); "
    f"`{MARK}` stands for a difference within the noise. A solver marked {AA_REPEAT} is an identical "
    "configuration run a second time: its ratio to the first one estimates timing noise. `proven`: both "
    "bounds are theorems about the stored data, from ball arithmetic.\n"
)
_WITHIN_NOISE = (
    f"{MARK} within the noise: 1 is inside the 95 % interval of the ratio, or the ratio is no larger "
    f"than that of an {AA_REPEAT} pair, one solver run as two, on this problem."
)
_MOST = 40  # problems that the terminal shows
_INCOMPARABLE = Comparison(np.nan)
_Row = dict[str, Any]


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and solver, best first within a problem.

    Columns: problem, rank (NaN for those not ranked), solver, time (s), set-up (s), ratio (to the
    fastest that is ranked), low, high, within_noise (see `Comparison`), objective, gap (relative),
    subopt. (relative), KKT, SV, outcome, proven (whether the bounds of all runs are), runs, solved (how
    many of these are), reason, host. Numbers are medians over the repetitions. The second of an A/A pair
    is not ranked, and its ratio is to the first. Runs on several hosts are separate problems, with rows
    of their own for each host.
    """
    results = split_by_host(results)
    noise = noise_of_problems(aa_pairs(results))
    table = whole_runs(results).drop(columns="gap").rename(columns=_MEDIANS)
    final = table["outcome"].isin(FINAL)
    table["rank"] = ranked(table[final & ~table["repeat"]], "time", noise)
    places = {
        "problem": table.groupby("problem", sort=False).ngroup(),
        "open": ~final,
        "second of a pair": final & table["repeat"],
        "value": table["time"].where(final, table["gap"]),
    }
    order = pd.DataFrame(places).sort_values(list(places)).index
    rows = table.loc[order].to_dict("records")
    firsts = {(row["problem"], row["solver"]): row for row in rows}
    fastest: dict[Any, dict[Any, Any]] = {}  # the first row of each problem
    shown: list[dict[Any, Any]] = []
    for row in rows:
        problem, outcome, repeat = row["problem"], row["outcome"], row["repeat"]
        reference = fastest.setdefault(problem, row)
        if repeat:  # the first of a pair may not have run yet
            reference = firsts.get((problem, row["first"]))
            if reference and outcome == reference["outcome"] not in FINAL:
                continue  # it would say what the first one says
        if outcome not in FINAL or not reference or np.isnan(row["time"]):
            ratio = _INCOMPARABLE
        elif reference is row:
            ratio = Comparison(1.0)
        else:
            compared = [(row["times"], reference["times"])]
            ratio = compare(compared, 1.0 if repeat else noise.get(str(problem), 1.0))
        shown.append(row | vars(ratio))
    known = ["problem", "rank", "solver", "time", "set-up", *vars(_INCOMPARABLE), "objective"]
    known += ["gap", "subopt.", "KKT", "SV", "outcome", "proven", "runs", "solved", "reason"]
    return pd.DataFrame(shown, columns=[*known, "host"])


def to_terminal(summary: pd.DataFrame) -> Group:
    """Return the summary for the terminal, one table for each problem; of many those broken first."""
    problems = list(_by_problem(summary))
    if more := max(0, len(problems) - _MOST):
        problems.sort(key=lambda each: not any(row["outcome"] in FAILING for row in each[1]))
    tables = [_table(problem, rows) for problem, rows in problems[:_MOST]]
    legend = [Text(SETUP, style="dim"), ""] if summary["set-up"].notna().any() else []
    legend += [Text(_WITHIN_NOISE, style="dim"), ""] if summary["within_noise"].any() else []
    if hosts := hosts_note(summary["host"]):
        legend += [Text(hosts, style="dim"), ""]
    legend += [f"... and {more} more problem{'s' * (more > 1)}, in summary.md", ""] if more else []
    return Group(*(part for table in tables for part in (table, "")), *legend)


def _table(problem: str, rows: list[_Row]) -> Table:
    """Return the table of one problem, and below it why solvers are not ranked, where that is known."""
    notes = [
        f"{row['solver']}: {row['reason']}"
        for row in rows
        if row["reason"] and row["outcome"] not in FINAL
    ]
    shown: list[_Row] = []
    for row in rows:
        compared = Comparison(*(row[name] for name in vars(_INCOMPARABLE)))
        outcome = row["outcome"]
        ended = ", ".join(filter(None, [outcome, row["proven"] and "proven", solved_of(row)]))
        colour = "green" if outcome in FINAL else "red" if outcome in FAILING else "yellow"
        shown.append(row | {"compared": str(compared), "ended": Cell(ended, style=colour)})
    return Table.of(shown, _COLUMNS, problem, notes)


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
    """Return how often each outcome occurs in a summary, and its rows, as plain values."""
    outcomes = summary["outcome"].value_counts().to_dict()
    return {"outcomes": outcomes, "rows": summary.to_dict("records")}


def _by_problem(summary: pd.DataFrame) -> Iterator[tuple[str, list[_Row]]]:
    for (problem,), own in grouped(summary.to_dict("records"), summary["problem"]).items():
        yield str(problem), own
