"""Report pages of what is published: the same as those of the runs, with one library for all."""

import json
import re
import shutil

import pytest

from experiments.report import chart_library, report
from experiments.report.published.pages import write_pages
from experiments.report.published.publish import publish
from experiments.store.manifest import StoreError
from experiments.store.reading import load_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run, looked_at, stored):
    """Return the folder of two runs, of which one was evaluated while it ran."""
    rows = [run(solver="smo", time_solve=0.3), run(solver="cvxopt_qp", time_solve=0.1 + 0.2)]
    folder = tmp_path_factory.mktemp("pages") / "run"
    stored(folder, rows, {0: looked_at(rows[0], [1, 1 / 3, 1e-5, 1e-8])})
    load_results(folder).to_csv(folder / "runs.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def pages(folder):
    """Return where the pages of the published runs are."""
    list(publish(folder, folder.parent))
    pages = folder.with_name("pages")
    written = [path.relative_to(pages).as_posix() for path in write_pages(pages, folder.parent)]
    assert written == ["small/report.html", "index.html"]
    return pages


def shown(text):
    """Return what a page says: its charts' numbers, and its text without scripts, policy and place."""
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', text, re.DOTALL)[1])
    text = re.sub(
        r"<script.*?</script>|<meta .*?>|Made from the results in .*", "", text, flags=re.DOTALL
    )
    return [chart["views"] for chart in payload["charts"]], text.split()


def test_a_page_says_what_the_report_of_the_runs_does(folder, pages):
    page = (pages / "small" / "report.html").read_text()
    assert shown(page) == shown(report(folder))
    assert 'href="small/report.html">small</a>' in (pages / "index.html").read_text()


def test_the_library_is_beside_the_pages_once(folder, pages):
    (library,) = pages.glob("*.js")
    page = (pages / "small" / "report.html").read_text()
    assert f'<script src="../{library.name}"></script>' in page
    assert (chart_library() in page, chart_library() in report(folder)) == (False, True)


def test_the_charts_of_a_page_are_drawn_by_the_shared_library(pages, browser):
    opened = browser.new_page()
    trouble = []
    opened.on("console", lambda m: trouble.append(m.text) if m.type in ("error", "warning") else 0)
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.goto((pages / "small" / "report.html").as_uri())
    opened.wait_for_selector("html[data-ready=yes]", state="attached")
    points = "plots.get('convergence').sources.map(source => source.data.x.length)"
    assert sorted(opened.evaluate(points)) == [1, 4]
    opened.goto((pages / "index.html").as_uri())
    opened.get_by_role("link", name="small").click()
    assert opened.title() == "small: report"
    opened.close()
    assert trouble == []


def test_records_that_cannot_be_read_are_named(pages, tmp_path):
    shutil.copytree(pages.with_name("results"), tmp_path / "results")
    (tmp_path / "results" / "small" / "traces.csv").write_text("run_id,time\na,soon\n")
    with pytest.raises(StoreError, match=r"small/traces\.csv: cannot be read: could not convert"):
        list(write_pages(tmp_path / "pages", tmp_path))
