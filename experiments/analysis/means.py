"""Results of a benchmark: ratios to our fastest solver, their means, reference times, passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from dualgap.experiments.analysis.labels import kind_of, specifications, words_of
from dualgap.experiments.analysis.noise import Comparison, compare, noise_of_means
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import (
    Row,
    configurations,
    grouped,
    missed_target,
    times,
)
from dualgap.experiments.records.outcomes import DENSE_REFERENCE


class Benchmark(NamedTuple):
    """The tables of a benchmark, computed once for its files, its page and its figures.

    Attributes
    ----------
    results : its runs. pairs : their A/A pairs, see `Results` for both. compared, means : see these
        functions. references : see `reference_times`.
    """

    results: pd.DataFrame
    pairs: pd.DataFrame
    compared: pd.DataFrame
    references: pd.DataFrame
    means: pd.DataFrame

    @classmethod
    def of(cls, results: Results) -> Benchmark:
        """Return the tables of these runs."""
        runs, pairs, table = results.by_optimum, results.pairs, compared(results)
        return cls(
            runs, pairs, table, reference_times(results), means(table, noise_of_means(pairs))
        )


def compared(results: Results, targets: Iterable[float] | None = None) -> pd.DataFrame:
    """Return the times of the cheapest settings (see `times`) next to those of our fastest solver.

    Further columns: reference (the times of our fastest solver, empty for that solver itself), ours (its
    name, empty if ours did not reach the target), ratio, low, high, within_noise (see
    `noise.Comparison`), dense_ratio (the time relative to that of `reference_times`). A baseline that
    makes passes over the data is compared with our solvers that do so too, if there are any.
    """
    table = times(results, targets)
    rows = table.to_dict("records")
    for (_, problem), group in grouped(rows, table["target"], table["problem"]).items():
        ours = [row for row in group if row["kind"] == "ours" and row["time"] >= 0]
        ours.sort(key=lambda row: row["time"])
        with_passes = [row for row in ours if row["passes"]]
        for row in group:
            peer_passes = row["kind"] == "peer" and row["passes"]
            fastest = (with_passes if peer_passes and with_passes else ours)[:1]
            name, reference = (fastest[0]["solver"], fastest[0]["times"]) if fastest else ("", ())
            itself = name == row["solver"]
            ratio = compare([(row["times"], reference)], results.noise.get(str(problem), 1.0))
            ratio = Comparison(1.0) if itself else ratio
            row.update({"reference": () if itself else reference, "ours": name} | vars(ratio))
    table = pd.DataFrame(rows, table.index)
    references = reference_times(results).set_index("problem")["time"]
    return table.assign(dense_ratio=table["time"] / table["problem"].map(references))


def reference_times(results: Results) -> pd.DataFrame:
    """Return one row per problem: n, d, support, values, nanoseconds (per value), time (s).

    The time is that of one dense evaluation of the answer at its samples: E = n·nSV − nSV²/2 kernel
    values, with nSV of the answer with the smallest certified gap, at the median time per value that
    `KernelFloor` measured in the same runs. Without such runs the last two are NaN.
    """
    rows: list[Row] = []
    for problem, runs in results.by_optimum.groupby("problem_id", sort=False):
        is_reference = runs["solver"].map(kind_of) == DENSE_REFERENCE
        answers = runs[~is_reference].dropna(subset=["relative_gap", "n_support"])
        best = answers.sort_values("relative_gap", kind="stable")["n_support"]
        n, d = runs[["n", "d"]].iloc[0].astype(float)
        support = float(best.iloc[0]) if len(best) else float("nan")
        values = n * support - support**2 / 2
        measured = runs[is_reference]
        each = float((measured["time_solve"] / measured["n_kernel_evals"]).median())
        row = {"problem": str(problem), "n": n, "d": d, "support": support, "values": values}
        rows.append(row | {"nanoseconds": 1e9 * each, "time": each * values})
    return pd.DataFrame(rows)


def means(table: pd.DataFrame, noise: float = 1.0) -> pd.DataFrame:
    """Return one row per target and solver of the table of `compared`.

    Sorted by target, ours first. Columns: target, solver, kind, single, ours (our solvers in the
    denominators), mean (geometric, of the ratios) with its low, high and within_noise, problems (their
    number), least, most, failed (problems that ours solved and it did not, though the target was
    requested), alone (problems that it solved and ours did not). The interval is of the mean over these
    fixed problems. `noise` is the result of `noise_of_means`.
    """
    fails = table[table["kind"] == "ours"].groupby(["target", "problem"])["time"].min().isna()
    pairs = pd.MultiIndex.from_frame(table[["target", "problem"]])
    missed = table.assign(missed=fails.reindex(pairs).fillna(value=True).to_numpy(dtype=bool))
    keys = ["target", "solver", "kind"]
    rows: list[Row] = []
    for key, group in missed.groupby(keys, sort=False):
        both = group.dropna(subset=["ratio"])
        paired = both[both["reference"].map(len) > 0]
        times = list(zip(paired["times"], paired["reference"], strict=True))
        mean = vars(compare(times, noise, ones=len(both) - len(times)))
        names = both["ours"].value_counts()
        counted = [str(name) if len(names) == 1 else f"{name} ({n})" for name, n in names.items()]
        row = dict(zip(keys, key, strict=True)) | {
            "single": group["single"].iloc[0],
            "ours": ", ".join(counted),
            "mean": mean.pop("ratio"),
            **mean,
            "problems": len(both),
            "least": both["ratio"].min(),
            "most": both["ratio"].max(),
            "failed": int((missed_target(group) & ~group["missed"]).sum()),
            "alone": int((group["time"].notna() & group["missed"]).sum()),
        }
        rows.append(row)
    order = ["target", "kind", "solver"]
    return pd.DataFrame(rows).sort_values(order, ascending=[False, True, True])


def intercepts(table: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of the unregularised intercept, for problems that were also solved without it.

    Columns: target, problem (with it), solver, without and with (s), ratio; one row per target, problem
    and solver that solved both. `table` is the result of `compared` for the same results.
    """
    specs = specifications(results)
    has = table["problem"].map(
        {name: spec["parameters"].get("intercept") for name, spec in specs.items()}
    )
    matched = table.assign(words=table["problem"].map(words_of(results, {"intercept"})))
    keys = ["target", "words", "solver"]
    both = matched[has.eq(False)][[*keys, "time"]].merge(
        matched[has.eq(True)][[*keys, "problem", "time"]], on=keys, suffixes=("_without", "_with")
    )
    both = both.rename(columns={"time_without": "without", "time_with": "with"})
    return both.assign(ratio=both["with"] / both["without"]).dropna(subset=["ratio"])


def passes(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the configurations of solvers that count passes over the data; empty if there are none."""
    table = configurations(runs)
    return table[table["passes"]]
