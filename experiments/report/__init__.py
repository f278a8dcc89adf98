"""One HTML file that describes the runs of a folder: `write_report(folder, out)`.

    summary    the outcomes, failures first, with their reasons
    times      each solver's times to each target gap, under one definition; shifted geometric means
    profiles   performance profiles (Dolan & Moré 2002), quality profiles
    curves     the certified gap against time
    paths      the answers along C, lam or epsilon, where any solver followed a path
    runs       every run, in a table to sort and filter
    machine, experiment file, instructions to repeat it

`analysis.profiles` computes, `charts` draws, `sections` makes the tables, and `page` assembles the
file. It needs no network: it contains the chart library, and a content security policy blocks all other
scripts.
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from dualgap.experiments.analysis.labels import gap_text, kind_of
from dualgap.experiments.analysis.noise import MIN_REPETITIONS, winners
from dualgap.experiments.analysis.profiles import (
    PAR2,
    SGM10,
    compared_times,
    partial_coverage_text,
    penalty_of,
    performance_profile,
    quality_profile,
    shifted_means,
)
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import TIME_DEFINITIONS, requested_rows
from dualgap.experiments.plots.figures.certified_path import CertifiedPath
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import style, svg_address
from dualgap.experiments.records.outcomes import DENSE_REFERENCE
from dualgap.experiments.report import sections
from dualgap.experiments.report.charts import Chart, convergence_chart, profile_chart
from dualgap.experiments.report.page import render
from dualgap.experiments.store import disk
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.claims import CLAIMS, claims
from dualgap.experiments.tables.formats import SETUP, machine_text


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
    """Return the report of the results in `folder`, of a run or published, as one HTML page."""
    recorded = RunFolder(folder)
    manifest, results, paths = recorded.manifest, recorded.results, recorded.paths
    named = Results(results)
    table = named.runs.assign(outcome=sections.outcomes(named.runs))
    drawn = table[~table["aa_repeat"]]
    drawn = drawn[drawn["solver"].map(kind_of) != DENSE_REFERENCE]
    runs, path_figure = Runs(drawn, recorded.traces, paths=paths), CertifiedPath()
    compared, definition = compared_times(named, recorded.traces)
    compared = compared.assign(fastest=winners(compared, "time", named.noise))
    requested = requested_rows(compared)
    targets = {gap: requested[requested["target"] == gap] for gap in requested["target"].unique()}
    penalty, penalty_text = penalty_of(manifest["time_limit"], results)
    with style():
        figures = path_figure.draw(runs) if path_figure.applies_to(runs) else ()
        pictures = [svg_address(each) for _, each in figures if isinstance(each, Figure)]
    failures, more = sections.failures(table)
    content = {
        "title": manifest["name"],
        "folder": str(folder),
        "date": str(manifest.get("date", ""))[:10],
        "planned": len(results) + recorded.missing,
        "counts": sections.counts(table),
        "failures": failures,
        "more_failures": more,
        "by_solver": sections.by_solver(table),
        "claims": claims(named) if len(table) else None,  # on all hosts
        "verified": CLAIMS,
        "targets": [
            {
                "target": gap_text(gap),
                "times": sections.times_to(compared[compared["target"] == gap]),
                "means": sections.shifted_means_table(shifted_means(rows, penalty)),
            }
            for gap, rows in targets.items()
        ],
        "reading": TIME_DEFINITIONS[definition],
        "fewest": MIN_REPETITIONS,
        "partly_asked": partial_coverage_text(requested),
        "penalty": penalty_text,
        "sgm10": SGM10.format(limit=f"{penalty:.3g} s"),
        "par2": PAR2.format(limit=f"{penalty:.3g} s"),
        "path_figures": pictures,
        "paths": sections.path_answers(paths, table),
        "runs": sections.all_runs(table),
        "setup": SETUP,
        "machine": machine_text(manifest, results),
        "repeat": sections.repeat(manifest),
    }
    return render(content, _charts(runs, named, targets) if len(drawn) else [], runs.styles)


def _charts(runs: Runs, named: Results, targets: Mapping[float, pd.DataFrame]) -> list[Chart]:
    """Return the profiles that compare solvers, and the curves of convergence."""
    profiles = {
        "performance": {gap_text(gap): performance_profile(rows) for gap, rows in targets.items()},
        "quality": {"all": quality_profile(named)},  # on all hosts
    }
    if len(runs.styles) < 2:  # a single solver is always the fastest
        del profiles["performance"]
    charts = [profile_chart(kind, views, runs.styles) for kind, views in profiles.items() if views]
    return [*charts, convergence_chart(runs)]
