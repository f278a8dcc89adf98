"""A benchmark as Markdown: one table per target, then means, noise, reference times, growth, passes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gmean

from dualgap.experiments.analysis.growth import growth
from dualgap.experiments.analysis.labels import SIZES, gap_text, words_of
from dualgap.experiments.analysis.means import Benchmark, intercepts, passes
from dualgap.experiments.analysis.noise import MARK, MIN_REPETITIONS, Comparison, noise_of_means
from dualgap.experiments.analysis.times import TIME_DEFINITIONS, missed_text, requested_rows
from dualgap.experiments.records.choices import common_words, distinct_names
from dualgap.experiments.tables.formats import SETUP, SINGLE, duration, precision_text
from dualgap.experiments.tables.table import Column, Table
from dualgap.experiments.workers.machine import bytes_text
from dualgap.problems.texts import markdown

_LEGEND = (
    f"{TIME_DEFINITIONS['cheapest_setting']} Each cell has the median times over the repetitions of "
    "solving and, after the +, of setting up (imports, compiling), the requested accuracy, and the "
    "solving time relative to our fastest solver, which the second column names; a baseline that makes "
    "passes over the data is compared with ours that does so too. Loading and certifying are not "
    "included. "
    f"{SETUP} `–` means that the target was requested but not reached, with the best certified gap and "
    "how that run ended; a blank that it was not requested: all tolerances that were tried are above "
    f"it, and the gap was still falling. {SINGLE}: a baseline that uses one thread, even if more are "
    "allowed."
)
_INTERVALS = (  # without and with repetitions
    f"Ratios have no intervals: no run was repeated {MIN_REPETITIONS} times.",
    "Brackets have the 95 % interval of a ratio (Student's t of the logarithms), with at least "
    f"{MIN_REPETITIONS} repetitions. `{MARK}` means a difference within the noise: the interval "
    "contains 1, or an A/A pair differs as much; ratios with a significant difference are bold.",
)
_DENSE_REFERENCE = (
    "The dense reference is the time of one dense evaluation of the kernel between all samples and the "
    "support vectors, n·nSV − nSV²/2 values: float32 matrix products with exponentials on this machine, "
    "measured in the same run. It is not a lower bound: equal or sparse samples need less work."
)
_PASSES = (
    "The relative distance of the primal objective to the run's best dual bound, and the time."
)
_Row = Mapping[Any, Any]


def _times(ratio: float) -> str:
    return Comparison(ratio).factor


def _column(head: str, formatter: Callable[[Any], str] = str) -> Column:
    return Column(head, formatter, missing="–")


_MEANS = {
    "target": _column("gap", gap_text),
    "solver": _column("solver"),
    "ours": _column("relative to"),
    "mean": _column("geometric mean"),
    "problems": _column("both solved, of those requested"),
    "least": _column("least", _times),
    "most": _column("most", _times),
    "failed": _column("only it failed, though requested"),
    "alone": _column("only ours failed"),
}
_SIZES = {
    "problem": _column("problem"),
    "n": _column("n", "{:.0f}".format),
    "d": _column("d", "{:.0f}".format),
    "support": _column("support vectors", "{:.0f}".format),
}
_DENSE = {
    "values": _column("kernel values", "{:.2e}".format),
    "nanoseconds": _column("time per value", "{:.2f} ns".format),
    "time": _column("dense reference", duration),
}
_KEYS = {
    "target": _column("gap", gap_text),
    "problem": _column("problem"),
    "solver": _column("solver"),
}
_GROWTH = _KEYS | {
    "exponent": _column("time ∝", "n^{:.2f}".format),
    "sizes": _column("sizes"),
    "largest": _column("largest n", "{:.0f}".format),
    "time": _column("time there", duration),
    "memory": _column("memory there", bytes_text),
}
_INTERCEPTS = _KEYS | {
    "without": _column("without", duration),
    "with": _column("with", duration),
    "ratio": _column("ratio", _times),
}


def to_markdown(benchmark: Benchmark, title: str, machine: Sequence[str]) -> str:
    """Return the whole report.

    Parameters
    ----------
    benchmark : its tables. machine : the sentences of `machine_text`.
    """
    results, pairs = benchmark.results, benchmark.pairs
    words = words_of(results)
    short, without_size = (
        dict(zip(names_by_id, distinct_names([*names_by_id.values()]), strict=True))
        for names_by_id in (words, words_of(results, SIZES))
    )
    table, references, pass_table, costs = (
        frame.assign(problem=frame["problem"].map(short))
        for frame in (
            benchmark.compared,
            benchmark.references,
            passes(results),
            intercepts(benchmark.compared, results),
        )
    )
    listed = "\n".join(f"- {markdown(line)}" for line in machine)
    shared = common_words([*words.values()])
    common = f"All problems are {markdown(' '.join(shared))}. " if shared else ""
    repeated = bool(results["repetition"].max() + 1 >= MIN_REPETITIONS)
    legend = f"{common}{_LEGEND} {_INTERVALS[repeated]}"
    legend = f"{legend} {markdown(precision_text({title: results}))}".strip()
    parts = [f"# {markdown(title)}", listed, legend]
    for target, rows in table.groupby("target", sort=False):
        parts += [f"## Certified relative gap at most {gap_text(target)}", _at_target(rows)]
    means = benchmark.means
    ours = np.where(means["kind"] == "ours", " (ours)", "")
    single = np.where(means["single"], f" {SINGLE}", "")
    sizes = requested_rows(benchmark.compared).groupby(["target", "solver"]).size().to_dict()
    rows = means.to_dict("records")
    means = means.assign(
        solver=means["solver"] + (ours + single),
        mean=[str(_comparison(row, "mean")) or "–" for row in rows],
        problems=[
            f"{row['problems']} of {sizes.get((row['target'], row['solver']), 0)}" for row in rows
        ],
    )
    ratios = Table.of(means, _MEANS).markdown()
    parts += ["## Ratios to our fastest solver", ratios, _noise(pairs)]
    measured = bool(references["time"].notna().any())
    sections = {
        "Problems": Table.of(references, _SIZES | _DENSE if measured else _SIZES).markdown(),
        "": _DENSE_REFERENCE if measured else "",
        "Growth with n": Table.of(growth(benchmark.compared, without_size), _GROWTH).markdown(),
        "What the intercept costs": Table.of(costs, _INTERCEPTS).markdown(),
        "At equal passes over the data": _passes(pass_table),
    }
    for head, text in sections.items():
        parts += [f"## {head}"] if head and text else []
        parts += [text] if text else []
    return "\n\n".join(parts) + "\n"


def _at_target(rows: pd.DataFrame) -> str:
    """Return a table with one row per problem and one column per solver, ours first."""
    ours = rows[rows["kind"] == "ours"]
    cells = rows.assign(
        head=rows["solver"].map(markdown) + np.where(rows["single"], f" {SINGLE}", ""),
        cell=[_cell(row, ours["solver"].nunique() > 1) for row in rows.to_dict("records")],
    )
    heads = cells.sort_values(["kind", "solver"])["head"].unique()  # "ours" before "peer"
    table = cells.pivot_table("cell", "problem", "head", "first", sort=False)[heads]
    table.insert(0, "fastest of ours", ours.groupby("problem")["ours"].first())
    return Table.of(table.reset_index()).markdown(marked_up=heads)


def _cell(row: _Row, several: bool) -> str:
    if row["outcome"] != "reached":
        return markdown(missed_text(row))
    compared = row["kind"] == "peer" or several
    setup = f" + {duration(row['setup'])}" if np.isfinite(row["setup"]) else ""
    parts = [f"{duration(row['time'])}{setup} ({markdown(row['setting'])})"]
    parts += [bold(_comparison(row, "ratio"))] if compared and np.isfinite(row["ratio"]) else []
    if np.isfinite(row["dense_ratio"]) and row["kind"] == "ours":
        parts.append(f"{_times(row['dense_ratio'])} the dense reference")
    return ", ".join(parts)


def _comparison(row: _Row, name: str) -> Comparison:
    return Comparison(row[name], row["low"], row["high"], row["within_noise"])


def bold(ratio: Comparison) -> str:
    """Return a ratio with its interval, bold if the difference is significant."""
    plain = ratio.within_noise or np.isnan(ratio.low)
    return (ratio.factor if plain else f"**{ratio.factor}**") + ratio.interval_text


def _noise(pairs: pd.DataFrame) -> str:
    """Return a sentence on the timing noise of the A/A pairs."""
    if pairs.empty:
        return "Noise (A/A) was not measured; `noise: true` in an experiment file measures it."
    factors = np.exp(np.abs(np.log(pairs["ratio"].to_numpy())))
    return (
        "Noise (A/A): two runs of the same configuration, at two positions in every round, differ by "
        f"a factor of {gmean(factors):.2f} (geometric mean over {len(pairs)} pairs, one per solver and "
        f"problem), at most {factors.max():.2f}; a solver's geometric mean over the problems differs by "
        f"at most {noise_of_means(pairs):.2f}."
    )


def _passes(table: pd.DataFrame) -> str:
    """Return the table of the primal's relative suboptimality by number of passes, with the time."""
    if table.empty:
        return ""
    cells = [
        f"{row['suboptimality']:.1e} in {duration(row['time'])}" for row in table.to_dict("records")
    ]
    order = table.groupby("problem", sort=False).ngroup()
    frame = table.assign(cell=cells, order=order, passes=table["epochs"].astype(int))
    frame = frame.sort_values(["order", "passes"], kind="stable")
    wide = frame.pivot_table("cell", ["problem", "passes"], "solver", "first", sort=False)
    return f"{_PASSES}\n\n{Table.of(wide.reset_index()).markdown()}"
