"""Times to gaps, profiles and shifted means."""

import numpy as np
import pandas as pd
import pytest
from tests.experiments.rows import crashed, run, stored

from dualgap.experiments.analysis.means import compared
from dualgap.experiments.analysis.profiles import (
    MIN_PLOTTED_GAP,
    compared_times,
    partial_coverage_text,
    penalty_of,
    performance_profile,
    quality_profile,
    shifted_means,
)
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import requested_rows
from dualgap.experiments.report.sections import shifted_means_section
from dualgap.experiments.store.reading import load_results

NAN = float("nan")


def table(rows):
    """Return rows of `times`: target, problem, solver and time are given."""
    columns = ["target", "problem", "solver", "time"]
    fixed = {"n": 99.0, "outcome": "reached", "fastest": False, "setting": "", "gap": 0.0}
    return pd.DataFrame([dict(zip(columns, row, strict=True)) | fixed for row in rows])


def test_a_performance_profile_counts_failures_in_the_fraction():
    times = table([(1, "p", "a", 1.0), (1, "p", "b", 3.0), (1, "q", "a", NAN), (1, "q", "b", 2.0)])
    profile = performance_profile(times)
    x, fraction = profile["a"]
    assert x[0] == 1
    assert fraction.tolist() == [0.5, 0.5]
    x, fraction = profile["b"]
    assert x[:2].tolist() == [1, 3]
    assert fraction.tolist() == [0.5, 1, 1]


def test_a_problem_that_nobody_solved_keeps_every_profile_below_one():
    times = table([(1, "p", "a", 1.0), (1, "q", "a", NAN)])
    assert performance_profile(times)["a"][1].max() == 0.5
    assert performance_profile(table([(1, "q", "a", NAN)])) == {}


def test_failures_cost_the_penalty_in_every_mean():
    means = shifted_means(table([(1, "p", "a", NAN), (1, "p", "b", 2.0)]), penalty=20.0)
    assert means["solver"].tolist() == ["b", "a"]
    assert means["mean"].tolist() == pytest.approx([2.0, 20.0])
    assert means[["sgm10", "par2"]].to_numpy().tolist() == [
        pytest.approx([2.0, 2.0]),
        pytest.approx([20.0, 40.0]),
    ]
    assert means["solved"].tolist() == [1, 0]


def test_a_pair_that_was_not_run_is_not_charged_and_not_compared():
    rows = [(1, "p", "a", 2.0), (1, "q", "a", 30.0), (1, "p", "b", 4.0), (1, "r", "c", NAN)]
    means = shifted_means(table(rows), penalty=20.0).set_index("solver")
    assert means.index.tolist() == ["a", "b", "c"]  # b has the least mean, over fewer problems
    assert means["asked"].tolist() == [2, 1, 1]
    assert means["problems"].tolist() == [3, 3, 3]
    assert means.loc["b", ["mean", "sgm10", "par2", "ratio"]].tolist() == pytest.approx(
        [4.0, 4.0, 4.0, 2.0], rel=1e-2
    )
    assert means.loc["c", "par2"] == 40
    assert np.isnan(means.loc["c", "ratio"])  # it shares no problem with the first one
    text = partial_coverage_text(table(rows))
    assert "a 2 of 3, b 1 of 3, c 1 of 3" in text
    assert partial_coverage_text(table(rows[:1])) == ""


def test_a_target_that_a_solver_was_not_asked_for_costs_nothing(tmp_path):
    """Its tolerances are above the target, and its gap still fell; a miss costs the penalty."""
    rows = [run(problem, "smo", time_solve=2.0) for problem in "pq"]
    for problem, tolerances in {"p": (1e-2, 1e-7), "q": (1e-1, 1e-2)}.items():
        rows += [
            run(problem, "libsvm", tol=tol, relative_gap=tol, verdict="inaccurate")
            for tol in tolerances
        ]
    rows += [run("q", "one_dal", tol=1e-6, relative_gap=1e-3, verdict="inaccurate")]
    named = Results(load_results(stored(tmp_path / "r", rows)))
    times = requested_rows(compared_times(named, pd.DataFrame({"run_id": []}))[0])
    tightest = times[times["target"] == 1e-6]
    means = shifted_means(tightest, penalty=20.0).set_index("solver")
    assert means["solved"].tolist() == [2, 1, 0]
    assert means["asked"].tolist() == [2, 1, 1]
    assert means["problems"].tolist() == [2, 2, 2]
    assert means.loc["libsvm", "par2"] == 0.5
    assert means.loc["one_dal", "par2"] == 40.0
    assert performance_profile(tightest)["libsvm"][1].max() == 1.0
    section = shifted_means_section(compared(named), 20.0, "20 s")
    assert "| 1 of 1, asked for 1 of 2 |" in section


def test_a_problem_that_a_solver_does_not_support_is_no_failure(tmp_path):
    rows = [run(problem, "smo", time_solve=2.0) for problem in "pq"]
    rows += [run("p", "libsvm", time_solve=4.0), crashed("q", "libsvm", status="unsupported")]
    rows += [crashed(problem, "scg", status="not_installed") for problem in "pq"]
    named = Results(load_results(stored(tmp_path / "r", rows)))
    requested = requested_rows(compared_times(named, pd.DataFrame({"run_id": []}))[0])
    means = shifted_means(requested[requested["target"] == 1e-3], penalty=20.0)
    assert means["par2"].tolist() == [2.0, 4.0]
    assert partial_coverage_text(requested).startswith(
        "Not every solver was run on every problem: libsvm 1 of 2."
    )
    assert quality_profile(named)["libsvm"][1].max() == 1.0
    section = shifted_means_section(compared(named), 20.0, "20 s")
    assert "| 1 of 1, asked for 1 of 2 |" in section
    assert "scg" not in section


def test_the_fraction_is_of_the_problems_that_were_run():
    times = table([(1, "p", "a", 1.0), (1, "q", "a", NAN), (1, "p", "b", 2.0), (1, "r", "b", 1.0)])
    profile = performance_profile(times)
    assert profile["a"][1].tolist() == [0.5, 0.5]
    assert profile["b"][1].tolist() == [0.5, 1.0, 1.0]
    times = table([(1, "p", "a", 1.0), (1, "q", "a", 2.0), (1, "p", "b", 2.0)])
    assert performance_profile(times)["b"][1].max() == 1.0


def test_the_quality_profile_of_a_solver_is_over_the_problems_that_it_was_run_on(tmp_path):
    rows = [run("p", "smo"), run("q", "smo"), run("p", "libsvm")]
    profile = quality_profile(Results(load_results(stored(tmp_path / "r", rows))))
    assert [profile[name][1].max() for name in ("smo", "libsvm")] == [1.0, 1.0]


def test_the_penalty_is_the_time_limit_and_without_one_ten_times_the_slowest_run():
    results = pd.DataFrame({"time_solve": [NAN, 3.0]})
    assert penalty_of(20, results) == (20.0, "20 s, the time limit of a run")
    seconds, words = penalty_of(None, results)
    assert seconds == 30
    assert words.startswith("30 s, ten times")


def test_a_quality_profile_uses_the_most_accurate_setting_and_counts_failures(
    tmp_path,
):
    settings = {gap: {"relative_gap": gap, "params": f'{{"tol": {gap}}}'} for gap in (1e-2, 1e-8)}
    rows = [run("p", "smo", **settings[1e-2]), run("p", "smo", **settings[1e-8])]
    rows += [crashed("q", "smo"), run("p", "libsvm", relative_gap=1e-3, verdict="inaccurate")]
    rows += [run("q", "libsvm", relative_gap=NAN, verdict="infeasible")]
    profile = quality_profile(Results(load_results(stored(tmp_path / "r", rows))))
    assert [profile["smo"][0][1], profile["smo"][1].max()] == [1e-8, 0.5]
    assert profile["libsvm"][0][:2].tolist() == [MIN_PLOTTED_GAP, 1e-3]
    assert profile["libsvm"][1].tolist() == [0.5, 1.0, 1.0]
