"""Publish finished runs into `results/`: their records, tables and figures.

    python -m dualgap.experiments.report.published.publish [DIR | --figures]

`publish` copies the records of a run, draws the figures, writes the pages, and updates the tables of
`README.md` and `results/README.md`. A folder of several runs, such as `runs/published/notes`, is
published run by run, into a folder of its name.

Without DIR it writes all pages and tables again, from the published records alone. `make check` does so,
and `git diff` must then find no difference. Figures are not compared: their bytes depend on the version
of matplotlib, and those of answers in the plane do not follow from the records.
"""

import re
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from os.path import relpath
from pathlib import Path

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.verify import compare
from dualgap.experiments.files.experiment import CONFIGS, purpose
from dualgap.experiments.plots import plot_all
from dualgap.experiments.report.benchmark import benchmark_page, draw_benchmark
from dualgap.experiments.report.published.commits import commit_text, history, unknown_commits
from dualgap.experiments.report.published.documents import (
    RATIOS,
    ROOT,
    TABLES,
    baselines_table,
    benchmark_in,
    folders_in,
    rewrite_documents,
    verified_table,
)
from dualgap.experiments.store.manifest import NAME, StoreError, write_manifest
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.schema import safe_name
from dualgap.experiments.tables.summary import summarise, to_markdown
from dualgap.experiments.tables.verification import CHECKS, verification_texts

# unpublished figures: training has one page per run, and the tables have the content of further pages
_NOT_PUBLISHED = re.compile(r"training|gap_against_time-(?!1$)\d+$")


def publish(folder: Path | None, root: Path = ROOT, figures: bool = False) -> Iterator[Path]:
    """Publish runs into `root`/results, and yield each folder written there.

    Parameters
    ----------
    folder : one run, or a folder of runs. By default, all pages are written again from the published
        records.
    figures : whether the figures of benchmarks are then drawn again too.

    Raises
    ------
    ValueError
        If planned runs are missing.
    StoreError
        If a folder holds no results.
    """
    results = root / "results"
    if folder is None:
        for published in folders_in(results):
            if figures and (benchmark := benchmark_in(published)):
                draw_benchmark(benchmark, published)
            yield _write_pages(published)
    elif runs := sorted(path.parent for path in folder.glob(f"*/{NAME}")):
        yield from (_write(RunFolder(run), results / folder.name) for run in runs)
    else:
        yield _write(RunFolder(folder), results)
    rewrite_documents(root)


def _write(run: RunFolder, results: Path) -> Path:
    """Write the records, figures and tables of a run to its folder in `results`; return it."""
    if n_missing := run.missing:
        raise ValueError(f"{run.path} lacks {n_missing} of its planned runs; resume it first.")
    target = results / safe_name(run.manifest["name"])
    if target.resolve() == run.path.resolve():
        raise ValueError(f"{run.path} is already published. Omit it to write all pages again.")
    files = run.csv_files()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    source = next(CONFIGS.rglob(f"{run.manifest['name']}.yaml"), None)
    source_folder = "" if source is None else relpath(source.parent, target)  # on any machine
    write_manifest(target, run.manifest | {"folder": source_folder})
    for file, content in files.items():
        (target / file).write_bytes(content)
    if benchmark := benchmark_in(target):
        draw_benchmark(benchmark, target)
    else:
        checks = run.path / CHECKS
        figures = plot_all(run.path, ["differences"] if checks.is_file() else ())
        for path in (*figures, *filter(Path.is_file, [checks])):
            drawn_twice = path.suffix == ".png" and path.with_suffix(".svg") in figures
            if not (drawn_twice or _NOT_PUBLISHED.match(path.stem)):
                shutil.copy(path, target)
    return _write_pages(target)


def _write_pages(folder: Path) -> Path:
    """Write the pages that derive from a published folder's records; return the folder."""
    published = RunFolder(folder)
    title = published.manifest["name"]
    if benchmark := benchmark_in(folder):
        texts = {"benchmark.md": benchmark_page(benchmark, published.manifest)}
    else:
        texts = {"summary.md": to_markdown(summarise(Results(published.results)), title)}
    if published.manifest["kind"] == "verification":
        texts |= verification_texts(compare(published.results), title)
    for name, text in texts.items():
        page = _page(text, published) if name in TABLES else text
        (folder / name).write_text(page, encoding="utf-8")
    return folder


def _page(text: str, published: RunFolder) -> str:
    """Return a page: purpose, summary table, figures, records, and the details."""
    title, _, body = text.partition("\n\n")
    question = purpose(published.manifest["experiment"])
    benchmark = benchmark_in(published.path)
    answer = baselines_table(benchmark.means) if benchmark else ""
    rule = RATIOS if answer else ""
    if (published.results["formulation"] == "convex_qp").all():
        answer = verified_table(published)
    figures = [f"![{path.stem}]({path.name})" for path in sorted(published.path.glob("*.svg"))]
    commit = commit_text(published.path, published.manifest)
    records = (
        "Made from the runs in [runs.csv](runs.csv); `dualgap run experiment.yaml` measures them again "
        "([experiment.yaml](experiment.yaml))."
    )
    parts = [title, question, answer, *figures, rule, f"{records} {commit}".strip(), body.strip()]
    return "\n\n".join(filter(None, parts)) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Publish a folder, or write all pages of `results/` again and check the commits they name."""
    parser = ArgumentParser(description=main.__doc__)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("folder", nargs="?", type=Path, help="a run, or a folder of them")
    only.add_argument("--figures", action="store_true", help="draw those of benchmarks again too")
    options = parser.parse_args(arguments)
    try:
        for path in publish(options.folder, figures=options.figures):
            sys.stdout.write(f"{path}\n")
    except (StoreError, ValueError, OSError) as error:
        parser.error(str(error))
    if options.folder is None:
        sys.exit("\n".join(unknown_commits(folders_in(ROOT / "results"), history(ROOT))) or None)


if __name__ == "__main__":
    main()
