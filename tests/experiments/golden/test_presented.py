"""All that is shown of recorded runs: pages, tables and the numbers in figures are as recorded.

A text that was changed on purpose is recorded again by `pytest tests/experiments/golden --record`;
`git diff` then shows what a reader of results sees of the change.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from tests.experiments.golden.folders import FOLDERS, changed, write
from tests.problems.test_texts import Texts

from dualgap.experiments.analysis import labels
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.verify import compare
from dualgap.experiments.plots.drawing import FIGURES
from dualgap.experiments.plots.figures.speedup import speedup
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import style
from dualgap.experiments.report import report
from dualgap.experiments.report.published.documents import (
    benchmark_in,
    performance_table,
    single_precision_text,
)
from dualgap.experiments.report.published.publish import publish
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables import comparison, summary, verification
from dualgap.experiments.tables.chosen import paper_table

RECORDED = Path(__file__).with_name("recorded")
TABLES = ("benchmarks", "index", "study")
PERFORMANCE = ("kernel_svc", "kernel_small", "svr", "nu", "linear")
MANIFEST = {"host": "here", "run_ids": [], "versions": {}, "code": {}}
# columns that name a run, its problem and its solver
NAMING = """
run_id problem_id problem label series configuration host solver params search_setting repetition
"""
NAMING = NAMING.split()
VALUES = ["time", "ratio", "gap", "objective:4", "support", "memory"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return published folders by name, their pages written beside a README with all tables."""
    root = tmp_path_factory.mktemp("published")
    found = write(root)
    marked = [f"<!-- {name} table -->\n<!-- end of table -->\n" for name in TABLES]
    (root / "README.md").write_text("\n".join(marked))
    list(publish(None, root))
    return found


def printed(content, width=100):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(content)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def numbers_of(values):
    """Return numbers with four digits, of which platforms differ in none."""
    return " ".join(f"{value:.4g}" for value in np.ravel(np.ma.filled(values, np.nan)))


def words_of(texts):
    return " | ".join(text.get_text() for text in texts if text.get_text())


def described(figure):
    """Return the titles, axes, lines, points, bars and words of a figure as text."""
    figure.draw_without_rendering()
    yield f"legend: {' | '.join(words_of(legend.get_texts()) for legend in figure.legends)}"
    for ax in figure.axes:
        yield f"panel: {ax.get_title()}"
        for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
            ends = numbers_of(axis.get_view_interval())
            yield f"  {name}: {axis.get_label_text()} ({axis.get_scale()}, {ends})"
            yield f"    {words_of(axis.get_ticklabels())}"
        for line in ax.lines:
            x, y = map(numbers_of, line.get_data())
            yield f"  line {line.get_label()} {line.get_marker()}{line.get_linestyle()}: {x}; {y}"
        for points in ax.collections:
            yield f"  points: {numbers_of(points.get_offsets())}"
        for patch in ax.patches:
            yield f"  patch: {numbers_of(patch.get_path().vertices[:5])}"
        yield f"  words: {words_of(ax.texts)}"


def pages(folder):
    """Yield the name and the text of all that is shown of a folder."""
    recorded = RunFolder(folder)
    yield from ((path.name, path.read_text()) for path in sorted(folder.glob("*.md")))
    if folder.name in ("study", "hosts", "folds"):
        yield "report.txt", text_of(report(folder)).replace(str(folder), "FOLDER")
    if folder.name in ("study", "hosts"):
        table = summary.summarise(Results(recorded.results))
        yield "terminal.txt", printed(summary.to_terminal(table))
        for kind in ("markdown", "latex", "csv"):
            yield f"paper.{kind}", paper_table(folder, values=VALUES).to(kind, folder.name)
        turned = paper_table(folder, by="solver", target=1e-3)
        yield "at_target.markdown", turned.to("markdown", folder.name)
    if recorded.manifest["kind"] == "verification":
        yield "terminal.txt", printed(verification.to_terminal(compare(recorded.results)))


def text_of(page):
    """Return the words of a page of HTML, a line for each element."""
    page = re.sub(r"(?s)<(style|script).*?</\1>", "", page)
    return re.sub(r"\s*\n\s*", "\n", Texts(page).text)


def figures(folder, names):
    """Yield the name and the content of figures of these kinds."""
    recorded = RunFolder(folder)
    compared = compare(recorded.results)
    runs = Runs(
        Results(recorded.results).without_repeats,
        recorded.traces,
        checks=verification.to_frame(compared),
        paths=recorded.paths,
        results=Results(recorded.results),
        time_limit=recorded.manifest["time_limit"],
    )
    for name in names:
        if name == "speedup":
            benchmark = benchmark_in(folder)
            yield name, speedup(benchmark.compared, labels.words_of(benchmark.results))
        else:
            yield from (kind := FIGURES.find(name)()).draw(with_listed_columns(runs, kind.columns))


def with_listed_columns(runs, listed):
    """Return the runs without the columns that `dualgap list figures` does not name for a figure."""
    tables = {
        "table": [*NAMING],
        "traces": ["run_id", "time"],
        "checks": ["solver"],
        "paths": ["run_id"],
    }
    tables["paths"] += ["parameter"]
    for name in listed:
        table, _, column = name.rpartition(".")
        tables[table or "table"].append(column)
    named = {name: getattr(runs, name) for name in tables}
    return replace(
        runs, **{k: table[table.columns.intersection(tables[k])] for k, table in named.items()}
    )


@pytest.mark.parametrize("make", FOLDERS)
def test_pages_and_tables_are_as_recorded(folders, make, recorded_text):
    for page, text in pages(folders[make.__name__]):
        recorded_text(RECORDED / make.__name__ / page, text)


@pytest.mark.parametrize("make", [make for make, names in FOLDERS.items() if names])
def test_figures_have_the_recorded_numbers(folders, make, recorded_text):
    with style():
        for name, drawn in figures(folders[make.__name__], FOLDERS[make]):
            file = RECORDED / make.__name__ / name.replace(".", "_")
            if isinstance(drawn, str):
                recorded_text(file.with_suffix(".md"), drawn)
            else:
                text = "".join(f"{line.rstrip()}\n" for line in described(drawn))
                recorded_text(file.with_suffix(".txt"), text)


def test_documents_and_changes_are_as_recorded(folders, recorded_text):
    readme = folders["study"].parents[1] / "README.md"
    recorded_text(RECORDED / "README.md", readme.read_text())
    found = benchmark_in(folders["benchmark"]).compared
    compared = pd.concat(found.assign(benchmark=f"bench_{name}") for name in PERFORMANCE)
    text = f"{performance_table(compared)}\n\n{single_precision_text(compared)}\n"
    recorded_text(RECORDED / "performance.md", text)
    for width in (80, 120):
        told = printed(comparison.to_terminal(changed(), MANIFEST, MANIFEST), width)
        recorded_text(RECORDED / f"changes_{width}.txt", told)
