"""The report says what the tables say, and stays small."""

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.cli import main
from experiments.report import report, write_report
from experiments.store.folder import Store
from tests.experiments.rows import looked_at, run, stored


def test_a_folder_without_runs_has_a_report(tmp_path):
    folder = stored(tmp_path / "x", [])
    assert "0 of 0 planned runs" in report(folder)


def test_missing_runs_are_told(tmp_path):
    folder = stored(tmp_path / "x", [run(), run("q")])
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "runs.jsonl").write_bytes(lines[0])
    assert "<strong>1 run is missing</strong>" in report(folder)


def summary_of(folder):
    return report(folder).partition('id="summary"')[2].partition('id="times"')[0]


def test_no_solver_is_called_the_quickest_where_none_arrived_or_none_competed(tmp_path):
    nobody = [run(solver=s, relative_gap=0.1, verdict="inaccurate") for s in ("smo", "libsvm")]
    text = summary_of(stored(tmp_path / "nobody", nobody))
    assert "No solver reached a gap of 1e-06" in text
    assert "Fastest" not in text
    alone = stored(tmp_path / "alone", [run()])
    assert "Fastest" not in summary_of(alone)
    assert "1 of 1 planned run," in summary_of(alone)
    times = report(alone).partition('id="times"')[2].partition("<section")[0]
    assert "<b>" not in times.partition("<tbody>")[2]
    assert 'data-chart="performance"' not in report(alone)
    assert 'data-chart="data"' in report(alone)


@pytest.mark.parametrize("problems", [5, pytest.param(50, marks=pytest.mark.exhaustive)])
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
    folder = stored(tmp_path / "x", rows, {i: looked_at(row, gaps) for i, row in enumerate(rows)})
    path = write_report(folder, tmp_path / "report.html")
    assert path.stat().st_size < 1.5e6 + 3.5e6 * len(rows) / 1000


def test_problems_of_several_hosts_are_kept_apart(tmp_path):
    rows = [run(host="a"), run(host="b", time_solve=9.0)]
    text = report(stored(tmp_path / "x", rows))
    assert "p on a" in text
    assert "p on b" in text
    assert "Run on several hosts (a, b)" in text


def test_the_report_command_writes_beside_the_results_or_where_it_is_told(tmp_path):
    Store.open(tmp_path / "x", "name: x\n", []).close()
    shown = CliRunner().invoke(main, ["report", str(tmp_path / "x")])
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "x" / "report.html").stat().st_size > 1000
    out = ["--out", str(tmp_path / "none" / "x.html")]
    refused = CliRunner().invoke(main, ["report", str(tmp_path / "x"), *out])
    assert refused.exit_code == 2
    assert "cannot be written" in refused.output
    assert CliRunner().invoke(main, ["report", str(tmp_path)]).exit_code == 2
