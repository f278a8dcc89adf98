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
from experiments.analysis.noise import FEWEST, MARK, Comparison, aa_pairs, noise_of_means
from experiments.analysis.outcomes import missed
from experiments.benchmark.tables import intercepts, means, passes
from experiments.output.text import (
    SINGLE,
    duration,
    markdown_table,
    precision_text,
    time_and_setup,
)
from experiments.workers.machine import bytes_text

_LEGEND = (
    "Each cell is the cheapest run of that solver, whatever its tolerance, whose certified relative "
    "gap is at or below the target: the median times over the repetitions of solving and, after the +, "
    "of setting up (imports, compiling), the accuracy that was asked for, and the time of solving "
    "relative to our fastest solver, which the second column names; a baseline that makes passes over "
    "the data is compared with ours that does so too. Loading the data and certifying are left out. "
    "`–` stands for a target that was asked for and not reached, with the best certified gap and how "
    "that run ended; a blank for one that was not asked for: at the smallest tolerance that was tried "
    f"the gap was larger, and still falling. {SINGLE}: a baseline that uses one thread, however many it "
    "may use."
)
_INTERVALS = (
    "In brackets is the 95 % interval of a ratio: bootstrap of the ratio of medians, where there are "
    f"{FEWEST} repetitions. `{MARK}` stands for a difference within the noise: the interval contains 1, "
    "or an A/A pair differs as much."
)
_NO_INTERVALS = f"Ratios have no intervals: no run was repeated {FEWEST} times."
_LOWER_BOUND = (
    "The arithmetic lower bound on time: the number of kernel values that any certificate needs, "
    "n·nSV − nSV²/2, times the time of one value in float32 matrix products with exponentials on this "
    "machine, measured in the same run."
)
_PASSES = (
    "The relative distance of the primal objective to the run's best dual bound, and the time."
)
_Row = Mapping[Any, Any]


def _times(ratio: float) -> str:
    return Comparison(ratio).factor


_Columns = dict[str, tuple[str, Callable[[Any], str]]]  # head: column, and how a value is shown
_MEANS: _Columns = {
    "gap": ("target", "{:.0e}".format),
    "solver": ("solver", str),
    "relative to": ("ours", str),
    "geometric mean": ("mean", str),
    "problems": ("problems", str),
    "least": ("least", _times),
    "most": ("most", _times),
    "only it failed, though asked": ("failed", str),
    "only ours failed": ("alone", str),
}
_SIZES: _Columns = {
    "problem": ("problem", str),
    "n": ("n", "{:.0f}".format),
    "d": ("d", "{:.0f}".format),
    "support vectors": ("support", "{:.0f}".format),
}
_BOUNDS: _Columns = {
    "kernel values": ("values", "{:.2e}".format),
    "time of a value": ("nanoseconds", "{:.2f} ns".format),
    "lower bound": ("time", duration),
}
_GROWTH: _Columns = {
    "time ∝": ("exponent", "n^{:.2f}".format),
    "sizes": ("sizes", str),
    "largest n": ("largest", "{:.0f}".format),
    "time there": ("time", duration),
    "memory there": ("memory", bytes_text),
}
_INTERCEPTS: _Columns = {
    "without": ("without", duration),
    "with": ("with", duration),
    "ratio": ("ratio", _times),
}
_PLACE: _Columns = {
    "gap": ("target", "{:.0e}".format),
    "problem": ("problem", str),
    "solver": ("solver", str),
}


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
    words = common_words(names)
    common = f"All problems are {' '.join(words)}. " if words else ""
    repeated = results["repetition"].max() + 1 >= FEWEST
    legend = f"{common}{_LEGEND} {_INTERVALS if repeated else _NO_INTERVALS}"
    legend = f"{legend} {precision_text({title: results})}".strip()
    parts = [f"# {title}", listed, legend]
    for target, rows in table.groupby("target", sort=False):
        parts += [f"## Certified relative gap at most {target:.0e}", _at_target(rows)]
    rates = means(table, noise_of_means(pairs))
    parts += ["## Ratios to our fastest solver", _means(rates, len(names)), _noise(pairs)]
    bounds = arithmetic_bounds(results)
    bounded = bool(bounds["time"].notna().any())
    sections = {
        "Problems": _table(bounds, _SIZES | _BOUNDS if bounded else _SIZES),
        "": _LOWER_BOUND if bounded else "",
        "Growth with n": _table(growth(table), _PLACE | _GROWTH),
        "What the intercept costs": _table(intercepts(table), _PLACE | _INTERCEPTS),
        "At equal passes over the data": _passes(passes(results)),
    }
    for head, text in sections.items():
        parts += [f"## {head}"] if head and text else []
        parts += [text] if text else []
    return "\n\n".join(parts) + "\n"


def _at_target(rows: pd.DataFrame) -> str:
    """Return a table with a row a problem and a column a solver, ours first."""
    solvers = rows.sort_values(["kind", "solver"])["solver"].unique()  # "ours" before "peer"
    several = rows[rows["kind"] == "ours"]["solver"].nunique() > 1
    lines: list[dict[str, str]] = []
    for problem, group in rows.groupby("problem", sort=False):
        fastest = group[group["kind"] == "ours"]["ours"].iloc[:1]
        line = {"problem": str(problem), "fastest of ours": "".join(fastest)}
        lines.append(line | {row["solver"]: _cell(row, several) for row in _rows(group)})
    heads = ["problem", "fastest of ours", *solvers]
    table = pd.DataFrame(lines, columns=heads).fillna("")
    single = rows[rows["single"]]["solver"].unique()
    return markdown_table(table.rename(columns={name: f"{name} {SINGLE}" for name in single}))


def _cell(row: _Row, several: bool) -> str:
    if row["outcome"] != "reached":
        return missed(row)
    compared = row["kind"] == "peer" or several
    parts = [f"{time_and_setup(row['time'], row['setup'])} ({row['setting']})"]
    parts += [bold(_comparison(row, "ratio"))] if compared and np.isfinite(row["ratio"]) else []
    bounded = np.isfinite(row["floors"]) and row["kind"] == "ours"
    return ", ".join(parts + ([f"{_times(row['floors'])} the lower bound"] if bounded else []))


def _comparison(row: _Row, name: str) -> Comparison:
    return Comparison(row[name], row["low"], row["high"], row["within_noise"])


def bold(ratio: Comparison) -> str:
    """Return a ratio with its interval, bold if it is more than noise."""
    return (ratio.factor if ratio.within_noise else f"**{ratio.factor}**") + ratio.spread


def _means(table: pd.DataFrame, problems: int) -> str:
    means = [_comparison(row, "mean") for row in _rows(table)]
    shown = [m.factor + m.spread if np.isfinite(m.ratio) else "–" for m in means]
    ours = np.where(table["kind"] == "ours", " (ours)", "")
    ours = ours + np.where(table["single"], f" {SINGLE}", "")
    of = table["problems"].astype(str) + f" of {problems}"
    return _table(table.assign(solver=table["solver"] + ours, mean=shown, problems=of), _MEANS)


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


def _passes(table: pd.DataFrame) -> str:
    """Return the relative suboptimality of the primal after so many passes, and the time they took."""
    if table.empty:
        return ""
    made = table["setting"].str.removeprefix("epochs ").astype(int)
    cells = [f"{row['suboptimality']:.1e} in {duration(row['time'])}" for row in _rows(table)]
    problems = pd.Categorical(table["problem"], table["problem"].unique())
    shown = table.assign(passes=made, cell=cells, problem=problems).pivot_table(
        "cell", ["problem", "passes"], "solver", "first", sort=False, observed=True
    )
    return f"{_PASSES}\n\n{markdown_table(shown.sort_index().fillna('').reset_index())}"


def _table(table: pd.DataFrame, columns: _Columns) -> str:
    """Return a Markdown table, empty without rows; what is not a finite number is a dash."""
    cells = {
        head: [shown(v) if isinstance(v, str) or np.isfinite(v) else "–" for v in table[name]]
        for head, (name, shown) in columns.items()
        if len(table)
    }
    return markdown_table(pd.DataFrame(cells)) if cells else ""


def _rows(table: pd.DataFrame) -> Iterator[_Row]:
    yield from table.to_dict("records")
