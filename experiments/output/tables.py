"""The summary of a run: for each problem its solvers by rank, in the terminal and as Markdown.

A solver is ranked by its median time if the certificate calls all its repetitions solved (or proven
infeasible); a rank is shared where the difference is within the noise. All others follow, with what is
wrong.
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

from experiments.analysis.hosts import apart, told_apart
from experiments.analysis.noise import (
    FEWEST,
    MARK,
    Comparison,
    aa_pairs,
    compare,
    is_twin,
    noise_of_problems,
    ranks,
)
from experiments.cases.plan import TWIN
from experiments.cases.records import BAD

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
_HEADS = ["#", "solver", "time", "ratio", *_FORMATS, "outcome"]
_MAKE_ROOM = ("subopt.", "KKT")  # left out of a terminal that has intervals to show
_LEGEND = (
    "Medians over the repetitions. `gap` and `subopt.` are relative: the certified gap of the "
    "answer, and its distance to the best lower bound that any solver reached; `KKT` is the "
    "natural residual, `SV` the number of support vectors. `ratio` is the time over that of the "
    f"fastest, from {FEWEST} repetitions on with its 95 % interval (bootstrap of the medians); `{MARK}` "
    f"stands for a difference within the noise. A solver marked {TWIN} is another one run a second "
    "time: its ratio to that one is the noise. `proven`: both bounds are theorems about the stored "
    "data, from ball arithmetic.\n"
)
_WITHIN_NOISE = (
    f"{MARK} within the noise: 1 is inside the 95 % interval of the ratio, or an {TWIN} pair, one "
    "solver run as two, differs as much."
)
_INCOMPARABLE = Comparison(np.nan)
_Row = dict[str, Any]


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and solver, best first within a problem.

    Columns: problem, rank (NaN for those not ranked), solver, time (s), ratio (to the fastest that is
    ranked), low, high, within_noise (see `Comparison`), objective, gap (relative), subopt. (relative),
    KKT, SV, outcome, proven (whether the bounds of all runs are), runs, reason, host. Numbers are
    medians over the repetitions. The second of an A/A pair is not ranked, and its ratio is to the first.
    Of runs on several hosts each host has its own rows, as problems of their own.
    """
    results = apart(results)
    scale = results["primal_objective"].abs()
    relative = results["suboptimality"] / scale.where(scale > 0, 1.0)
    table = results.assign(
        relative_suboptimality=relative,
        label=solver_labels(results),
        first=solver_labels(results, leave_out={TWIN}),
        twin=is_twin(results),
    )
    noise = noise_of_problems(aa_pairs(results))
    rows: dict[str, list[_Row]] = {}
    for key, group in table.groupby(["problem_id", "label"], sort=False):
        row = _row(key, group)
        rows.setdefault(row["problem"], []).append(row)
    placed = [row for problem in rows for row in _placed(rows[problem], noise.get(problem, 1.0))]
    known = ["problem", "rank", "solver", "time", *vars(_INCOMPARABLE), *_FORMATS]
    return pd.DataFrame(placed, columns=[*known, "outcome", "proven", "runs", "reason", "host"])


def _placed(rows: list[_Row], noise: float) -> list[_Row]:
    """Return the rows of one problem, best first, with their ranks and ratios."""
    ordered = sorted(rows, key=lambda row: (np.isnan(row["time"]), row["time"]))
    settled = [row for row in ordered if row["outcome"] in _SETTLED]
    ranked = [row for row in settled if not row["twin"]]
    for row, rank in zip(ranked, ranks([row["times"] for row in ranked], noise), strict=True):
        row.update(vars(_ratio(row, ranked[0], noise)), rank=rank)
    twins = [row for row in settled if row["twin"]]
    firsts = {row["solver"]: row for row in rows if not row["twin"]}
    for row in twins:
        if first := firsts.get(row["first"]):  # it may not have run yet
            row.update(vars(_ratio(row, first, noise=1.0)))
    others = [r for r in rows if r["outcome"] not in _SETTLED and not _repeats(r, firsts)]
    return ranked + twins + sorted(others, key=lambda row: (np.isnan(row["gap"]), row["gap"]))


def _repeats(row: _Row, firsts: dict[str, _Row]) -> bool:
    """Whether a row is of the second of an A/A pair and would say what the first one says."""
    return row["twin"] and row["outcome"] == firsts.get(row["first"], {}).get("outcome")


def _ratio(row: _Row, reference: _Row, noise: float) -> Comparison:
    if row is reference:
        return Comparison(1.0)
    return compare([(row["times"], reference["times"])], noise)


def _row(key: Hashable, group: pd.DataFrame) -> _Row:
    problem, solver = key if isinstance(key, tuple) else (key, "")
    medians = {name: _median(group[column]) for column, name in _MEDIANS.items()}
    outcome = worst_outcome(group)
    reasons = [str(reason) for reason in group["reason"].dropna().unique() if reason]
    return {"problem": problem, "solver": solver, "outcome": outcome, "runs": len(group)} | {
        **medians,
        **vars(_INCOMPARABLE),
        "proven": bool(group["bound_source"].str.startswith("proven").all()),
        "reason": "; ".join(reasons),
        "rank": np.nan,
        "host": group["host"].iloc[0],
        "times": group["time_solve"].dropna().tolist(),
        "first": group["first"].iloc[0],
        "twin": bool(group["twin"].any()),
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
    The second of an A/A pair is marked so, unless `leave_out` has that mark.
    """
    settings = [json.loads(text) for text in results["params"]]
    marks = [[TWIN] if s.pop(TWIN, False) and TWIN not in leave_out else [] for s in settings]
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
        _label(names[solver], {key: chosen.get(key) for key in keys[solver]}, mark)
        for solver, chosen, mark in zip(solvers, settings, marks, strict=True)
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


def _label(solver: str, settings: dict[str, Any], mark: list[str]) -> str:
    """Return `solver (tol=1e-06, notebook)`: a value in words speaks for itself."""
    told = [v if isinstance(v, str) else f"{k}={v}" for k, v in settings.items()] + mark
    return f"{solver} ({', '.join(told)})" if told else solver


def to_terminal(summary: pd.DataFrame) -> Group:
    """Return the summary for the terminal, one table for each problem."""
    left_out = _MAKE_ROOM if summary["low"].notna().any() else ()
    heads = [name for name in _HEADS if name not in left_out]
    tables = [_terminal_table(problem, rows, heads) for problem, rows in _by_problem(summary)]
    legend = [Text(_WITHIN_NOISE, style="dim"), ""] if summary["within_noise"].any() else []
    if hosts := told_apart(summary["host"]):
        legend += [Text(hosts, style="dim"), ""]
    return Group(*(part for table in tables for part in (table, "")), *legend)


def _terminal_table(problem: str, rows: list[_Row], heads: list[str]) -> Table:
    table = Table(
        title=Text(problem, style="bold"),
        title_justify="left",
        caption=Text("\n".join(_notes(rows)), style="dim"),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in heads:
        left = name in ("solver", "ratio", "outcome")
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    for row in rows:
        outcome = row["outcome"]
        colour = "green" if outcome in _SETTLED else "red" if outcome in _RED else "yellow"
        cells = _cells(row)
        *shown, last = (cells[name] for name in heads)
        table.add_row(*map(Text, shown), Text(last, style=colour))
    return table


def to_markdown(summary: pd.DataFrame, title: str) -> str:
    """Return the summary as a Markdown document."""
    hosts = told_apart(summary["host"])
    parts = [f"# {title}\n", *([f"{hosts}\n"] if hosts else [])]
    for problem, rows in _by_problem(summary):
        cells = [{k: cell.replace("|", "\\|") for k, cell in _cells(row).items()} for row in rows]
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


def _cells(row: _Row) -> dict[str, str]:
    """Return what stands under each of `_HEADS`."""
    compared = Comparison(*(row[name] for name in vars(_INCOMPARABLE)))
    return {
        "#": _number(row["rank"], ".0f"),
        "solver": row["solver"],
        "time": _seconds(row["time"]),
        "ratio": "" if np.isnan(compared.ratio) else compared.factor + compared.spread,
        **{name: _number(row[name], text) for name, text in _FORMATS.items()},
        "outcome": row["outcome"] + (", proven" if row["proven"] else ""),
    }


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else "0" if value == 0 else f"{value:{form}}"


def _seconds(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"
