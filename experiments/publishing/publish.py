"""Publish finished runs into `results/`: their tables, figures and report.

`publish` copies records and tables of a run, draws the figures, writes the report, and renews the tables
of `README.md` and `results/README.md`. A folder of several runs, such as `runs/published/notes`, is
published run by run, into a folder of its name. Of a benchmark, an experiment named bench_..., it writes
what `experiments.benchmark` makes of it; several benchmarks that belong together are published as one,
under the name of the first.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.benchmark import write_benchmark
from experiments.output.verify_tables import CHECKS
from experiments.plots import plot_all
from experiments.publishing.documents import ROOT, rewrite
from experiments.report import write_report
from experiments.store.folder import load_results, planned
from experiments.store.manifest import NAME
from experiments.store.published import BENCHMARK, experiment_name, seal

_TABLES = ("summary.md", CHECKS, "verification.md")


def publish(folders: Sequence[Path], root: Path = ROOT) -> Iterator[Path]:
    """Publish runs into `root`/results, and yield each folder that was written there.

    Parameters
    ----------
    folders : one run, a folder of runs, or several benchmarks that belong together. Without any, only
        the documents' tables are renewed.

    Raises
    ------
    ValueError
        If planned runs are missing, or several runs that are no benchmarks are to be published as one.
    StoreError
        If a folder holds no results.
    """
    if len(folders) == 1 and not (folders[0] / NAME).is_file():
        for run in sorted(path.parent for path in folders[0].glob(f"*/{NAME}")):
            yield _write([run], root / "results" / folders[0].name)
    elif folders:
        yield _write(folders, root / "results")
    rewrite(root)


def _write(folders: Sequence[Path], results: Path) -> Path:
    """Write what runs say to a folder of `results` that has the name of the first; return it."""
    names = [experiment_name(folder) for folder in folders]
    benchmarks = all(name.startswith(BENCHMARK) for name in names)
    if len(names) > 1 and not benchmarks:
        raise ValueError(
            f"only benchmarks ({BENCHMARK}...) are published together, got {', '.join(names)}"
        )
    for folder in folders:
        if missing := len(planned(folder)) - len(load_results(folder)):
            raise ValueError(
                f"{folder}: {missing} of its planned runs are missing; resume it first"
            )
    target = results / names[0]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for folder, name in zip(folders, names, strict=True):
        prefix = "" if len(names) == 1 else f"{name}-"
        for record in (NAME, "runs.csv"):
            shutil.copy(folder / record, target / f"{prefix}{record}")
        write_report(folder, target / f"{prefix}report.html")
    if benchmarks:
        in_order = sorted(folders, key=experiment_name)  # as `read_records` finds them again
        title = ", ".join(sorted(names))
        for path in write_benchmark(in_order, target, title):
            if path.suffix == ".png":  # the repository keeps the SVG
                path.unlink()
    else:
        _copy_tables_and_figures(folders[0], target)
    seal(target)
    return target


def _copy_tables_and_figures(folder: Path, target: Path) -> None:
    """Copy the tables, and the figures; a verification has only that of the differences."""
    tables = [folder / name for name in _TABLES if (folder / name).is_file()]
    verified = folder / CHECKS in tables
    for path in (*tables, *plot_all(folder, ["differences"] if verified else ())):
        if path.suffix != ".png" and not path.stem.startswith("training"):  # a page a run: too many
            shutil.copy(path, target)
