"""Tables of the documents, from what is published."""

import pandas as pd
from tests.experiments.rows import run, stored

from dualgap.experiments.report.published import documents
from dualgap.experiments.report.published.documents import (
    benchmarks_table,
    first_problem_table,
    performance_table,
    single_precision_text,
    verified_table,
)
from dualgap.experiments.store.reading import RunFolder

NAN = float("nan")


def test_each_peer_of_each_published_benchmark_has_a_row():
    rows = []
    for name, ratio, low, high in (("bench_a", 12.0, 11.0, 13.0), ("bench_b", 0.5, NAN, NAN)):
        row = {"target": 1e-3, "solver": "libsvm", "kind": "peer", "mean": ratio, "problems": 2}
        ours = {"target": 1e-3, "solver": "smo", "kind": "ours", "mean": 1.0, "problems": 2}
        row |= {"ours": "smo", "single": True, "low": low, "high": high}
        more = {"least": ratio / 2, "most": 2 * ratio, "failed": 1, "within_noise": False}
        rows += [row | more | {"benchmark": name}, ours | more | {"benchmark": name}]
    means = pd.DataFrame(rows)
    lines = benchmarks_table(means).splitlines()
    assert len(lines) == 4
    assert "[a](bench_a/benchmark.md)" in lines[2]
    assert "libsvm ¹" in lines[2]
    assert lines[2].split("|")[3].strip() == "smo"
    assert "**12×** [11, 13] (6 to 24, 2 problems), failed 1" in lines[2]
    assert "| 0.5× (" in lines[3]  # without an interval it is not bold
    assert "0.5× ~" in benchmarks_table(means.assign(within_noise=True)).splitlines()[3]


def test_a_library_is_represented_by_its_best_setting(monkeypatch):
    monkeypatch.setattr(documents, "_PERFORMANCE", {"bench_a": "kernel"})
    times = [("a (cache=1)", "p", 3.0), ("a (cache=2)", "p", 2.0), ("a (cache=1)", "q", 8.0)]
    times += [
        ("a (cache=2)", "q", NAN),
        ("b (x=1)", "p", 1.5),
        ("b (x=2)", "q", NAN),
        ("c", "p", NAN),
    ]
    rows = pd.DataFrame(times, columns=["solver", "problem", "ratio"])
    ours = pd.DataFrame({"solver": "smo", "problem": ["p", "q"], "ratio": 1.0})
    rows = pd.concat([rows.assign(kind="peer"), ours.assign(kind="ours")])
    rows = rows.assign(target=1e-3, time=rows["ratio"], outcome="stalled", benchmark="bench_a")
    (row,) = performance_table(rows).strip().splitlines()[2:]
    assert row.split("|")[2].strip() == "b **1.5×** (failed 1 of 2), a **4×**"


def test_runs_of_the_first_problem_are_listed_with_time_gap_and_outcome():
    summary = pd.DataFrame(
        {
            "problem": ["p", "p", "q"],
            "solver": ["a", "b", "c"],
            "outcome": ["solved", "unsupported", "solved"],
            "time": [0.0123, float("nan"), 1.0],
            "objective": [-1.5, float("nan"), 1.0],
            "gap": [1e-8, float("nan"), 1e-9],
        }
    )
    rows = [line.split("|")[1:-1] for line in first_problem_table(summary).splitlines()[2:]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["a", "12.3 ms", "-1.5", "1.0e-08", "solved"]
    ]


def test_verified_convex_qps_precede_the_mean_times(tmp_path):
    fields = {"formulation": "convex_qp", "target_gap": 1e-6}
    rows = [
        run("a", "one", relative_gap=1e-7, time_solve=1.0, **fields),
        run("a", "two", relative_gap=1e-4, claimed="stopped", verdict="inaccurate", **fields),
    ]
    text = verified_table(RunFolder(stored(tmp_path / "runs", rows)))
    assert [line.split()[1:14:2] for line in text.splitlines()[2:4]] == [
        ["one", "1", "1", "0", "1", "1", "0"],
        ["two", "1", "0", "0", "1", "0", "0"],
    ]
    assert "counts as twice 20 s, the time limit of a run" in text
    assert text.index("gap of 1e-03") < text.index("gap of 1e-06") < text.index("PAR-2 is")


def test_single_and_double_precision_are_compared_on_problems_run_in_both():
    times = [
        ("p", "64", 3.0),
        ("p", "32", 2.0),
        ("q", "64", 1.0),
        ("q", "32", NAN),
        ("r", "64", NAN),
    ]
    rows = pd.DataFrame(times, columns=["problem", "solver", "time"]).assign(target=1e-3)
    both = rows.assign(solver="one_dal (float" + rows["solver"] + ")", benchmark="bench_a")
    one = rows.assign(solver="one_dal", benchmark="bench_b")
    sentence = single_precision_text(pd.concat([both, one]))
    assert "is 1.5 to 1.5 times as fast as in float64, 1.50 in the mean" in sentence
    assert sentence.endswith("is not certified on 1 of 2 problems.")
