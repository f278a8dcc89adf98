"""Pages of the published experiments: their Markdown as it is, and an interactive report of each."""

import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dualgap.experiments.report import write_report

RESULTS = Path("results")  # of the clone in which the site is built
_TOCTREE = "\n```{toctree}\n:hidden:\n:glob:\n\n*/*\nnotes/*/*\n```\n"
_REPORT = '\n<p><a href="report.html">Interactive report of these runs</a></p>\n'


def _folders() -> list[Path]:
    return [file.parent for file in sorted(RESULTS.rglob("manifest.json"))]


def _copy(app: Any) -> None:
    """Copy `results/`, whose README lists the pages, and link each page to its report."""
    shutil.copytree(RESULTS, Path(app.srcdir, "results"), dirs_exist_ok=True)
    added = {RESULTS / "README.md": _TOCTREE}
    added |= {page: _REPORT for folder in _folders() for page in folder.glob("*.md")}
    for page, text in added.items():
        original = page.read_text(encoding="utf-8")
        original = original.replace("[README](../README.md)", "README")  # which is no page here
        Path(app.srcdir, page).write_text(original + text, encoding="utf-8")


def _write_reports(app: Any, error: Exception | None) -> None:
    if error is None:
        outs = [Path(app.outdir, folder, "report.html") for folder in _folders()]
        with ProcessPoolExecutor(2, get_context("spawn")) as processes:
            list(processes.map(write_report, _folders(), outs))


def setup(app: Any) -> dict[str, Any]:
    """Copy the pages before the sources are listed, and write the reports when all is built."""
    app.connect("builder-inited", _copy)
    app.connect("build-finished", _write_reports)
    return {"parallel_read_safe": True}
