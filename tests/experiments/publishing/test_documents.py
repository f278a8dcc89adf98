"""Tables of the documents, from what is published."""

import pandas as pd

from experiments.publishing.documents import benchmarks_table, compact_table


def test_the_readme_has_a_row_for_each_peer_in_each_published_benchmark(tmp_path, readme):
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
    assert "[a](results/bench_a/benchmark.md)" in lines[2]
    assert "libsvm ¹" in lines[2]
    assert lines[2].split("|")[3].strip() == "smo"
    assert "**12×** (6 to 24, 2 problems), failed 1" in lines[2]
    assert "**0.5×**" in lines[3]
    means = pd.read_csv(folder / "means.csv").assign(within_noise=True)
    means.to_csv(folder / "means.csv", index=False)
    assert "0.5× ~" in benchmarks_table(tmp_path / "results").splitlines()[3]


def test_cells_show_time_gap_or_why_not():
    summary = pd.DataFrame(
        {
            "problem": ["p"] * 4,
            "solver": ["a", "b", "c", "d"],
            "outcome": ["solved", "inaccurate", "unsupported", "crashed"],
            "time": [0.0123, 1.0, float("nan"), 1.0],
            "gap": [1e-8, 3e-3, float("nan"), 1.0],
            "set-up": [0.0005, 1.0, 1.0, 1.0],
        }
    )
    table = compact_table(summary)
    assert [cell.strip() for cell in table.splitlines()[2].split("|")[2:-1]] == [
        "12.3 ms + 0.5 ms", "≈ 3e-03", "–", "crashed",
    ]  # fmt: skip
