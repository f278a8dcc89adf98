"""The tables of a report."""

import re
from pathlib import Path

from tests.experiments.rows import crashed, run, stored

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.report import page
from dualgap.experiments.report.sections import all_runs, failures, outcomes
from dualgap.experiments.store.reading import load_results


def runs_with_outcomes(folder):
    table = Results(load_results(folder)).runs
    return table.assign(outcome=outcomes(table))


def test_failures_are_listed_first_with_their_reasons(tmp_path):
    rows = [run(), crashed("q", reason="boom"), run("r", verdict="wrong", relative_gap=0.5)]
    results = runs_with_outcomes(stored(tmp_path / "x", rows))
    cells = [[cell.text for cell in row] for row in all_runs(results).rows]
    assert [row[0] for row in cells] == ["wrong", "crashed", "solved"]
    assert cells[0][3] == "claimed optimal; relative gap 5.0e-01, target 1e-06"
    assert cells[1][3] == "boom"
    groups, more = failures(results)
    assert [failure["outcome"] for failure in groups] == ["wrong", "crashed"]
    assert more == 0


def test_the_page_names_columns_that_exist(tmp_path):
    folder = Path(page.__file__).parent
    texts = [(folder / name).read_text() for name in ("page.html.j2", "page.css")]
    names = {name for text in texts for name in re.findall(r'data-column="(\w+)"', text)}
    runs = all_runs(runs_with_outcomes(stored(tmp_path / "x", [run()])))
    assert names == {"outcome", "problem_id", "configuration", "reason"}
    assert names <= set(runs.keys)
    assert runs.named_rows[0]["configuration"].text == "smo"
    assert not re.search(r"nth-child\(\d|\]\[\d", "".join(texts))


def test_a_stopped_solver_claims_nothing_and_a_late_one_is_listed_with_its_time(tmp_path):
    rows = [
        run(claimed="stopped", relative_gap=0.1, verdict="inaccurate"),
        run("q", status="time_limit", relative_gap=0.1, verdict="inaccurate", time_solve=20.4),
    ]
    results = runs_with_outcomes(stored(tmp_path / "x", rows))
    reasons = [row[3].text for row in all_runs(results).rows]
    assert reasons[0].endswith("target 1e-06; ended after 20 s")
    assert reasons[1] == "made no claim; relative gap 1.0e-01, target 1e-06"


def test_a_solver_that_stopped_at_its_requested_accuracy_is_not_called_inaccurate(tmp_path):
    far = {"relative_gap": 0.1, "verdict": "inaccurate"}
    rows = [
        run(**far),
        run("q", "pegasos", claimed="stopped", **far),
        run("q", "sgd", claimed="stopped", params='{"epochs": 1}', **far),
        run("q", "sgd", claimed="stopped", params='{"epochs": 9}', **far),
    ]
    states = runs_with_outcomes(stored(tmp_path / "x", rows))["outcome"]
    met = "stopped_at_tolerance"
    assert list(states) == [met, "inaccurate", met, met]


def test_failures_that_differ_in_their_numbers_are_one(tmp_path):
    late = {"status": "time_limit", "relative_gap": 0.1, "verdict": "inaccurate"}
    rows = [run(f"p{i}", time_solve=20.0 + i, claimed="none", **late) for i in range(3)]
    ((failure,), _) = failures(runs_with_outcomes(stored(tmp_path / "x", rows)))
    assert (failure["solver"], failure["runs"], failure["problems"]) == (
        "smo",
        3,
        ["p0", "p1", "p2"],
    )
    ending = "made no claim; relative gap 1.0e-01, target 1e-06; ended after 20 to 22 s"
    assert failure["reason"] == ending
