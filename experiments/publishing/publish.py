"""Publish finished runs into `results/`: their tables, figures and report.

    python -m experiments.publishing.publish runs/published/quickstart

copies records and tables, draws the figures, writes the report, and makes the tables of `README.md` and
`results/README.md` again. A folder of several runs, such as `runs/published/notes`, is published run by
run, into a folder of its name. Of a benchmark, an experiment called bench_..., it writes what
`experiments.benchmark` makes of it; several that belong together are told together, under the name of
the first. Without a folder the tables are made again from what is published.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from experiments.benchmark import write_benchmark
from experiments.output.terminal import refuse
from experiments.output.verify_tables import CHECKS
from experiments.plots import plot_all
from experiments.publishing.readme import ROOT, rewrite
from experiments.report import write_report
from experiments.store.folder import StoreError, load_results, planned
from experiments.store.manifest import NAME
from experiments.store.published import BENCHMARK, experiment_name, seal

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_TABLES = ("summary.md", CHECKS, "verification.md")


def publish(folders: Sequence[Path], root: Path = ROOT, group: str = "") -> Path:
    """Write what runs say to `root`/results, and the documents' tables; see `write_results`."""
    target = write_results(folders, root, group)
    rewrite(root)
    return target


def write_results(folders: Sequence[Path], root: Path = ROOT, group: str = "") -> Path:
    """Write what runs say to `root`/results/[group/]name; return that folder.

    Parameters
    ----------
    folders : of one run, or of several benchmarks.
    group : a folder within the results; none if empty.

    Raises
    ------
    ValueError
        If planned runs are missing, or runs are told together that are no benchmarks.
    StoreError
        If a folder holds no results.
    """
    names = [experiment_name(folder) for folder in folders]
    benchmarks = all(name.startswith(BENCHMARK) for name in names)
    if len(names) > 1 and not benchmarks:
        told = ", ".join(names)
        raise ValueError(f"only benchmarks ({BENCHMARK}...) are published together, got {told}")
    for folder in folders:
        _refuse_unfinished(folder)
    target = root / "results" / group / names[0]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for folder, name in zip(folders, names, strict=True):
        prefix = "" if len(names) == 1 else f"{name}-"
        for record in (NAME, "runs.csv"):
            shutil.copy(folder / record, target / f"{prefix}{record}")
        write_report(folder, target / f"{prefix}report.html")
    if benchmarks:
        _tell_benchmark(folders, target)
    else:
        _tell_run(folders[0], target)
    seal(target)
    return target


def _refuse_unfinished(folder: Path) -> None:
    missing = len(planned(folder)) - len(load_results(folder))
    if missing:
        raise ValueError(f"{folder}: {missing} of its planned runs are missing; resume it first")


def _tell_benchmark(folders: Sequence[Path], target: Path) -> None:
    in_order = sorted(folders, key=experiment_name)  # as `read_records` finds them again
    title = ", ".join(experiment_name(folder) for folder in in_order)
    for written in write_benchmark(in_order, target, title):
        if written.suffix == ".png":  # for looking at; the repository keeps the SVG
            written.unlink()


def _tell_run(folder: Path, target: Path) -> None:
    """Copy the tables, and the figures; of a verification that of the differences is enough."""
    tables = [folder / name for name in _TABLES if (folder / name).is_file()]
    verified = folder / CHECKS in tables
    figures = plot_all(folder, ["differences"] if verified else ())
    for path in (*tables, *figures):
        if path.suffix != ".png" and not path.stem.startswith("training"):  # a page a run: too many
            shutil.copy(path, target)


@click.command()
@click.argument("folders", nargs=-1, type=_FOLDER)
def main(folders: tuple[Path, ...]) -> None:
    """Publish the results FOLDERS: of one run, of a folder of runs, or benchmarks that belong together.

    Without a folder the tables of README.md and results/README.md are made again from results/.
    """
    try:
        if not folders:
            rewrite(ROOT)
        elif len(folders) == 1 and not (folders[0] / NAME).is_file():
            for run in sorted(path.parent for path in folders[0].glob(f"*/{NAME}")):
                click.echo(write_results([run], group=folders[0].name))
            rewrite(ROOT)
        else:
            click.echo(publish(folders))
    except (StoreError, ValueError) as error:
        refuse(str(error))


if __name__ == "__main__":
    main()
