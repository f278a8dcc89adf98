"""The tables of a report, and what its charts show."""

import re
from pathlib import Path

from tests.experiments.rows import crashed, results_from, run, stored, timed

from dualgap.experiments.analysis.profiles import shifted_means
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import times
from dualgap.experiments.report import page
from dualgap.experiments.report.charts import thin_indices
from dualgap.experiments.report.sections import all_runs, failures, outcomes, shifted_means_table
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


def test_reasons_with_a_number_sign_are_not_merged_with_those_with_a_number(tmp_path):
    rows = [crashed(reason=f"row {name}", repetition=i) for i, name in enumerate("#79")]
    listed, _ = failures(runs_with_outcomes(stored(tmp_path / "x", rows)))
    assert [failure["reason"] for failure in listed] == ["row 7 to 9", "row #"]


def test_a_solver_far_below_the_first_one_has_a_ratio():
    rows = [timed("smo", problem=name, time=time) for name, time in (("p", 9.0), ("q", 9.0))]
    table = times(results_from(*rows, timed("libsvm", problem="p", time=0.1)), [1e-3])
    first, second = shifted_means_table(shifted_means(table, 20.0)).named_rows
    assert (first["solver"].text, first["ratio"].text) == ("smo", "1.0×")
    assert second["ratio"].text == "0.011×"


def test_thinning_keeps_both_ends():
    assert thin_indices(5, 9).tolist() == [0, 1, 2, 3, 4]
    indices = thin_indices(1000, 40)
    assert len(indices) == 40
    assert (indices[0], indices[-1]) == (0, 999)
