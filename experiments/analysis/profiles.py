"""Profiles and means of the times at which each solver first had a certified answer within a target.

Performance profile (Dolan & Moré, Benchmarking optimization software with performance profiles, 2002):

    ρ_s(τ) = share of the problems p of solver s with t_ps ≤ τ · min over solvers of t_p

Quality profile, the same for the answers themselves, regardless of time (like the accuracy profiles
of Beiranvand, Hare & Lucet, Best practices for comparing optimization algorithms, 2017), with g_ps the
final certified relative gap, of the most accurate setting:

    q_s(g) = share of the problems p of solver s with g_ps ≤ g

The problems of a solver are those that it supports, was run on and, in a performance profile, asked for
the target: merged results need not have every pair. A solver that was asked and does not reach the
target has t_ps = ∞, and without a certified answer g_ps = ∞: a failure, which counts in the share.

A performance profile compares each solver with the best one. It does not show whether the second is
better than the third: without the best one, their order may change (Gould & Scott, A note on
performance profiles for benchmarking software, 2016).

Two scores of the times are common, with penalties for failures: Mittelmann's benchmarks use SGM10, SAT
competitions PAR-2.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.results import Results, joined_by_optimum
from dualgap.experiments.analysis.times import (
    configurations,
    select_time_definition,
    times,
)
from dualgap.experiments.records.outcomes import DENSE_REFERENCE, FINAL, NOT_RUN
from dualgap.problems import Vector

PAIRWISE = (
    "A profile compares each solver with the fastest one only: the order of two others may change when "
    "that one is left out, so compare solvers in pairs (Gould & Scott 2016)."
)
MIN_PLOTTED_GAP = 1e-16  # relative; float64 resolves no less, so smaller gaps are drawn here
SHIFT_S = 0.01  # of the shifted geometric mean: much shorter times count as equal
SGM10 = (
    "SGM10 is the shifted geometric mean of the times, exp(mean of log(t + 10 s)) − 10 s, in which a "
    "problem that was not solved counts as {limit}."
)
PAR2 = (
    "PAR-2 is the arithmetic mean of the times, in which a problem that was not solved counts as twice "
    "{limit}."
)
Curves = dict[str, tuple[Vector, Vector]]


def compared_times(results: Results, traces: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the `times` to all targets, and their definition, a key of `TIME_DEFINITIONS`.

    The table is empty if an answer was found elsewhere, without a time: it would count as a failure.
    """
    runs = results.runs
    untimed = runs["verdict"].isin(FINAL) & runs["time_solve"].isna()
    definition = select_time_definition(runs, traces)
    used = traces if definition == "first_within" else None
    return times(results, targets=() if untimed.any() else None, traces=used), definition


def performance_profile(table: pd.DataFrame) -> Curves:
    """Return for each solver (τ, ρ), the corners of its profile, from requested rows at one target."""
    times = _by_problem(table, table["time"])
    ratios = times.div(times.min(axis=1), axis=0).mask(np.isinf(times), np.inf)
    return _profiles(ratios, start=1.0)


def quality_profile(results: Results) -> Curves:
    """Return for each solver (g, q), the corners of its profile on all hosts together.

    Proven infeasibility has gap 0.
    """
    runs = joined_by_optimum(results.table)
    runs = runs[~runs["status"].isin(NOT_RUN)]
    proven = runs["verdict"] == "infeasible"
    table = configurations(runs.assign(relative_gap=runs["relative_gap"].mask(proven, 0.0)))
    table = table[table["kind"] != DENSE_REFERENCE]
    gaps = table.groupby(["problem", "solver"])["gap"].min().fillna(np.inf).unstack()
    return _profiles(gaps.clip(lower=MIN_PLOTTED_GAP))


def _by_problem(table: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Return the values by problem and solver: ∞ for a failure, NaN for a pair that was not run."""
    filled = table.assign(value=values.astype(np.float64).fillna(np.inf))
    return filled.pivot(index="problem", columns="solver", values="value")


def _profiles(values: pd.DataFrame, start: float = np.inf) -> Curves:
    """Return each column's distribution function from `start` or the minimum to beyond the maximum.

    Infinite values count in the shares, NaN does not.
    """
    finite = values.to_numpy(np.float64)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return {}
    start = min(start, float(finite.min()))
    right = max(1.1 * float(finite.max()), 2 * start)
    curves: Curves = {}
    for name, column in values.items():
        corners, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        shares = counts.cumsum() / column.count()
        if len(corners) == 0 or corners[0] > start:
            corners, shares = np.append(start, corners), np.append(0.0, shares)
        curves[str(name)] = np.append(corners, right), np.append(shares, shares[-1])
    return curves


def shifted_means(table: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return one row per solver, from requested rows at one target of `times`.

    Columns: solver, solved, asked (numbers of problems; asked: those of its rows), problems (of all
    solvers together), mean (s; shifted geometric, over the problems that it was asked for, `penalty`
    seconds for each one on which it did not reach the target), sgm10 and par2 (s; with the penalty as
    the limit), ratio (of the mean to that of the first row, over their common problems; NaN if there
    are none). Solvers that were asked for most problems come first, then those with the smallest mean;
    solvers that solved nothing come last.
    """
    summary = table.groupby("solver", sort=False).agg(solved=("time", "count"))
    times = _by_problem(table, table["time"])[summary.index]
    summary["asked"], summary["problems"] = times.count(), len(times)

    def mean(column: pd.Series) -> float:
        return shifted_geometric_mean(column, penalty, SHIFT_S)

    requested = {name: column.dropna() for name, column in times.items()}
    summary["mean"] = [mean(column) for column in requested.values()]
    summary["sgm10"] = [shifted_geometric_mean(column, penalty) for column in requested.values()]
    summary["par2"] = [par(column, penalty) for column in requested.values()]
    order = ["failed", "asked", "mean"]
    summary = summary.assign(failed=summary["solved"] == 0).sort_values(
        order, ascending=[True, False, True], kind="stable"
    )
    first = requested[summary.index[0]]
    shared = {name: requested[name].index.intersection(first.index) for name in summary.index}
    summary["ratio"] = [
        mean(requested[name][both]) / mean(first[both]) if len(both) else np.nan
        for name, both in shared.items()
    ]
    return summary.drop(columns="failed").reset_index()


def shifted_geometric_mean(times: Iterable[float], limit: float, shift: float = 10.0) -> float:
    """Return exp(mean of log(t + shift)) − shift, in seconds.

    Parameters
    ----------
    times : in seconds; NaN or infinite if a problem was not solved, which counts as `limit` seconds.
    """
    return float(np.expm1(np.log1p(_charged(times, limit) / shift).mean()) * shift)


def par(times: Iterable[float], limit: float) -> float:
    """Return the penalised average runtime (PAR-2) in seconds.

    Parameters
    ----------
    times : in seconds; NaN or infinite if a problem was not solved, which counts as `2 * limit`.
    """
    return float(_charged(times, 2.0 * limit).mean())


def _charged(times: Iterable[float], charge: float) -> Vector:
    values = np.asarray(list(times), np.float64)
    return np.where(np.isfinite(values), values, charge)


def partial_coverage_text(table: pd.DataFrame) -> str:
    """Return a sentence on the solvers that were not run on every problem, from requested rows.

    It is empty if there are none.
    """
    problems = table["problem"].nunique()
    counts = table.groupby("solver", sort=False)["problem"].nunique()
    fewer = [f"{name} {count} of {problems}" for name, count in counts.items() if count < problems]
    if not fewer:
        return ""
    return (
        f"Not every solver was run on every problem: {', '.join(fewer)}. The means, counts and profiles "
        "of a solver are over the problems that it was run on."
    )


def penalty_of(time_limit: float | None, results: pd.DataFrame) -> tuple[float, str]:
    """Return the time that a missed target counts as, in seconds and as text."""
    if time_limit is not None:
        return float(time_limit), f"{time_limit:g} s, the time limit of a run"
    slowest = float(results["time_solve"].max())
    seconds = 10 * slowest if np.isfinite(slowest) else 1.0
    return seconds, f"{seconds:.3g} s, ten times the slowest run, as there was no time limit"
