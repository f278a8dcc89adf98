"""The tables of a report."""

import re
from pathlib import Path

from tests.experiments.rows import run, stored

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.report import page
from dualgap.experiments.report.sections import all_runs, outcomes
from dualgap.experiments.store.reading import load_results


def runs_with_outcomes(folder):
    table = Results(load_results(folder)).runs
    return table.assign(outcome=outcomes(table))


def test_the_page_names_columns_that_exist(tmp_path):
    folder = Path(page.__file__).parent
    texts = [(folder / name).read_text() for name in ("page.html.j2", "page.css")]
    names = {name for text in texts for name in re.findall(r'data-column="(\w+)"', text)}
    runs = all_runs(runs_with_outcomes(stored(tmp_path / "x", [run()])))
    assert names == {"outcome", "stop_reason", "problem_id", "configuration", "reason"}
    assert names <= set(runs.keys)
    assert runs.named_rows[0]["configuration"].text == "smo"
    assert not re.search(r"nth-child\(\d|\]\[\d", "".join(texts))
