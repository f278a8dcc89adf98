"""The tables and figures of a benchmark: times at equal certified gap, of our solvers and of baselines.

    dualgap run bench_kernel_small --out runs/bench_kernel_small
    dualgap publish runs/bench_kernel_small

A benchmark is an experiment whose name begins with `bench_`: our solvers and
baselines, each with a list of tolerances, and perhaps `floor.py:KernelFloor`, which measures a lower
bound on time. `analysis.cheapest` and `tables` do the arithmetic, `report` writes it down, `speedup`
draws it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.analysis.cheapest import arithmetic_bounds, cheapest
from experiments.analysis.configurations import joined_by_optimum
from experiments.analysis.hosts import split_by_host
from experiments.analysis.noise import aa_pairs, noise_of_means
from experiments.benchmark.report import to_markdown
from experiments.benchmark.speedup import speedup
from experiments.benchmark.tables import means
from experiments.output.text import file_name, machine_text
from experiments.plots.figures.time_against_n import solved_sizes, time_against_n
from experiments.plots.runs import Runs
from experiments.plots.solver_styles import solver_styles
from experiments.plots.style import save, style

__all__ = ["tables_of", "write_benchmark"]


def write_benchmark(
    results: pd.DataFrame, manifests: Sequence[Mapping[str, Any]], target: Path, title: str
) -> None:
    """Write what the runs of one or several benchmarks together show into `target`.

    benchmark.md, benchmark.csv (the table of `cheapest`), means.csv, floors.csv, speedup.svg, and
    for problems that grow time_against_n*.svg. Ratios are of times within one experiment, as long as no
    problem is in two of them, and within one host.
    """
    results = split_by_host(results)
    for name, table in tables_of(results).items():
        # twelve digits: the last ones of a mean differ between machines
        table.to_csv(target / f"{name}.csv", index=False, float_format="%.12g")
    text = to_markdown(results, title, machine_text(manifests, results))
    (target / "benchmark.md").write_text(text)
    for path in _figures(results, cheapest(results), target):
        if path.suffix == ".png":  # a published folder keeps the SVG
            path.unlink()


def tables_of(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables that `write_benchmark` writes for these runs, by name."""
    results = split_by_host(results)
    compared, pairs = cheapest(results), aa_pairs(joined_by_optimum(results))
    return {
        "benchmark": compared.drop(columns=["times", "reference"]),
        "floors": arithmetic_bounds(results),
        "means": means(compared, noise_of_means(pairs)),
    }


def _figures(results: pd.DataFrame, table: pd.DataFrame, target: Path) -> list[Path]:
    written: list[Path] = []
    with style():
        if (table["ratio"].notna() & ((table["kind"] == "peer") | (table["ratio"] > 1))).any():
            written += save(speedup(table), target, "speedup")
        for gap in table["target"].unique():
            runs = _cheapest_runs(results, table[table["target"] == gap])
            for title, grown in solved_sizes(runs):
                figure = time_against_n(runs, f"{title}, gap ≤ {gap:.0e}", grown)
                written += save(figure, target, file_name("time_against_n", title, f"{gap:.0e}"))
    return written


def _cheapest_runs(results: pd.DataFrame, table: pd.DataFrame) -> Runs:
    """Return a run for each problem and solver that reached the target, and for the lower bound."""
    bound = arithmetic_bounds(results).assign(solver="lower bound on time")
    rows = pd.concat([table, bound], ignore_index=True).dropna(subset=["time"])
    rows = rows.rename(columns={"problem": "problem_id", "time": "time_solve"})
    rows = rows.assign(verdict="solved", series=rows["solver"], configuration=rows["solver"])
    return Runs(rows, pd.DataFrame(), lambda _: None, solver_styles(rows["series"]))
