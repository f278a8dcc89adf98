"""Confidence intervals of ratios of times, and timing noise.

    ratio = median(times) / median(times of the reference)

with a 95 % interval of its logarithm, from Student's t with Welch's degrees of freedom (Welch,
Biometrika 34, 1947): the median of the logarithms of n times with standard deviation s has a variance of
about π s² / (2n + 1). In simulations with three, five and ten repetitions and scatter that is normal,
skewed or has outliers, equal or not for the two solvers, it covers the true ratio in at least 96 % of
the samples, and the mean of 13 ratios in at least 94 %. The percentile bootstrap covers a ratio in 73 to
91 % with three repetitions, as a resampled median cannot leave the range of the times.

With `noise: true` an experiment runs the first configuration of each solver twice in every round, as if
it were two solvers: an A/A pair, whose ratio would be 1 on a machine without noise. A difference is
within the noise if its interval contains 1, or if an A/A pair on that problem differs as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dualgap.problems import Vector

MIN_REPETITIONS = 3  # repetitions that an interval needs
MARK = "~"
_NAN = float("nan")


@dataclass(frozen=True)
class Comparison:
    """A ratio of times with its interval.

    Attributes
    ----------
    low, high : ends of the 95 % interval; NaN with fewer than 3 repetitions on either side.
    within_noise : whether it cannot be distinguished from 1.
    """

    ratio: float
    low: float = _NAN
    high: float = _NAN
    within_noise: bool = False

    @property
    def factor(self) -> str:
        """The ratio, `1.04×`; with two digits, `1×`, if it has no interval."""
        coarse = np.isnan(self.low) and self.ratio < 9.95
        return f"{self.ratio:.2g}×" if coarse else f"{_number(self.ratio)}×"

    @property
    def interval_text(self) -> str:
        """The interval and the noise mark: ` [0.97, 1.11] ~`."""
        has_interval = not np.isnan(self.low)
        interval = f" [{_number(self.low)}, {_number(self.high)}]" if has_interval else ""
        return interval + (f" {MARK}" if self.within_noise else "")

    def __str__(self) -> str:
        """The ratio with its interval; empty without a ratio."""
        return "" if np.isnan(self.ratio) else self.factor + self.interval_text


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
    pairs : for each problem the times (s, one per repetition) and the reference times.
    noise : the factor by which A/A pairs differ; 1 if unknown.
    ones : number of further ratios that are 1 because a solver is the reference itself.
    """
    if not pairs:
        return Comparison(1.0 if ones else _NAN)
    samples = [np.asarray(times, dtype=np.float64) for pair in pairs for times in pair]
    if any(len(times) == 0 or not times.min() > 0 for times in samples):
        return Comparison(_NAN)

    count = len(pairs) + ones
    medians = np.array([np.median(times) for times in samples])
    ratio, low, high = float(np.prod((medians[0::2] / medians[1::2]) ** (1 / count))), _NAN, _NAN
    if min(map(len, samples)) >= MIN_REPETITIONS:
        margin = _margin(samples, count)
        low, high = ratio / margin, ratio * margin
    within = low <= 1 <= high or _factor(ratio) <= noise
    return Comparison(ratio, low, high, bool(within))


def _margin(samples: Sequence[Vector], count: int) -> float:
    """Return the factor from a mean of `count` ratios of medians to the ends of its 95 % interval."""
    sizes = np.array([len(times) for times in samples])
    scatter = np.array([np.log(times).var(ddof=1) for times in samples])
    variances = np.pi / (2 * sizes + 1) * scatter / count**2
    total = float(variances.sum())
    if total == 0:
        return 1.0
    freedom = total**2 / float((variances**2 / (sizes - 1)).sum())
    return float(np.exp(stdtrit(freedom, 0.975) * np.sqrt(total)))


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio)


def ranks(times: Sequence[Sequence[float]], noise: float = 1.0) -> list[int]:
    """Return the ranks of solvers sorted by their medians, such as 1, 1, 3.

    A solver shares the rank of the one before it if it is within the noise of the fastest of that rank.
    """
    result: list[int] = []
    first = 0
    for index, current in enumerate(times):
        if index and not compare([(current, times[first])], noise).within_noise:
            first = index
        result.append(first + 1)
    return result


def ranked(table: pd.DataFrame, time: str, noise: Mapping[str, float]) -> pd.Series:
    """Return the ranks of solvers per problem (and target, if there are any); NaN without a time.

    Parameters
    ----------
    table : columns problem, perhaps target, times (of the repetitions) and `time` (their median).
    noise : the result of `noise_of_problems`.
    """
    result = pd.Series(np.nan, table.index)
    ordered = table.dropna(subset=[time]).sort_values(time, kind="stable")
    for (problem, *_), rows in ordered.groupby(_keys(table), sort=False):
        values = ranks(rows["times"].tolist(), noise.get(str(problem), 1.0))
        result[rows.index] = np.array(values, dtype=np.float64)
    return result


def noise_unknown(table: pd.DataFrame, time: str, noise: Mapping[str, float]) -> pd.Series:
    """Whether the order of each row among those of its problem (and target) may be due to chance.

    It may if several solvers have a time, one of them with fewer than `MIN_REPETITIONS` repetitions,
    and no A/A pair measures how much identical runs differ. Parameters: see `ranked`.
    """
    timed = table.dropna(subset=[time])
    groups = timed["times"].map(len).groupby([timed[key] for key in _keys(table)], sort=False)
    unknown = (groups.transform("size") > 1) & (groups.transform("min") < MIN_REPETITIONS)
    return (unknown & ~timed["problem"].isin([*noise])).reindex(table.index, fill_value=False)


def winners(table: pd.DataFrame, time: str, noise: Mapping[str, float]) -> pd.Series:
    """Whether each row is the fastest of its problem (and target), or within the noise of it.

    Tables print these in bold; none is if the noise is unknown. Parameters: see `ranked`.
    """
    return ranked(table[~noise_unknown(table, time, noise)], time, noise).reindex(table.index) == 1


def _keys(table: pd.DataFrame) -> list[str]:
    return [key for key in ("problem", "target") if key in table]


def aa_pairs(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per A/A pair whose runs have all finished.

    Columns: problem, solver, and those of `Comparison`; empty without `noise: true`.
    """
    finished = results["time_solve"].where(results["status"] == "finished")
    table = results.assign(finished=finished)
    keys = ["problem_id", "formulation", "solver", "params"]
    paired = table[table.groupby(keys)["aa_repeat"].transform("any").astype(bool)]
    rows: list[dict[str, Any]] = []
    for (problem, _, solver), runs in paired.groupby(keys[:3], sort=False):
        pairs = [
            (
                group["finished"][group["aa_repeat"]].tolist(),
                group["finished"][~group["aa_repeat"]].tolist(),
            )
            for _, group in runs.groupby("params", sort=False)
            if group["finished"].notna().all() and 0 < group["aa_repeat"].sum() < len(group)
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

    1 without pairs.
    """
    logs = [np.log(group["ratio"].to_numpy(np.float64)) for _, group in pairs.groupby("solver")]
    return max((_factor(float(np.exp(log.mean()))) for log in logs), default=1.0)
