"""How times grow with the number of samples n, for problems that differ in n alone."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.times import Row

_MIN_SIZES = 3  # different n: a line through two points has no residual


def growing_problems(
    table: pd.DataFrame, column: str, names: Mapping[str, str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name without n, rows) of otherwise equal problems with at least three n.

    Parameters
    ----------
    column : column of `table` with problem ids. names : problem names without n, by id.
    """
    for name, rows in table.groupby(table[column].map(names), sort=False):
        if rows["n"].nunique() >= _MIN_SIZES:
            yield str(name), rows


def exponent(times: pd.Series) -> float:
    """Return k of the least-squares line log t = k log n + c; NaN with fewer than three n.

    Parameters
    ----------
    times : in seconds, with n as their index.
    """
    times = times[times > 0]
    if times.index.nunique() < _MIN_SIZES:
        return float("nan")
    n = np.log(times.index.to_numpy(dtype=np.float64))
    return float(np.polyfit(n, np.log(times.to_numpy(dtype=np.float64)), 1)[0])


def growth(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return how time grows with n, for problems that differ in n alone; empty if there are none.

    Columns: target, problem (without its n), solver, exponent (k of time ∝ n^k), sizes (number of
    fitted n), largest (solved n), and time and memory (bytes) at this n.
    """
    table_rows: list[Row] = []
    for name, problems in growing_problems(table, "problem", names):
        for (target, solver), rows in problems.groupby(["target", "solver"], sort=False):
            solved = rows.dropna(subset=["time"]).sort_values("n")
            last = solved[["n", "time", "memory"]].tail(1).max()  # NaN if nothing is solved
            row = {"target": target, "problem": name, "solver": solver}
            row |= {"exponent": exponent(solved.set_index("n")["time"])}
            row |= {"sizes": solved["n"].nunique(), "largest": last["n"]}
            table_rows.append(row | {key: last[key] for key in ("time", "memory")})
    return pd.DataFrame(table_rows)
