"""Profiles and means of the times at which each solver first had a certified answer within a target.

Performance profile (Dolan & Moré, Benchmarking optimization software with performance profiles, 2002):

    ρ_s(τ) = share of the problems p of solver s with t_ps ≤ τ · min over solvers of t_p

Data profile (Moré & Wild, Benchmarking derivative-free optimization algorithms, 2009), with seconds for
function values and the n samples for the variables:

    d_s(κ) = share of the problems p of solver s with t_ps ≤ κ · (n_p + 1)

Quality profile, the same of the answers themselves, whatever time they took (like the accuracy profiles
of Beiranvand, Hare & Lucet, Best practices for comparing optimization algorithms, 2017), with g_ps the
final certified relative gap, of the most accurate setting:

    q_s(g) = share of the problems p of solver s with g_ps ≤ g

The problems of a solver are those that it was run on: results that were merged need not have every pair.
A solver that was run and does not reach the target has t_ps = ∞, without a certified answer g_ps = ∞:
a failure, which counts in the share.

A performance profile compares each solver with the best one: whether the second is better than the third
it does not say, and without the best one their order may change (Gould & Scott, A note on performance
profiles for benchmarking software, 2016).
"""

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.scores import par, shifted_geometric_mean
from dualgap.experiments.analysis.times import configurations
from dualgap.experiments.records.outcomes import NOT_RUN
from dualgap.problems import Vector

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
    ratios = times.div(times.min(axis=1), axis=0).mask(np.isinf(times), np.inf)
    return _profiles(ratios, left=1.0)


def data_profile(table: pd.DataFrame) -> Curves:
    """Return for each solver (κ in seconds, d), the corners of its profile at one target."""
    return _profiles(_by_problem(table, table["time"] / (table["n"] + 1)))


def quality_profile(results: pd.DataFrame) -> Curves:
    """Return for each solver (g, q), the corners of its profile; a proof of infeasibility has no gap."""
    proven = results["verdict"] == "infeasible"
    table = configurations(results.assign(relative_gap=results["relative_gap"].mask(proven, 0.0)))
    table = table[table["kind"] != "floor"]
    gaps = table.groupby(["problem", "solver"])["gap"].min().fillna(np.inf).unstack()
    return _profiles(gaps.clip(lower=LEAST_GAP))


def _by_problem(table: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Return the values by problem and solver: ∞ for a failure, NaN for a pair that was not run."""
    known = table.assign(value=values.astype(np.float64).fillna(np.inf))
    return known.pivot(index="problem", columns="solver", values="value")


def _profiles(values: pd.DataFrame, left: float = np.inf) -> Curves:
    """Return the distribution function of each column, from `left` or the least to beyond the last.

    Infinite values count in the shares, NaN does not.
    """
    known = values.to_numpy(np.float64)
    known = known[np.isfinite(known)]
    if not known.size:
        return {}
    left = min(left, float(known.min()))
    right = max(1.1 * float(known.max()), 2 * left)
    curves: Curves = {}
    for name, own in values.items():
        corners, counts = np.unique(own[np.isfinite(own)], return_counts=True)
        shares = counts.cumsum() / own.count()
        if len(corners) == 0 or corners[0] > left:
            corners, shares = np.append(left, corners), np.append(0.0, shares)
        curves[str(name)] = np.append(corners, right), np.append(shares, shares[-1])
    return curves


def shifted_means(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return one row for each solver at one target of `times`.

    Columns: solver, solved, impossible, asked (numbers of problems; asked: that it was run on), problems
    (of all solvers together), mean (s; shifted geometric, over the problems that it was asked for,
    `penalty` seconds where it did not reach the target), sgm10 and par2 (s; see `scores`, with the
    penalty for the limit), ratio (of the mean to that of the first row, over the problems that both
    were asked for; NaN where there are none). Solvers that were asked for most problems come first, then
    those with the least mean; solvers that solved nothing come last.
    """
    groups = table.assign(impossible=table["outcome"].isin(NOT_RUN)).groupby("solver", sort=False)
    rows = groups.agg(solved=("time", "count"), impossible=("impossible", "sum"))
    times = _by_problem(table, table["time"])[rows.index]
    rows["asked"], rows["problems"] = times.count(), len(times)

    def mean(own: pd.Series) -> float:
        return shifted_geometric_mean(own, penalty, SHIFT)

    asked = {name: own.dropna() for name, own in times.items()}
    rows["mean"] = [mean(own) for own in asked.values()]
    rows["sgm10"] = [shifted_geometric_mean(own, penalty) for own in asked.values()]
    rows["par2"] = [par(own, penalty) for own in asked.values()]
    order = ["failed", "asked", "mean"]
    rows = rows.assign(failed=rows["solved"] == 0).sort_values(
        order, ascending=[True, False, True], kind="stable"
    )
    first = asked[rows.index[0]]
    shared = {name: asked[name].index.intersection(first.index) for name in rows.index}
    rows["ratio"] = [
        mean(asked[name][both]) / mean(first[both]) if len(both) else np.nan
        for name, both in shared.items()
    ]
    return rows.drop(columns="failed").reset_index()


def partly_asked(table: pd.DataFrame) -> str:
    """Return which solvers of `times` were not run on every problem, in a sentence; empty if none."""
    problems = table["problem"].nunique()
    asked = table.groupby("solver", sort=False)["problem"].nunique()
    fewer = [f"{name} {count} of {problems}" for name, count in asked.items() if count < problems]
    if not fewer:
        return ""
    return (
        f"Not every solver was asked for every problem: {', '.join(fewer)}. The means, counts and "
        "profiles of a solver are over the problems that it was asked for."
    )


def penalty_of(time_limit: float | None, results: pd.DataFrame) -> tuple[float, str]:
    """Return what a target that was not reached counts as, in seconds and as text."""
    if time_limit is not None:
        return float(time_limit), f"{time_limit:g} s, the time limit of a run"
    slowest = float(results["time_solve"].max())
    seconds = 10 * slowest if np.isfinite(slowest) else 1.0
    return seconds, f"{seconds:.3g} s, ten times the slowest run, as there was no time limit"
