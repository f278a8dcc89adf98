"""Two folders of results side by side: what got faster, slower, right, wrong, or is missing.

    ratio = median(times in the second) / median(times in the first)

with its interval, and within the noise as `noise.compare` says; A/A pairs of either folder count. Times
are compared only where all runs came to their end, on one host. `matching` tells which runs belong
together, `terminal` prints what became of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.analysis.matching import matched, renamed
from experiments.analysis.noise import FEWEST, Comparison, aa_pairs, compare, noise_of_problems
from experiments.analysis.noise import without_twins as without
from experiments.cases.records import BAD
from experiments.output.tables import worst_outcome

__all__ = ["CHANGES", "REGRESSIONS", "Change", "regressed", "set_side_by_side"]

CHANGES = {  # worst first
    "wrong": "the answer is wrong now, and was not",
    "unsolved": "was solved, and is not any more",
    "broken": "crashes, diverges or runs out of memory now, and did not",
    "slower": "by more than the noise",
    "less accurate": "the gap is at least ten times as large, and above the target",
    "other data": "the problem has its name, and other data: nothing is compared",
    "missing": "in the first folder only",
    "new": "in the second folder only",
    "unclear": f"fewer than {FEWEST} repetitions, or several hosts: times say nothing",
    "faster": "by more than the noise",
    "solved": "was not solved, and is now",
    "mended": "was wrong or broken, and is not any more",
    "same": "no change, but for the noise",
}
REGRESSIONS = ("wrong", "unsolved", "broken")
_SETTLED = ("solved", "infeasible")
_ENDED = ("finished", "infeasible")
_BROKEN = ("wrong", *BAD)
_WORSE = 10  # factor between gaps that is more than chance
_NAN = float("nan")
_NOT_COMPARED = Comparison(_NAN)
Times = tuple[float, ...]


@dataclass(frozen=True)
class Change:
    """What became of a solver on a problem.

    Attributes
    ----------
    change : a key of `CHANGES`.
    before, after : outcomes ("" where there are no runs).
    gaps : the largest certified relative gaps. times : medians, in seconds.
    comparison : of the times; its ratio is NaN where they do not compare.
    samples : the times (second, first) where they do compare, else none.
    """

    change: str
    problem: str
    solver: str
    before: str = ""
    after: str = ""
    gaps: tuple[float, float] = (_NAN, _NAN)
    times: tuple[float, float] = (_NAN, _NAN)
    comparison: Comparison = _NOT_COMPARED
    samples: tuple[Times, Times] = ((), ())


def set_side_by_side(first: pd.DataFrame, second: pd.DataFrame) -> list[Change]:
    """Return what became of each solver on each problem, worst first.

    Parameters
    ----------
    first, second : the runs of two folders, as `load_results` gives them.
    """
    second, other_data = renamed(first, second)
    noise = _noise(first, second)
    pairs = matched(without(first), without(second))
    changes = [
        _one_sided(problem, solver, before, after)
        if before is None or after is None
        else Change("other data", problem, solver, *_outcomes(before, after))
        if problem in other_data
        else _change(problem, solver, before, after, noise)
        for problem, solver, before, after in pairs
    ]
    return sorted(changes, key=lambda change: list(CHANGES).index(change.change))


def _noise(*tables: pd.DataFrame) -> dict[str, float]:
    """Return for each problem the largest factor by which an A/A pair of any folder differs."""
    found: dict[str, float] = {}
    for table in tables:
        for problem, factor in noise_of_problems(aa_pairs(table)).items():
            found[problem] = max(factor, found.get(problem, 1.0))
    return found


def _one_sided(
    problem: str, solver: str, before: pd.DataFrame | None, after: pd.DataFrame | None
) -> Change:
    if before is not None:
        return Change("missing", problem, solver, before=worst_outcome(before))
    assert after is not None
    return Change("new", problem, solver, after=worst_outcome(after))


def _outcomes(before: pd.DataFrame, after: pd.DataFrame) -> tuple[str, str]:
    return worst_outcome(before), worst_outcome(after)


def _change(
    problem: str,
    solver: str,
    before: pd.DataFrame,
    after: pd.DataFrame,
    noise: Mapping[str, float],
) -> Change:
    was, now = _outcomes(before, after)
    gaps = float(before["relative_gap"].max()), float(after["relative_gap"].max())
    samples = _samples(before, after)
    compared = compare([samples], noise.get(problem, 1.0)) if samples[0] else _NOT_COMPARED
    less_accurate = gaps[1] > max(_WORSE * gaps[0], float(after["target_gap"].min()))
    return Change(
        _word(was, now, less_accurate, compared),
        problem,
        solver,
        was,
        now,
        gaps,
        (float(before["time_solve"].median()), float(after["time_solve"].median())),
        compared,
        samples,
    )


def _samples(before: pd.DataFrame, after: pd.DataFrame) -> tuple[Times, Times]:
    """Return the times of the second folder and of the first, none if they do not compare."""
    both = pd.concat([before, after])
    if both["host"].nunique(dropna=False) > 1 or not both["status"].isin(_ENDED).all():
        return (), ()
    return tuple(after["time_solve"]), tuple(before["time_solve"])


def _word(was: str, now: str, less_accurate: bool, compared: Comparison) -> str:
    """Return which of `CHANGES` this is: the first that holds."""
    settled = now in _SETTLED
    certain = not (np.isnan(compared.low) or compared.within_noise)
    holds = {
        "wrong": now == "wrong" != was,
        "unsolved": was in _SETTLED and not settled,
        "broken": now in BAD and was not in _BROKEN,
        "solved": settled and was not in _SETTLED,
        "mended": was in _BROKEN and now not in _BROKEN,
        "less accurate": less_accurate,
        "slower": certain and compared.ratio > 1,
        "faster": certain and compared.ratio < 1,
        "unclear": settled and np.isnan(compared.low),
    }
    return next((word for word, true in holds.items() if true), "same")


def regressed(changes: Sequence[Change]) -> bool:
    """Whether something became wrong, unsolved or broken."""
    return any(change.change in REGRESSIONS for change in changes)
