"""One HTML file that describes the runs of a folder: `write_report(folder, out)`, or `page_of(...)`.

    summary    the outcomes, failures first, with their reasons
    times      when each solver reached each target gap; shifted geometric means
    profiles   performance profiles (Dolan & Moré 2002), data profiles (Moré & Wild 2009), quality
               profiles
    curves     the certified gap against time
    paths      the answers along C, lam or epsilon, where any solver followed a path
    runs       every run, in a table to sort and filter
    machine, experiment file, how to repeat it

`analysis.profiles` does the arithmetic, `charts` draws, `summary` makes the tables, and
`page` puts them together. The file needs no network: it contains the library of the charts, and a
content security policy lets nothing else run in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from ruamel.yaml import YAML

from experiments.analysis.configurations import labelled
from experiments.analysis.hosts import split_by_host
from experiments.analysis.labels import kind_of
from experiments.analysis.noise import without_repeats
from experiments.analysis.profiles import (
    data_profile,
    penalty_of,
    performance_profile,
    quality_profile,
    shifted_means,
    times_to_gaps,
)
from experiments.output.text import machine_text
from experiments.plots.figures.certified_path import CertifiedPath
from experiments.plots.runs import Runs
from experiments.plots.solver_styles import solver_styles
from experiments.plots.style import style, svg_address
from experiments.report import summary
from experiments.report.charts import (
    Chart,
    convergence_chart,
    data_chart,
    performance_chart,
    quality_chart,
)
from experiments.report.page import chart_library, render, render_index
from experiments.store import disk
from experiments.store.reading import RunFolder

__all__ = ["chart_library", "page_of", "render_index", "write_report"]


def write_report(folder: Path, out: Path) -> Path:
    """Write the report of the results in `folder` to the file `out`; return its path.

    Raises
    ------
    StoreError
        If the folder holds no results.
    OSError
        If the file cannot be written.
    """
    disk.replace(out, report(folder).encode())
    return out


def report(folder: Path) -> str:
    """Return the report of the results in `folder` as one HTML page."""
    runs = RunFolder(folder)
    tables = runs.results, runs.traces, runs.paths
    return page_of(str(folder), runs.manifest, *tables, runs.missing)


def page_of(
    place: str,
    manifest: Mapping[str, Any],
    results: pd.DataFrame,
    traces: pd.DataFrame,
    paths: pd.DataFrame,
    lacking: int = 0,
    library: str = "",
) -> str:
    """Return a report as one HTML page.

    Parameters
    ----------
    place : where the results are, as the page names it.
    manifest, results, traces, paths : what is read from there.
    lacking : how many planned runs are missing.
    library : the address of a file with `chart_library()`; without one the page contains it.
    """
    experiment = YAML(typ="safe").load(manifest["experiment"])
    runs = _runs(results, traces, paths)
    penalty, penalty_text = penalty_of(experiment.get("time_limit"), results)
    times = times_to_gaps(split_by_host(results), runs.traces)
    means = shifted_means(times, penalty)
    table = runs.table
    failures, more = summary.failures(table)
    content = {
        "title": str(experiment["name"]),
        "folder": place,
        "date": str(manifest.get("date", ""))[:10],
        "planned": len(results) + lacking,
        "counts": summary.counts(table),
        "failures": failures,
        "more_failures": more,
        "by_solver": summary.by_solver(table),
        "targets": [
            {
                "target": target,
                "times": summary.time_rows(rows),
                "means": list(summary.mean_rows(at_target)),
            }
            for (target, rows), (_, at_target) in zip(
                _by_target(times), _by_target(means), strict=True
            )
        ],
        "penalty": penalty_text,
        "path_figures": _path_figures(runs),
        "path_rows": list(summary.path_rows(paths, table)),
        "runs": list(summary.run_rows(table)),
        "machine": machine_text([manifest], results),
        "repeat": summary.repeat(manifest, str(experiment["name"])),
    }
    return render(content, _charts(runs, times), runs.styles, library)


def _runs(results: pd.DataFrame, traces: pd.DataFrame, paths: pd.DataFrame) -> Runs:
    """Return every run with its outcome, and a line style for each series of solvers.

    Runs that differ only in the accuracy asked for are one series. The lower bound on time has no line.
    """
    table = labelled(split_by_host(results))
    table = table.assign(outcome=summary.outcomes(table))
    drawn = without_repeats(table)
    drawn = drawn[drawn["solver"].map(kind_of) != "floor"]
    return Runs(table, traces, lambda _: None, solver_styles(drawn["series"]), paths=paths)


def _path_figures(runs: Runs) -> list[str]:
    """Return the figures of all paths, each as the address of an image that contains it."""
    kind = CertifiedPath()
    with style():
        drawn = [each for _, each in kind.draw(runs)] if kind.ready(runs) else []
        return [svg_address(each) for each in drawn if isinstance(each, Figure)]


def _by_target(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    if table.empty:
        return []
    return [(f"{target:.0e}", rows) for target, rows in table.groupby("target", sort=False)]


def _charts(runs: Runs, times: pd.DataFrame) -> list[Chart]:
    """Return the charts that there are numbers for; a single solver has no performance profile."""
    drawn = without_repeats(runs.table[runs.table["series"].isin(runs.styles)])
    if times.empty or drawn.empty:
        return []
    targets = _by_target(times)
    performance = {t: performance_profile(rows) for t, rows in targets}
    charts = [performance_chart(performance, runs.styles)] if len(runs.styles) > 1 else []
    charts += [data_chart({t: data_profile(rows) for t, rows in targets}, runs.styles)]
    charts += [quality_chart(quality_profile(runs.table), runs.styles)]
    return [*charts, convergence_chart(replace(runs, table=drawn))]
