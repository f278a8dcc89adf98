"""A benchmark as Markdown: a table a target, then means, noise, bounds on time, growth, passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gmean

from experiments.analysis.cheapest import arithmetic_bounds, cheapest
from experiments.analysis.configurations import joined_by_optimum
from experiments.analysis.growth import growth
from experiments.analysis.labels import common_words, distinct_names
from experiments.analysis.noise import (
    FEWEST,
    MARK,
    Comparison,
    aa_pairs,
    noise_of_means,
)
from experiments.analysis.outcomes import missed
from experiments.benchmark.tables import intercepts, means, passes
from experiments.output.text import duration, markdown_table
from experiments.workers.machine import bytes_text

_LEGEND = (
    "Each cell is the cheapest run of that solver, whatever its tolerance, whose certified relative "
    "gap is at or below the target: the median time over the repetitions, the accuracy that was "
    "asked for, and the time relative to our fastest solver. Times are of solving "
    "alone: loading the data, compiling and certifying are left out. `–` stands for a target that "
    "was not reached, with the best certified gap and how that run ended."
)
_INTERVALS = (
    "In brackets is the 95 % interval of a ratio: bootstrap of the ratio of medians, where there are "
    f"{FEWEST} repetitions. `{MARK}` stands for a difference within the noise: the interval contains 1, "
    "or an A/A pair differs as much."
)
_NO_INTERVALS = f"Ratios have no intervals: no run was repeated {FEWEST} times."
_FLOOR = (
    "The arithmetic lower bound on time: the number of kernel values that any certificate needs, "
    "n·nSV − nSV²/2, times the time of one value in float32 matrix products with exponentials on this "
    "machine, measured in the same run."
)
_PASSES = (
    "The relative distance of the primal objective to the run's best dual bound, and the time."
)
_Row = Mapping[Any, Any]


def to_markdown(results: pd.DataFrame, title: str, machine: Sequence[str]) -> str:
    """Return the whole report.

    Parameters
    ----------
    results : the runs, as `load_results` gives them.
    machine : the sentences of `machine_text`.
    """
    results = joined_by_optimum(results)
    names = [str(problem) for problem in results["problem_id"].unique()]
    short = dict(zip(names, distinct_names(names), strict=True))
    results = results.assign(problem_id=results["problem_id"].map(short))
    table, pairs = cheapest(results), aa_pairs(results)
    listed = "\n".join(f"- {line}" for line in machine)
    parts = [f"# {title}", listed, f"{_common(names)}{_LEGEND} {_intervals(results)}"]
    for target, rows in table.groupby("target", sort=False):
        parts += [f"## Certified relative gap at most {target:.0e}", _at_target(rows)]
    rates = means(table, noise_of_means(pairs))
    parts += ["## Ratios to our fastest solver", _means(rates, len(names)), _noise(pairs)]
    parts += _section("Problems", _problems(arithmetic_bounds(results)))
    parts += _section("Growth with n", _growth(growth(table)))
    parts += _section("What the intercept costs", _intercepts(intercepts(table)))
    parts += _section("At equal passes over the data", _passes(passes(results)))
    return "\n\n".join(parts) + "\n"


def _common(names: Sequence[str]) -> str:
    words = common_words(names)
    return f"All problems are {' '.join(words)}. " if words else ""


def _intervals(results: pd.DataFrame) -> str:
    return _INTERVALS if results["repetition"].max() + 1 >= FEWEST else _NO_INTERVALS


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", text] if text else []


def _at_target(rows: pd.DataFrame) -> str:
    """Return a table with a row a problem and a column a solver, ours first."""
    solvers = rows.sort_values(["kind", "solver"])["solver"].unique()  # "ours" before "peer"
    several = rows[rows["kind"] == "ours"]["solver"].nunique() > 1
    lines = [
        {"problem": problem} | {row["solver"]: _cell(row, several) for row in _rows(group)}
        for problem, group in rows.groupby("problem", sort=False)
    ]
    return markdown_table(pd.DataFrame(lines, columns=["problem", *solvers]).fillna(""))


def _cell(row: _Row, several: bool) -> str:
    if row["outcome"] != "reached":
        return missed(row)
    compared = row["kind"] == "peer" or several
    parts = [f"{duration(row['time'])} ({row['setting']})"]
    parts += [_bold(_comparison(row, "ratio"))] if compared and np.isfinite(row["ratio"]) else []
    bounded = np.isfinite(row["floors"]) and row["kind"] == "ours"
    return ", ".join(parts + ([f"{_times(row['floors'])} the lower bound"] if bounded else []))


def _comparison(row: _Row, name: str) -> Comparison:
    return Comparison(row[name], row["low"], row["high"], row["within_noise"])


def _bold(ratio: Comparison) -> str:
    """Return a ratio with its interval, bold if it is more than noise."""
    return (ratio.factor if ratio.within_noise else f"**{ratio.factor}**") + ratio.spread


def _times(ratio: float) -> str:
    return Comparison(ratio).factor


def _means(table: pd.DataFrame, problems: int) -> str:
    lines = [
        {
            "gap": f"{row['target']:.0e}",
            "solver": row["solver"] + (" (ours)" if row["kind"] == "ours" else ""),
            "geometric mean": _mean(_comparison(row, "mean")),
            "problems": f"{row['problems']} of {problems}",
            "least": _or_dash(row["least"], _times),
            "most": _or_dash(row["most"], _times),
            "only it failed": row["failed"],
            "only ours failed": row["alone"],
        }
        for row in _rows(table)
    ]
    return markdown_table(pd.DataFrame(lines))


def _mean(mean: Comparison) -> str:
    return mean.factor + mean.spread if np.isfinite(mean.ratio) else "–"


def _noise(pairs: pd.DataFrame) -> str:
    """Return the timing noise that the A/A pairs show, in a sentence."""
    if pairs.empty:
        return "Noise (A/A) was not measured; `noise: true` in an experiment file measures it."
    factors = np.exp(np.abs(np.log(pairs["ratio"].to_numpy())))
    return (
        "Noise (A/A): two runs of the same configuration, at two places of every round, differ by a "
        f"factor of {gmean(factors):.2f} (geometric mean over {len(pairs)} pairs, one for each solver "
        f"and problem), {factors.max():.2f} at most; by {noise_of_means(pairs):.2f} at most in a "
        "solver's geometric mean over the problems."
    )


def _problems(table: pd.DataFrame) -> str:
    """Return sizes of the problems and, where it was measured, the lower bound on time."""
    lines = [
        {
            "problem": row["problem"],
            "n": f"{row['n']:.0f}",
            "d": f"{row['d']:.0f}",
            "support vectors": _or_dash(row["support"], lambda count: f"{count:.0f}"),
            "kernel values": _or_dash(row["values"], lambda count: f"{count:.2e}"),
            "time of a value": _or_dash(row["nanoseconds"], lambda each: f"{each:.2f} ns"),
            "lower bound": duration(row["time"]),
        }
        for row in _rows(table)
    ]
    if table["time"].isna().all():
        return markdown_table(
            pd.DataFrame(lines).drop(columns=["kernel values", "time of a value", "lower bound"])
        )
    return f"{markdown_table(pd.DataFrame(lines))}\n\n{_FLOOR}"


def _growth(table: pd.DataFrame) -> str:
    lines = [
        {
            "gap": f"{row['target']:.0e}",
            "problem": row["problem"],
            "solver": row["solver"],
            "time ∝": _or_dash(row["exponent"], lambda k: f"n^{k:.2f}"),
            "sizes": row["sizes"],
            "largest n": _or_dash(row["largest"], lambda n: f"{n:.0f}"),
            "time there": duration(row["time"]) or "–",
            "memory there": _or_dash(row["memory"], bytes_text),
        }
        for row in _rows(table)
    ]
    return markdown_table(pd.DataFrame(lines)) if lines else ""


def _intercepts(table: pd.DataFrame) -> str:
    lines = [
        {
            "gap": f"{row['target']:.0e}",
            "problem": row["problem"],
            "solver": row["solver"],
            "without": duration(row["without"]),
            "with": duration(row["with"]),
            "ratio": _times(row["ratio"]),
        }
        for row in _rows(table)
    ]
    return markdown_table(pd.DataFrame(lines)) if lines else ""


def _passes(table: pd.DataFrame) -> str:
    """Return the relative suboptimality of the primal after so many passes, and the time they took."""
    lines: dict[tuple[str, int], dict[str, str]] = {}
    for row in _rows(table):
        made = int(row["setting"].removeprefix("epochs "))
        line = lines.setdefault((row["problem"], made), {})
        line[row["solver"]] = f"{row['suboptimality']:.1e} in {duration(row['time'])}"
    order = list(table["problem"].unique()) if lines else []
    places = sorted(lines, key=lambda place: (order.index(place[0]), place[1]))
    passed = [{"problem": p, "passes": made} | lines[p, made] for p, made in places]
    return f"{_PASSES}\n\n{markdown_table(pd.DataFrame(passed).fillna(''))}" if passed else ""


def _or_dash(value: float, shown: Callable[[float], str]) -> str:
    return shown(value) if np.isfinite(value) else "–"


def _rows(table: pd.DataFrame) -> Iterator[_Row]:
    yield from table.to_dict("records")
