"""How times grow with the number of samples n, for problems that differ in n alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from experiments.analysis.configurations import Row
from experiments.analysis.labels import without_size

_LEAST = 3  # different n, at least, that a line is fitted to


def growing(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name without n, rows) of the problems that occur with three n or more, otherwise equal.

    Parameters
    ----------
    column : of `table`, with the names of the problems.
    """
    names = table[column].astype(str).map(without_size)
    for name, rows in table.groupby(names, sort=False):
        if rows["n"].nunique() >= _LEAST:
            yield str(name), rows


def exponent(times: pd.Series) -> float:
    """Return k of the least-squares line log t = k log n + c; NaN with fewer than three n.

    Parameters
    ----------
    times : in seconds, with n as their index.
    """
    times = times[times > 0]
    if len(times) < _LEAST:
        return float("nan")
    n = np.log(times.index.to_numpy(dtype=np.float64))
    return float(np.polyfit(n, np.log(times.to_numpy(dtype=np.float64)), 1)[0])


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """Return how time grows with n, for problems that differ in n alone; empty if there are none.

    Columns: target, problem (without its n), solver, exponent (k of time ∝ n^k), sizes (how
    many n it was fitted to), largest (n that it solved), time and memory (bytes) there.
    """
    rows = [
        _growth(name, group)
        for name, problems in growing(table, "problem")
        for _, group in problems.groupby(["target", "solver"], sort=False)
    ]
    return pd.DataFrame(rows)


def _growth(name: str, rows: pd.DataFrame) -> Row:
    solved = rows.dropna(subset=["time"]).sort_values("n")
    times = solved.set_index("n")["time"]
    last = solved.iloc[-1] if len(solved) else dict.fromkeys(("n", "time", "memory"), float("nan"))
    return {
        "target": rows["target"].iloc[0],
        "problem": name,
        "solver": rows["solver"].iloc[0],
        "exponent": exponent(times),
        "sizes": len(solved),
        "largest": last["n"],
        "time": last["time"],
        "memory": last["memory"],
    }
