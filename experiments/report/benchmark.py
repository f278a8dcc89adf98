"""The tables and figures of a benchmark: times at equal certified gap, of our solvers and of baselines.

    make results/bench_kernel_small

A benchmark is an experiment with `kind: benchmark`: our solvers and baselines, each with a list of
tolerances, and optionally `floor.py:KernelFloor`, which measures the dense reference. `analysis.means`
computes, `tables.at_gap` formats, `figures.speedup` draws. Ratios are of times on the same host.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dualgap.experiments.analysis.labels import gap_text, words_of
from dualgap.experiments.analysis.means import Benchmark
from dualgap.experiments.analysis.profiles import PAIRWISE, penalty_of
from dualgap.experiments.analysis.times import requested_rows
from dualgap.experiments.plots.figures.profiles import profile_figure
from dualgap.experiments.plots.figures.speedup import speedup
from dualgap.experiments.plots.figures.time_against_n import solved_sizes, time_against_n
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import save, style
from dualgap.experiments.report.sections import shifted_means_section
from dualgap.experiments.tables.at_gap import to_markdown
from dualgap.experiments.tables.formats import file_name, machine_text

_PROFILE = (
    "Profiles: shares of these problems solved within a multiple of the fastest time (Dolan & Moré "
    "2002)."
)


def benchmark_page(benchmark: Benchmark, manifest: Mapping[str, Any]) -> str:
    """Return the page of a benchmark in Markdown."""
    page = to_markdown(benchmark, manifest["name"], machine_text(manifest, benchmark.results))
    penalty = penalty_of(manifest["time_limit"], benchmark.results)
    means = shifted_means_section(benchmark.compared, *penalty)
    profile = f" {_PROFILE} {PAIRWISE}" if has_profile(benchmark) else ""
    return f"{page}\n## Means over the problems\n\n{means}{profile}\n"


def has_profile(benchmark: Benchmark) -> bool:
    """Whether there are enough problems for performance profiles."""
    min_problems = 8  # for fewer, one problem is a step of more than an eighth
    return benchmark.compared["problem"].nunique() >= min_problems


def draw_benchmark(benchmark: Benchmark, target: Path) -> None:
    """Draw speedup.svg, profile.svg and, for growing problems, time_against_n*.svg into `target`."""
    paths: list[Path] = []
    table = benchmark.compared
    dense = benchmark.references.assign(solver="dense reference")
    with style():
        if (table["ratio"].notna() & ((table["kind"] == "peer") | (table["ratio"] > 1))).any():
            paths += save(speedup(table, words_of(benchmark.results)), target, "speedup")
        if has_profile(benchmark):
            runs = Runs(table.assign(series=table["solver"]), pd.DataFrame())
            paths += save(profile_figure(runs, requested_rows(table)), target, "profile")
        for gap in table["target"].unique():
            reached = table[table["target"] == gap]
            # one run per problem and solver that reached the target, and for the reference
            rows = pd.concat([reached, dense], ignore_index=True).dropna(subset=["time"])
            rows = rows.rename(columns={"problem": "problem_id", "time": "time_solve"})
            rows = rows.assign(
                verdict="solved", series=rows["solver"], configuration=rows["solver"]
            )
            runs = Runs(rows, pd.DataFrame())
            for title, grown in solved_sizes(runs, benchmark.results):
                figure = time_against_n(runs, f"{title}, gap ≤ {gap_text(gap)}", grown)
                paths += save(figure, target, file_name("time_against_n", title, gap_text(gap)))
    for path in paths:
        if path.suffix == ".png":  # a published folder keeps only the SVG
            path.unlink()
