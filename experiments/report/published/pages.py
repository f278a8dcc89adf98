"""Report pages of what is published, made from its records, with an index of them.

The charts' library is most of a page. These pages share one file with it, which must stay where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import bokeh

from experiments.report import chart_library, page_of, render_index
from experiments.report.published.documents import ROOT, purpose
from experiments.store.reading import RunFolder
from experiments.store.seals import folders_in


def write_pages(out: Path, root: Path = ROOT) -> Iterator[Path]:
    """Write a report of each experiment in `root`/results below `out`; yield each page, the index last.

    Raises
    ------
    StoreError
        If the records of an experiment cannot be read.
    OSError
        If a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    library = out / f"bokeh-{bokeh.__version__}.min.js"
    library.write_text(chart_library())
    reports: list[dict[str, str]] = []
    for folder in folders_in(root / "results"):
        place, found = folder.relative_to(root), RunFolder(folder)
        page = out / place.relative_to("results") / "report.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        address = Path(os.path.relpath(library, page.parent)).as_posix()
        records = found.results, found.traces, found.paths
        page.write_text(page_of(str(place), found.manifest, *records, library=address))
        yield page
        reports.append(
            {
                "href": page.relative_to(out).as_posix(),
                "name": found.manifest["name"],
                "purpose": purpose(found.manifest["experiment"]).replace("`", ""),
                "runs": str(len(found.results)),
                "date": str(found.manifest.get("date", ""))[:10],
            }
        )
    index = out / "index.html"
    index.write_text(render_index(reports))
    yield index
