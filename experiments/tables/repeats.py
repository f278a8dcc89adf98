"""A plan that was run twice, row by row: verdicts, bounds, and times by a ratio.

Two runs contradict each other if the certified bounds of one exclude those of the other,

    dual objective of the one > primal objective of the other,

whatever machines they ran on. Another verdict is a difference; another time is none: its ratio is told.
"""

from typing import Any

import pandas as pd

from experiments.records.outcomes import outcome_of
from experiments.tables.table import Cell, Column, Table

_SIDES = ("", "_again")
_KEPT = ["problem_id", "solver", "label", "repetition", "family_hash", "problem_hash", "time_solve"]
_BOUNDS = ["dual_objective", "primal_objective"]
_COLUMNS = {
    "difference": Column("difference", side="words"),
    "solver": Column("solver", side="words"),
    "problem_id": Column("problem", side="words"),
    "outcomes": Column("outcome", side="words"),
    "bounds": Column("bounds", side="left", optional=1),
    "bounds_again": Column("bounds again", side="left", optional=1),
    "ratio": Column("time ×", "{:.2g}".format),
}


def repeats(first: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each run of either table, by run id, those that differ first.

    Parameters
    ----------
    first, again : runs, as `load_results` gives them.

    Returns
    -------
    DataFrame
        problem_id, solver (its label where it has one), repetition, outcome and outcome_again, both
        bounds and both again, ratio (of the times, again over first; NaN where one is missing),
        difference (a phrase, empty where there is none).
    """
    sides = [
        table[["run_id", *_KEPT, *_BOUNDS]].assign(
            outcome=list(map(outcome_of, table["status"], table["verdict"]))
        )
        for table in (first, again)
    ]
    both = sides[0].merge(sides[1], on="run_id", how="outer", suffixes=_SIDES, sort=False)
    for name in _KEPT[:-2]:
        both[name] = both[name].fillna(both[f"{name}_again"])
    both["solver"] = both["label"].where(both["label"].fillna("") != "", both["solver"])
    both["ratio"] = both["time_solve_again"] / both["time_solve"]
    both["difference"] = [_difference(row) for _, row in both.iterrows()]
    told = ["problem_id", "solver", "repetition", "outcome", "outcome_again"]
    told += [*_BOUNDS, *(f"{name}_again" for name in _BOUNDS), "ratio", "difference"]
    return both[told].sort_values("difference", key=lambda text: text == "", kind="stable")


def _difference(row: pd.Series) -> str:
    if not isinstance(row["outcome"], str):
        return "was not run before"
    if not isinstance(row["outcome_again"], str):
        return "was not run again"
    hashes = row["problem_hash"], row["problem_hash_again"]
    if all(isinstance(each, str) for each in hashes) and hashes[0] != hashes[1]:
        return "other data"
    low, high, low_again, high_again = (
        float(row[f"{name}{side}"]) for side in _SIDES for name in _BOUNDS
    )
    if low > high_again or low_again > high:
        return "bounds exclude each other"
    return "another outcome" if row["outcome"] != row["outcome_again"] else ""


def to_terminal(rows: pd.DataFrame) -> Table | str:
    """Return the table of the rows of `repeats` that differ, for the terminal."""

    def bounds(row: pd.Series, side: str) -> str:
        low, high = row[f"dual_objective{side}"], row[f"primal_objective{side}"]
        return f"{low:.8g} to {high:.8g}" if pd.notna(low) and pd.notna(high) else ""

    shown: list[dict[str, Any]] = []
    for _, row in rows.iterrows():
        before, now = (
            row[key] if pd.notna(row[key]) else "–" for key in ("outcome", "outcome_again")
        )
        shown.append(
            {name: row[name] for name in ("solver", "problem_id", "ratio")}
            | {"difference": Cell(row["difference"], style="red")}
            | {"outcomes": before if before == now else f"{before} → {now}"}
            | {"bounds": bounds(row, ""), "bounds_again": bounds(row, "_again")}
        )
    return Table.of(shown, _COLUMNS, "What differs") if shown else "No run differs."
