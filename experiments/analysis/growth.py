"""How times grow with the number of samples n, for problems that differ in n alone."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.times import Row

_LEAST = 3  # different n, at least, that a line is fitted to


def growing(
    table: pd.DataFrame, column: str, names: Mapping[str, str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name without n, rows) of the problems that occur with three n or more, otherwise equal.

    Parameters
    ----------
    column : of `table`, with the ids of the problems. names : theirs without n, by id.
    """
    for name, rows in table.groupby(table[column].map(names), sort=False):
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


def growth(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return how time grows with n, for problems that differ in n alone; empty if there are none.

    Columns: target, problem (without its n), solver, exponent (k of time ∝ n^k), sizes (how
    many n it was fitted to), largest (n that it solved), time and memory (bytes) there.
    """
    found: list[Row] = []
    for name, problems in growing(table, "problem", names):
        for (target, solver), rows in problems.groupby(["target", "solver"], sort=False):
            solved = rows.dropna(subset=["time"]).sort_values("n").set_index("n")
            n = solved.index.max()  # NaN, where nothing is solved
            row = {"target": target, "problem": name, "solver": solver}
            row |= {"exponent": exponent(solved["time"]), "sizes": len(solved), "largest": n}
            found.append(row | {key: solved[key].get(n, n) for key in ("time", "memory")})
    return pd.DataFrame(found)
