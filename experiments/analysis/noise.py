"""What the scatter of times allows us to conclude: intervals of their ratios, and timing noise.

    ratio = median(times) / median(times of the reference)

with the 2.5 % and 97.5 % quantiles of the ratios of resampled repetitions (percentile bootstrap;
Efron & Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13). Each side is resampled on its own:
resampling whole rounds would use that they were measured side by side, but its intervals are too
narrow for a handful of rounds (70 % instead of 95 % for three, where this one has 90 %).

With `noise: true` an experiment runs the first configuration of each solver twice in every round, as if
it were two solvers: an A/A pair, whose ratio would be 1 on a machine without noise. A difference is
within the noise if its interval contains 1, or if an A/A pair on that problem differs as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from problems import Vector

FEWEST = 3  # repetitions that an interval needs
MARK = "~"
_RESAMPLES = 1999
_NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
    """A ratio of times with its interval.

    Attributes
    ----------
    low, high : ends of the 95 % interval; NaN with fewer than 3 repetitions on either side.
    within_noise : whether it might as well be 1.
    """

    ratio: float
    low: float = _NAN
    high: float = _NAN
    within_noise: bool = False

    @property
    def factor(self) -> str:
        """The ratio, `1.04×`; `1×` where no interval shows that the third digit is significant."""
        coarse = np.isnan(self.low) and self.ratio < 9.95
        return f"{self.ratio:.2g}×" if coarse else f"{_number(self.ratio)}×"

    @property
    def spread(self) -> str:
        """The interval and the mark that follow it: ` [0.97, 1.11] ~`."""
        known = not np.isnan(self.low)
        interval = f" [{_number(self.low)}, {_number(self.high)}]" if known else ""
        return interval + (f" {MARK}" if self.within_noise else "")

    def __str__(self) -> str:
        """The ratio with its interval, nothing where there is none."""
        return "" if np.isnan(self.ratio) else self.factor + self.spread


def _number(value: float) -> str:
    if value < 0.095:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def compare(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], noise: float = 1.0, ones: int = 0
) -> Comparison:
    """Return the geometric mean of ratios of medians with its 95 % interval.

    Parameters
    ----------
    pairs : for each problem the times (s, one a repetition) and those that they are compared to.
    noise : the factor by which A/A pairs differ; 1 if it is not known.
    ones : further ratios that are 1 because a solver is the reference itself.
    """
    if not pairs:
        return Comparison(1.0 if ones else _NAN)
    samples = [np.asarray(times, dtype=np.float64) for pair in pairs for times in pair]
    if any(len(times) == 0 or not times.min() > 0 for times in samples):
        return Comparison(_NAN)

    def mean_ratio(*resampled: Vector) -> Vector:
        medians = np.array([np.median(times, axis=-1) for times in resampled])
        ratios = medians[0::2] / medians[1::2]
        return np.prod(ratios ** (1 / (len(pairs) + ones)), axis=0)

    ratio, (low, high) = float(mean_ratio(*samples)), (_NAN, _NAN)
    if min(map(len, samples)) >= FEWEST:
        rng = np.random.default_rng(0)  # so that the same runs give the same table
        places = [rng.integers(0, len(times), (_RESAMPLES, len(times))) for times in samples]
        resampled = [times[place] for times, place in zip(samples, places, strict=True)]
        low, high = np.percentile(mean_ratio(*resampled), (2.5, 97.5))
    within = low <= 1 <= high or _factor(ratio) <= noise
    return Comparison(ratio, float(low), float(high), bool(within))


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def ranks(times: Sequence[Sequence[float]], noise: float = 1.0) -> list[int]:
    """Return the ranks of solvers that are sorted by their medians, such as 1, 1, 3.

    A solver shares the rank of the one before it if it is within the noise of the fastest of that rank.
    """
    given: list[int] = []
    first = 0
    for place, mine in enumerate(times):
        if place and not compare([(mine, times[first])], noise).within_noise:
            first = place
        given.append(first + 1)
    return given


def ranked(table: pd.DataFrame, time: str, noise: Mapping[str, float]) -> pd.Series:
    """Return the ranks of solvers, problem by problem, and target by target where there are any.

    A row without a time has none.

    Parameters
    ----------
    table : columns problem, perhaps target, times (of the repetitions) and `time` (their median).
    noise : what `noise_of_problems` returns.
    """
    found = pd.Series(np.nan, table.index)
    ordered = table.dropna(subset=[time]).sort_values(time, kind="stable")
    keys = [key for key in ("problem", "target") if key in table]
    for (problem, *_), rows in ordered.groupby(keys, sort=False):
        given = ranks(rows["times"].tolist(), noise.get(str(problem), 1.0))
        found[rows.index] = np.array(given, dtype=np.float64)
    return found


def is_repeat(results: pd.DataFrame) -> pd.Series:
    """Whether each run is the second of an A/A pair."""
    marks = results["aa_repeat"] if "aa_repeat" in results else pd.Series(None, results.index)
    return marks.eq(True)  # of a row without a mark it is missing


def without_repeats(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs but for the second ones of A/A pairs."""
    return results[~is_repeat(results)]


def aa_pairs(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each A/A pair whose runs have all finished.

    Columns: problem, solver, and those of `Comparison`; empty without `noise: true`.
    """
    done = results["time_solve"].where(results["status"] == "finished")
    table = results.assign(repeat=is_repeat(results), done=done)
    keys = ["problem_id", "formulation", "solver", "params"]
    paired = table[table.groupby(keys)["repeat"].transform("any").astype(bool)]
    rows: list[dict[str, Any]] = []
    for (problem, _, solver), runs in paired.groupby(keys[:3], sort=False):
        pairs = [
            (own["done"][own["repeat"]].tolist(), own["done"][~own["repeat"]].tolist())
            for _, own in runs.groupby("params", sort=False)
            if own["done"].notna().all() and 0 < own["repeat"].sum() < len(own)
        ]
        rows.append({"problem": problem, "solver": solver} | vars(compare(pairs)))
    columns = ["problem", "solver", *vars(Comparison(_NAN))]
    return pd.DataFrame([row for row in rows if row["ratio"] > 0], columns=columns)


def noise_of_problems(pairs: pd.DataFrame) -> dict[str, float]:
    """Return for each problem the largest factor by which one of its A/A pairs differs."""
    factors = pairs["ratio"].map(_factor).groupby(pairs["problem"]).max()
    return {str(problem): float(factor) for problem, factor in factors.items()}


def noise_of_means(pairs: pd.DataFrame) -> float:
    """Return the largest factor by which the A/A pairs of a solver differ in the geometric mean.

    1 where there are no pairs.
    """
    logs = [np.log(own["ratio"].to_numpy(np.float64)) for _, own in pairs.groupby("solver")]
    return max((_factor(float(np.exp(log.mean()))) for log in logs), default=1.0)
