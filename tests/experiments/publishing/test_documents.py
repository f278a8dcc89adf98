"""Tables of the documents, from what is published."""

import pandas as pd

from experiments.publishing.documents import (
    baselines_table,
    benchmarks_table,
    fastest_table,
    passed_table,
)


def test_each_peer_of_each_published_benchmark_has_a_row(tmp_path, readme):
    for name, ratio in (("bench_a", 12.0), ("bench_b", 0.5)):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        row = {"target": 1e-3, "solver": "libsvm", "kind": "peer", "mean": ratio, "problems": 2}
        ours = {"target": 1e-3, "solver": "smo", "kind": "ours", "mean": 1.0, "problems": 2}
        row |= {"ours": "smo", "single": True, "low": float("nan"), "high": float("nan")}
        more = {"least": ratio / 2, "most": 2 * ratio, "failed": 1, "within_noise": False}
        pd.DataFrame([row | more, ours | more]).to_csv(folder / "means.csv", index=False)
    lines = benchmarks_table(tmp_path / "results").splitlines()
    assert len(lines) == 4
    assert "[a](bench_a/benchmark.md)" in lines[2]
    assert "libsvm ¹" in lines[2]
    assert lines[2].split("|")[3].strip() == "smo"
    assert "**12×** (6 to 24, 2 problems), failed 1" in lines[2]
    assert "**0.5×**" in lines[3]
    means = pd.read_csv(folder / "means.csv").assign(within_noise=True)
    means.to_csv(folder / "means.csv", index=False)
    assert "0.5× ~" in benchmarks_table(tmp_path / "results").splitlines()[3]
    heads, _, row = (line.split("|")[1:-1] for line in baselines_table(folder).splitlines())
    assert [cell.strip() for cell in heads] == ["time relative to smo", "gap 1e-03"]
    assert [cell.strip() for cell in row] == [
        "libsvm ¹",
        "0.5× ~ (0.25 to 1, 2 problems), failed 1",
    ]
    means = pd.concat([means, means.assign(target=1e-6, ours="smo (1), semismooth_newton (1)")])
    means.to_csv(folder / "means.csv", index=False)
    assert "time relative to smo or semismooth_newton " in baselines_table(folder)


def test_a_problem_has_its_fastest_and_slowest_solver_and_the_gaps_of_those_that_missed():
    summary = pd.DataFrame(
        {
            "problem": ["p"] * 5,
            "solver": ["a", "b", "c", "d", "e"],
            "outcome": ["solved", "solved", "inaccurate", "unsupported", "crashed"],
            "time": [0.0123, 1.0, 1.0, float("nan"), 1.0],
            "gap": [1e-8, 1e-9, 3e-3, float("nan"), 1.0],
        }
    )
    table = fastest_table(summary, 1e-5)
    assert [cell.strip() for cell in table.splitlines()[2].split("|")[1:-1]] == [
        "p", "a, 12.3 ms", "b, 1 s", "c 3e-03",
    ]  # fmt: skip


def test_who_passed_the_verification_stands_beside_all_problems():
    counts = pd.DataFrame({"solver": ["smo"], "problems": ["9"], "passed": ["7"], "failed": ["2"]})
    assert "7 of 9" in passed_table(counts)
