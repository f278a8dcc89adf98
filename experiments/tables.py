"""The summary of a run: for each problem its solvers by rank, in the terminal and as Markdown.

A solver is ranked by its median time if the certificate calls all its repetitions solved (or proven
infeasible). All others follow, with what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Set
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from experiments.records import BAD

_SETTLED = ("solved", "infeasible")
_RED = ("wrong", *BAD)
_WORST_FIRST = ("wrong", "uncertified", "inaccurate", "infeasible", "solved")
_MEDIANS = {
    "objective": "objective",
    "relative_gap": "gap",
    "relative_suboptimality": "subopt.",
    "kkt_violation": "KKT",
    "time_solve": "time",
    "n_support": "SV",
}
_FORMATS = {"objective": ".8g", "gap": ".1e", "subopt.": ".1e", "KKT": ".1e", "SV": ".0f"}
_HEADS = ["#", "solver", "time", *_FORMATS, "outcome"]
_LEGEND = (
    "Medians over the repetitions. `gap` and `subopt.` are relative: the certified gap of the "
    "answer, and its distance to the best lower bound that any solver reached; `KKT` is the "
    "natural residual, `SV` the number of support vectors.\n"
)
_Row = dict[str, Any]


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and solver, best first within a problem.

    Columns: problem, rank (NaN for those not ranked), solver, time (s), objective, gap (relative),
    subopt. (relative), KKT, SV, outcome, runs, reason. Numbers are medians over the repetitions.
    """
    scale = results["primal_objective"].abs()
    relative = results["suboptimality"] / scale.where(scale > 0, 1.0)
    table = results.assign(relative_suboptimality=relative, label=solver_labels(results))
    groups = table.groupby(["problem_id", "label"], sort=False)
    rows = [_row(key, group) for key, group in groups]
    columns = ["problem", "rank", "solver", "time", *_FORMATS, "outcome", "runs", "reason"]
    summary = pd.DataFrame(rows, columns=columns)
    ranked = summary["outcome"].isin(_SETTLED)
    times = summary["time"].where(ranked)
    summary["rank"] = times.groupby(summary["problem"]).rank(method="min")
    place = summary["problem"].map({p: i for i, p in enumerate(summary["problem"].unique())})
    ordered = summary.assign(place=place, later=~ranked, order=times.fillna(summary["gap"]))
    ordered = ordered.sort_values(["place", "later", "order"], kind="stable")
    return ordered[columns].reset_index(drop=True)


def _row(key: Hashable, group: pd.DataFrame) -> _Row:
    problem, solver = key if isinstance(key, tuple) else (key, "")
    medians = {name: _median(group[column]) for column, name in _MEDIANS.items()}
    outcome = worst_outcome(group)
    reasons = [str(reason) for reason in group["reason"].dropna().unique() if reason]
    return {"problem": problem, "solver": solver, "outcome": outcome, "runs": len(group)} | {
        **medians,
        "reason": "; ".join(reasons),
    }


def _median(values: pd.Series) -> float:
    known = values.dropna()
    return float(known.median()) if len(known) else np.nan


def worst_outcome(group: pd.DataFrame) -> str:
    """Return the status of a run that did not come to an end, else the worst verdict."""
    failed = [str(s) for s in group["status"] if s not in ("finished", "infeasible")]
    verdicts = [str(verdict) for verdict in group["verdict"]]
    worst = min(verdicts, key=_WORST_FIRST.index)
    if not failed or worst in _SETTLED or worst == "wrong":
        return worst
    return failed[0]


def solver_labels(results: pd.DataFrame, leave_out: Set[str] = frozenset()) -> list[str]:
    """Return each run's solver, with as many of its settings as tell that solver's runs apart.

    Settings in `leave_out` and the seed tell nothing apart: runs that differ only in them share a label.
    """
    settings = [json.loads(text) for text in results["params"]]
    solvers = [str(solver) for solver in results["solver"]]
    names = _short_names(solvers)
    keys = {
        name: _telling(
            [s for s, solver in zip(settings, solvers, strict=True) if solver == name],
            {"seed", *leave_out},
        )
        for name in names
    }
    return [
        _label(names[solver], {key: chosen.get(key) for key in keys[solver]})
        for solver, chosen in zip(solvers, settings, strict=True)
    ]


def _telling(settings: list[dict[str, Any]], leave_out: Set[str]) -> list[str]:
    """Return the first settings that tell all variants apart."""
    chosen: list[str] = []
    known = 1
    for key in settings[0]:
        variants = {repr([s.get(k) for k in (*chosen, key)]) for s in settings}
        if key not in leave_out and len(variants) > known:
            chosen.append(key)
            known = len(variants)
    return chosen


def _short_names(solvers: list[str]) -> dict[str, str]:
    """Return each solver's name; of one from a file the file's own, unless two are called so."""
    tails = {solver: solver.rsplit("/", 1)[-1] for solver in dict.fromkeys(solvers)}
    used = list(tails.values())
    return {solver: t if used.count(t) == 1 else solver for solver, t in tails.items()}


def _label(solver: str, settings: dict[str, Any]) -> str:
    """Return `solver (tol=1e-06, notebook)`: a value in words speaks for itself."""
    told = [v if isinstance(v, str) else f"{k}={v}" for k, v in settings.items()]
    return f"{solver} ({', '.join(told)})" if told else solver


def to_terminal(summary: pd.DataFrame) -> Group:
    """Return the summary for the terminal, one table for each problem."""
    tables = [_terminal_table(problem, rows) for problem, rows in _by_problem(summary)]
    return Group(*(part for table in tables for part in (table, "")))


def _terminal_table(problem: str, rows: list[_Row]) -> Table:
    table = Table(
        title=Text(problem, style="bold"),
        title_justify="left",
        caption=Text("\n".join(_notes(rows)), style="dim"),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in _HEADS:
        left = name in ("solver", "outcome")
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    for row in rows:
        outcome = row["outcome"]
        colour = "green" if outcome in _SETTLED else "red" if outcome in _RED else "yellow"
        *cells, last = _cells(row)
        table.add_row(*map(Text, cells), Text(last, style=colour))
    return table


def to_markdown(summary: pd.DataFrame, title: str) -> str:
    """Return the summary as a Markdown document."""
    parts = [f"# {title}\n"]
    for problem, rows in _by_problem(summary):
        cells = [[cell.replace("|", "\\|") for cell in _cells(row)] for row in rows]
        table = pd.DataFrame(cells, columns=_HEADS)
        parts.append(f"## {problem}\n\n{table.to_markdown(index=False, disable_numparse=True)}\n")
        parts += [f"- {note}" for note in _notes(rows)] + [""]
    return "\n".join([*parts, _LEGEND])


def _by_problem(summary: pd.DataFrame) -> Iterator[tuple[str, list[_Row]]]:
    for problem, rows in summary.groupby("problem", sort=False):
        yield str(problem), [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]


def _notes(rows: list[_Row]) -> list[str]:
    """Return why solvers are not ranked, for those that tell."""
    told = [row for row in rows if row["reason"] and row["outcome"] not in _SETTLED]
    return [f"{row['solver']}: {row['reason']}" for row in told]


def _cells(row: _Row) -> list[str]:
    rank = "" if np.isnan(row["rank"]) else f"{row['rank']:.0f}"
    numbers = [_number(row[name], text) for name, text in _FORMATS.items()]
    return [rank, row["solver"], _seconds(row["time"]), *numbers, row["outcome"]]


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else "0" if value == 0 else f"{value:{form}}"


def _seconds(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
