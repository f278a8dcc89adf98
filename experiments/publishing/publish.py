"""Publish finished runs into `results/`: their records, tables and figures.

`publish` copies the records of a run, draws the figures, writes the tables, and renews the tables of
`README.md` and `results/README.md`; `pages` writes reports from the records. A folder of several runs,
such as `runs/published/notes`, is published run by run, into a folder of its name. Of a benchmark, an
experiment named bench_..., it writes what `experiments.benchmark` makes of it; several benchmarks that
belong together are published as one, under the name of the first.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.analysis.verify import compare
from experiments.benchmark import write_benchmark
from experiments.output.tables import summarise, to_markdown
from experiments.output.verify_tables import CHECKS, to_frame
from experiments.output.verify_tables import to_markdown as verification_markdown
from experiments.plots import plot_all
from experiments.publishing.documents import ROOT, rewrite
from experiments.store.manifest import NAME
from experiments.store.published import (
    BENCHMARK,
    PATHS,
    TRACES,
    broken_seals,
    experiment_name,
    folders_in,
    manifests_of,
    read_records,
    seal,
)
from experiments.store.reading import RunFolder


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
    names = [experiment_name(each.manifest) for each in recorded]
    if len(names) > 1 and not all(name.startswith(BENCHMARK) for name in names):
        raise ValueError(
            f"only benchmarks ({BENCHMARK}...) are published together, got {', '.join(names)}"
        )
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
        for record in (NAME, "runs.csv"):
            shutil.copy(each.path / record, target / f"{prefix}{record}")
        for record, rows in ((TRACES, each.traces), (PATHS, each.paths)):
            if len(rows):
                rows.to_csv(target / f"{prefix}{record}", index=False)
    if not names[0].startswith(BENCHMARK):
        checks = folders[0] / CHECKS
        figures = plot_all(folders[0], ["differences"] if checks.is_file() else ())
        for path in (*figures, *filter(Path.is_file, [checks])):
            # of the kinds of figures, training has a page a run: too many
            if path.suffix != ".png" and not path.stem.startswith("training"):
                shutil.copy(path, target)
    return _renew(target)


def _renew(folder: Path) -> Path:
    """Write what the records of a published folder alone give, and seal it; return the folder."""
    records, manifests = read_records(folder), manifests_of(folder)
    title = ", ".join(experiment_name(manifest) for manifest in manifests)
    if folder.name.startswith(BENCHMARK):
        write_benchmark(records, manifests, folder, title)
    else:
        (folder / "summary.md").write_text(to_markdown(summarise(records), title))
    if (folder / CHECKS).is_file():
        verification = compare(records)
        (folder / CHECKS).write_text(to_frame(verification).to_csv(index=False))
        (folder / "verification.md").write_text(verification_markdown(verification, title))
    seal(folder)
    return folder
