"""Publish finished runs into `results/`: their records, tables and figures.

    python -m experiments.report.published.publish [DIR]... | --check | --pages DIR

`publish` copies the records of a run, draws the figures, writes the tables, and renews the tables of
`README.md` and `results/README.md`; `pages` writes reports from the records. A folder of several runs,
such as `runs/published/notes`, is published run by run, into a folder of its name. Of an
experiment with `kind: benchmark` it writes what `report.benchmark` makes of it, of one with
`kind: verification` the checks; several benchmarks that belong together are published as one, under the
name of the first.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from experiments.analysis.verify import compare
from experiments.plots import plot_all
from experiments.records.columns import csv_of, datapackage
from experiments.report.benchmark import write_benchmark
from experiments.report.published.documents import ROOT, rewrite
from experiments.report.published.outdated import outdated
from experiments.report.published.pages import write_pages
from experiments.store.manifest import EXPERIMENT, NAME, StoreError
from experiments.store.reading import RunFolder, experiments_in, load_results
from experiments.store.seals import broken_seals, folders_in, seal
from experiments.tables.summary import summarise, to_markdown
from experiments.tables.verification import CHECKS, verification_texts

# what is not published of figures: training has a page a run, and what further pages show is in tables
_TOO_MANY = re.compile(r"training|gap_against_time-(?!1$)\d+$")


def publish(folders: Sequence[Path], root: Path = ROOT) -> Iterator[Path]:
    """Publish runs into `root`/results, and yield each folder that was written there.

    Parameters
    ----------
    folders : one run, a folder of runs, or several benchmarks that belong together. Without any, all
        tables are written again from the published records, where these are as they were published.

    Raises
    ------
    ValueError
        If planned runs are missing, or several runs that are no benchmarks are to be published as one.
    StoreError
        If a folder holds no results.
    """
    results = root / "results"
    if len(folders) == 1 and not (folders[0] / NAME).is_file():
        for run in sorted(path.parent for path in folders[0].glob(f"*/{NAME}")):
            yield _write([run], results / folders[0].name)
    elif folders:
        yield _write(folders, results)
    else:
        for folder in folders_in(results):
            if not list(broken_seals(folder)):
                yield _renew(folder)
    rewrite(root)


def _write(folders: Sequence[Path], results: Path) -> Path:
    """Write what runs say to a folder of `results` that has the name of the first; return it."""
    recorded = list(map(RunFolder, folders))
    names = [each.manifest["name"] for each in recorded]
    benchmarks = all(each.manifest["kind"] == "benchmark" for each in recorded)
    if len(names) > 1 and not benchmarks:
        told = "only experiments with `kind: benchmark` are published together"
        raise ValueError(f"{told}, got {', '.join(names)}")
    for each in recorded:
        if lacking := each.missing:
            raise ValueError(
                f"{each.path}: {lacking} of its planned runs are missing; resume it first"
            )
    target = results / names[0]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for each, name in zip(recorded, names, strict=True):
        prefix = "" if len(names) == 1 else f"{name}-"
        for record in (EXPERIMENT, NAME):
            shutil.copy(each.path / record, target / f"{prefix}{record}")
        write_records(target, each.tables, name, prefix)
    if not benchmarks:
        checks = folders[0] / CHECKS
        figures = plot_all(folders[0], ["differences"] if checks.is_file() else ())
        for path in (*figures, *filter(Path.is_file, [checks])):
            drawn_twice = path.suffix == ".png" and path.with_suffix(".svg") in figures
            if not (drawn_twice or _TOO_MANY.match(path.stem)):
                shutil.copy(path, target)
    return _renew(target)


def write_records(
    target: Path, tables: Mapping[str, pd.DataFrame], name: str, prefix: str = ""
) -> None:
    """Write the tables of an experiment as CSV, and what their columns mean."""
    for file, table in tables.items():
        (target / f"{prefix}{file}").write_bytes(csv_of(table, file))
    package = datapackage(name, tables, prefix)
    text = json.dumps(package, indent=1, ensure_ascii=False)
    (target / f"{prefix}datapackage.json").write_text(text)


def _renew(folder: Path) -> Path:
    """Write what the records of a published folder alone give, and seal it; return the folder."""
    records, manifests = load_results(folder), [each.manifest for each in experiments_in(folder)]
    title, kind = ", ".join(manifest["name"] for manifest in manifests), manifests[0]["kind"]
    if kind == "benchmark":
        write_benchmark(records, manifests, folder, title)
    else:
        (folder / "summary.md").write_text(to_markdown(summarise(records), title))
    if kind == "verification":
        for name, text in verification_texts(compare(records), title).items():
            (folder / name).write_text(text)
    seal(folder)
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """Publish folders, or all tables of `results/` anew; check that all is derived; write reports."""
    parser = ArgumentParser(description=main.__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="a run, a folder of them, benchmarks")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="only say what is out of date")
    only.add_argument("--pages", metavar="DIR", type=Path, help="only write reports to this folder")
    given = parser.parse_args(arguments)
    if given.folders and (given.check or given.pages):
        parser.error("--check and --pages are of all that is published: leave out the folders")
    if given.check:
        sys.exit("\n".join(outdated()) or None)
    try:
        for written in write_pages(given.pages) if given.pages else publish(given.folders):
            sys.stdout.write(f"{written}\n")
    except (StoreError, ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
