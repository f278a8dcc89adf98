"""The report says what the tables say, and stays small."""

import json

import numpy as np
import pytest
from tests.experiments.functions import log_of
from tests.experiments.rows import run, stored, trace_of_gaps

from dualgap.experiments.analysis.compare import compare_results
from dualgap.experiments.analysis.means import Benchmark
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots import plot_all
from dualgap.experiments.report import report, write_report
from dualgap.experiments.store.reading import load_results
from dualgap.experiments.tables.chosen import paper_table

NAN = float("nan")


def section(text, name, following):
    return text.partition(f'id="{name}"')[2].partition(following)[0]


def test_no_solver_is_called_the_fastest_if_none_reached_the_target_or_competed(tmp_path):
    nobody = [run(solver=s, relative_gap=0.1, verdict="inaccurate") for s in ("smo", "libsvm")]
    text = section(report(stored(tmp_path / "nobody", nobody)), "summary", 'id="times"')
    assert "No solver reached a gap of 1e-06" in text
    assert "Fastest" not in text
    alone = report(stored(tmp_path / "alone", [run()]))
    text = section(alone, "summary", 'id="times"')
    assert "Fastest" not in text
    assert "1 of 1 planned run," in text
    assert "<b>" not in section(alone, "times", "<section").partition("<tbody>")[2]
    assert 'data-chart="performance"' not in alone
    assert 'data-chart="quality"' in alone


@pytest.mark.exhaustive
@pytest.mark.parametrize("problems", [5, 50])
def test_a_thousand_runs_make_less_than_five_megabytes(problems, tmp_path):
    """Of which a megabyte and a half is there without any run."""
    rng = np.random.default_rng(0)
    rows = [
        run(
            f"data_set_{p} soft_margin_dual rbf(gamma=0.05) C={p}", f"solver_{i % 10}", time_solve=t
        )
        for p in range(problems)
        for i, t in enumerate(rng.uniform(0.1, 9, size=20))
    ]
    gaps = np.geomspace(1, 1e-8, 50).tolist()
    folder = stored(
        tmp_path / "x", rows, {i: trace_of_gaps(row, gaps) for i, row in enumerate(rows)}
    )
    path = write_report(folder, tmp_path / "report.html")
    assert path.stat().st_size < 1.5e6 + 3.5e6 * len(rows) / 1000


def test_the_report_is_written_next_to_the_results_or_to_out(command, tmp_path):
    stored(tmp_path / "x", [])
    command("report", "x")
    assert "0 of 0 planned runs" in (tmp_path / "x" / "report.html").read_text()
    refused = command("report", "x", "--out", "none/x.html", code=2)
    assert "Cannot write" in refused.output


def test_seeds_hosts_and_pass_limits_are_one_solver_and_missing_runs_are_listed(
    tmp_path,
):
    hosts = {1: "ape", 2: "bee"}
    rows = [run(params=json.dumps({"tol": 1e-6, "seed": k}), host=hosts[k]) for k in hosts]
    limits = {100: 1.0, 900: 9.0}
    rows += [
        run("q", "sgd", params=json.dumps({"max_iter": k}), time_solve=limits[k]) for k in limits
    ]
    folder = stored(tmp_path / "x", [*rows, run("q", "libsvm"), run("r")])
    log = log_of(folder)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    text = report(folder)
    assert "smo (2 seeds)" in text
    assert 'data-chart="performance"' in text
    assert "<strong>1 run is missing</strong>" in text


def test_answers_without_times_do_not_count_as_failures(tmp_path):
    rows = [run(solver=name, time_solve=float("nan")) for name in ("smo", "libsvm")]
    text = report(stored(tmp_path / "x", rows))
    assert "No solver reached" not in text
    assert 'id="times"' not in text
    assert "quality" in section(text, "profiles", "</section>")


def test_a_time_of_0_divides_nothing_by_zero(tmp_path):
    """As a coarse clock measures it."""
    floor = "experiments/floor.py:KernelFloor"
    rows = [run(p, s, time_solve=0.0) for p in "pq" for s in ("smo", "libsvm")]
    rows += [run(p, floor, time_solve=0.0, n_kernel_evals=1e3, relative_gap=NAN) for p in "pq"]
    rows += [run("r", s, time_solve=0.0, relative_gap=0.1) for s in ("smo", "libsvm")]
    folder = stored(tmp_path / "x", rows, {0: trace_of_gaps(rows[0], [1, 1e-7], [0.0, 0.0])})
    results = Results(load_results(folder))
    benchmark = Benchmark.of(results)
    assert benchmark.compared["ratio"].dropna().tolist() == [1.0] * 8
    assert benchmark.compared["dense_ratio"].dropna().max() < 1.0
    assert "1.0×" in report(folder)
    assert "1.00" in paper_table(folder, values=["ratio"]).markdown()
    plot_all(folder, ("performance_profile", "shifted_means"), tmp_path)
    assert {change.change for change in compare_results(results.table, results.table)} == {
        "unclear"
    }
