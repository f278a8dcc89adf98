"""Profiles and means of the times at which each solver first had a certified answer within a target.

Performance profile (Dolan & Moré, Benchmarking optimization software with performance profiles, 2002):

    ρ_s(τ) = share of the problems p with t_ps ≤ τ · min over solvers of t_p

Data profile (Moré & Wild, Benchmarking derivative-free optimization algorithms, 2009), with seconds for
function values and the n samples for the variables:

    d_s(κ) = share of the problems p with t_ps ≤ κ · (n_p + 1)

Quality profile, the same of the answers themselves, whatever time they took (like the accuracy profiles
of Beiranvand, Hare & Lucet, Best practices for comparing optimization algorithms, 2017), with g_ps the
final certified relative gap, of the most accurate setting:

    q_s(g) = share of the problems p with g_ps ≤ g

A solver that does not reach the target has t_ps = ∞, without a certified answer g_ps = ∞: it counts in
the share, on every problem.

A performance profile compares each solver with the best one: whether the second is better than the third
it does not say, and without the best one their order may change (Gould & Scott, A note on performance
profiles for benchmarking software, 2016).
"""

import numpy as np
import pandas as pd

from experiments.analysis.scores import par, shifted_geometric_mean
from experiments.analysis.times import configurations
from experiments.records.outcomes import NOT_RUN
from problems import Vector

PAIRWISE = (
    "Who is ahead holds against the fastest solver only: the order of two others may change when the "
    "fastest is left out, so compare solvers in pairs (Gould & Scott 2016)."
)
LEAST_GAP = 1e-16  # relative; float64 cannot resolve less, so smaller gaps are drawn here
SHIFT = 0.01  # seconds
Curves = dict[str, tuple[Vector, Vector]]


def performance_profile(table: pd.DataFrame) -> Curves:
    """Return for each solver (τ, ρ), the corners of its profile at one target of `times`."""
    times = _by_problem(table, table["time"])
    return _profiles(times.div(times.min(axis=1), axis=0), left=1.0)


def data_profile(table: pd.DataFrame) -> Curves:
    """Return for each solver (κ in seconds, d), the corners of its profile at one target."""
    return _profiles(_by_problem(table, table["time"] / (table["n"] + 1)))


def quality_profile(results: pd.DataFrame) -> Curves:
    """Return for each solver (g, q), the corners of its profile; a proof of infeasibility has no gap."""
    proven = results["verdict"] == "infeasible"
    table = configurations(results.assign(relative_gap=results["relative_gap"].mask(proven, 0.0)))
    table = table[table["kind"] != "floor"]
    gaps = table.groupby(["problem", "solver"])["gap"].min().unstack().clip(lower=LEAST_GAP)
    return _profiles(gaps)


def _by_problem(table: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    columns = table.assign(value=values).pivot(index="problem", columns="solver", values="value")
    return columns.astype(np.float64)


def _profiles(values: pd.DataFrame, left: float = np.inf) -> Curves:
    """Return the distribution function of each column, from `left` or the least to beyond the last."""
    known = values.to_numpy(np.float64)
    known = known[np.isfinite(known)]
    if not known.size:
        return {}
    left = min(left, float(known.min()))
    right = max(1.1 * float(known.max()), 2 * left)
    curves: Curves = {}
    for name, own in values.items():
        corners, counts = np.unique(own[np.isfinite(own)], return_counts=True)
        shares = counts.cumsum() / len(own)
        if len(corners) == 0 or corners[0] > left:
            corners, shares = np.append(left, corners), np.append(0.0, shares)
        curves[str(name)] = np.append(corners, right), np.append(shares, shares[-1])
    return curves


def shifted_means(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return one row for each solver at one target of `times`, the least mean first.

    Columns: solver, mean (s; shifted geometric, over the problems of all solvers, `penalty` seconds
    where the target was not reached or a run is missing),
    ratio (to the least), sgm10 and par2 (s; see `scores`, with the penalty for the limit), solved,
    impossible and problems (how many).
    """
    known = table.assign(impossible=table["outcome"].isin(NOT_RUN))
    groups = known.groupby("solver", sort=False)
    rows = groups.agg(solved=("time", "count"), impossible=("impossible", "sum"))
    by_problem = _by_problem(table, table["time"])
    rows["problems"] = len(by_problem)
    times = [by_problem[name] for name in rows.index]
    rows["mean"] = [shifted_geometric_mean(own, penalty, SHIFT) for own in times]
    rows["sgm10"] = [shifted_geometric_mean(own, penalty) for own in times]
    rows["par2"] = [par(own, penalty) for own in times]
    rows["ratio"] = rows["mean"] / rows["mean"].min()
    return rows.reset_index().sort_values("mean", kind="stable")


def penalty_of(time_limit: float | None, results: pd.DataFrame) -> tuple[float, str]:
    """Return what a target that was not reached counts as, in seconds and as text."""
    if time_limit is not None:
        return float(time_limit), f"{time_limit:g} s, the time limit of a run"
    slowest = float(results["time_solve"].max())
    seconds = 10 * slowest if np.isfinite(slowest) else 1.0
    return seconds, f"{seconds:.3g} s, ten times the slowest run, as there was no time limit"
