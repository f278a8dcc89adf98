"""What a problem is like, and which solver is fastest on it: rank correlations over problems.

For a solver s and what describes the problems p (`describe: true`), Spearman's correlation (1904) of
that with log(t_ps / least t_pq of the other solvers q), t the time to a target gap and ∞ where it is not
reached. Above 0: the more of it, the slower is s than the best other one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from experiments.analysis.times import Row, joined_by_optimum

PREDICTORS = (
    *("n", "share_free", "share_bounded", "condition_free", "strict_complementarity"),
    *("effective_rank", "eigenvalue_decay", "kernel_density", "duplicates"),
)
_FEWEST = 5  # problems
_LEVEL = 0.05


def descriptions(results: pd.DataFrame) -> pd.DataFrame:
    """Return the `PREDICTORS` of each described problem, its name the index, from its best answer."""
    if "total_weight" not in results:
        return pd.DataFrame(columns=list(PREDICTORS))
    known = joined_by_optimum(results).dropna(subset=["total_weight"]).sort_values("relative_gap")
    return (
        known.drop_duplicates("problem_id").set_index("problem_id").reindex(columns=[*PREDICTORS])
    )


def correlations(times: pd.DataFrame, described: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each solver and predictor that differs between five problems or more.

    Columns: solver, predictor, correlation, p (its two-sided p-value), problems (how many), telling
    (whether p is below 5 % over the number of rows: Bonferroni).

    Parameters
    ----------
    times : of first evaluations within one target, see `times.times`. described : see `descriptions`.
    """
    table = times.pivot(index="problem", columns="solver", values="time").fillna(np.inf)
    table = table[np.isfinite(table).any(axis=1)]
    logs, rows = np.log(table.to_numpy(np.float64)), list[Row]()
    for i, solver in enumerate(table.columns if table.shape[1] > 1 else ()):
        behind = pd.Series(logs[:, i] - np.delete(logs, i, axis=1).min(axis=1), table.index)
        for name in PREDICTORS:
            known = pd.DataFrame({"x": described[name], "y": behind}).dropna()
            if len(known) >= _FEWEST and known.nunique().min() > 1:
                rho, p = stats.spearmanr(known["x"], known["y"])
                row = {"solver": solver, "predictor": name, "correlation": rho, "p": p}
                rows.append(row | {"problems": len(known)})
    found = pd.DataFrame(rows, columns=["solver", "predictor", "correlation", "p", "problems"])
    return found.assign(telling=found["p"] < _LEVEL / max(len(found), 1))
