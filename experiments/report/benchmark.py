"""The tables and figures of a benchmark: times at equal certified gap, of our solvers and of baselines.

    make results/bench_kernel_small

A benchmark is an experiment with `kind: benchmark`: our solvers and baselines, each with a list
of tolerances, and perhaps `floor.py:KernelFloor`, which measures a reference time. `analysis.means`
does the arithmetic, `tables.at_gap` writes it down, `figures.speedup` draws it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dualgap.experiments.analysis.hosts import split_by_host
from dualgap.experiments.analysis.labels import words_of
from dualgap.experiments.analysis.means import Benchmark
from dualgap.experiments.plots.figures.speedup import speedup
from dualgap.experiments.plots.figures.time_against_n import solved_sizes, time_against_n
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import save, style
from dualgap.experiments.records.names import gap_text
from dualgap.experiments.tables.at_gap import to_markdown
from dualgap.experiments.tables.formats import file_name, machine_text


def write_benchmark(results: pd.DataFrame, manifest: Mapping[str, Any], target: Path) -> None:
    """Write what the runs of a benchmark show into `target`.

    benchmark.md, benchmark.csv (the table of `compared`), means.csv, floors.csv, speedup.svg, and
    for problems that grow time_against_n*.svg. Ratios are of times within one host.
    """
    found = Benchmark.of(split_by_host(results))
    for name, table in tables_of(found).items():
        # twelve digits: the last ones of a mean differ between machines
        table.to_csv(target / name, index=False, float_format="%.12g")
    text = to_markdown(found, manifest["name"], machine_text(manifest, found.results))
    (target / "benchmark.md").write_text(text)
    written: list[Path] = []
    table = found.compared
    dense = found.references.assign(solver="dense reference")
    with style():
        if (table["ratio"].notna() & ((table["kind"] == "peer") | (table["ratio"] > 1))).any():
            written += save(speedup(table, words_of(found.results)), target, "speedup")
        for gap in table["target"].unique():
            reached = table[table["target"] == gap]
            # a run for each problem and solver that reached the target, and for the reference
            rows = pd.concat([reached, dense], ignore_index=True).dropna(subset=["time"])
            rows = rows.rename(columns={"problem": "problem_id", "time": "time_solve"})
            rows = rows.assign(
                verdict="solved", series=rows["solver"], configuration=rows["solver"]
            )
            runs = Runs(rows, pd.DataFrame())
            for title, grown in solved_sizes(runs, found.results):
                figure = time_against_n(runs, f"{title}, gap ≤ {gap_text(gap)}", grown)
                written += save(figure, target, file_name("time_against_n", title, gap_text(gap)))
    for path in written:
        if path.suffix == ".png":  # a published folder keeps the SVG
            path.unlink()


def tables_of(found: Benchmark) -> dict[str, pd.DataFrame]:
    """Return the tables that are published of a benchmark, by file."""
    kept = found.compared.drop(columns=["times", "reference"])
    return {"benchmark.csv": kept, "floors.csv": found.references, "means.csv": found.means}
