"""A benchmark in words."""

import json
from typing import get_args

import pandas as pd
from tests.experiments.rows import noisy_results, results_from, timed

from dualgap.experiments.analysis.means import Benchmark, compared, means
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.tables.at_gap import to_markdown
from dualgap.experiments.tables.formats import SETUP, machine_text, precision_text
from dualgap.solvers.base import Precision

NAN = float("nan")
PRECISIONS = get_args(Precision)


def test_every_sign_of_the_report_is_present():
    rows = [timed(repetition=i, time=1.0 + i) for i in range(2)]
    rows += [
        timed("libsvm", tol=t, time=30.0, gap=2e-5, repetition=i)
        for t in (1e-5, 1e-8)
        for i in range(2)
    ]
    rows += [timed("one_dal", status="not_installed", gap=NAN, time=NAN, threads=NAN)]
    manifest = {"versions": {"numpy": "2"}, "date": "2026-01-02T", "platform": "x", "host": "h"}
    manifest["machine"] = {"processor": "A chip", "cores": 2, "memory": 2**34}
    results = results_from(*rows)
    text = to_markdown(Benchmark.of(results), "bench_x", machine_text(manifest, results.table))
    assert "A chip, 2 cores, 16.00 GiB" in text
    assert "Threads of every solver: 2." in text
    assert "30 s (tol 1e-05), 20×" in text  # two repetitions have no interval
    assert "– stalls at 2.0e-05" in text
    assert "– not installed" in text
    assert SETUP in text


def test_a_benchmark_counts_the_problems_run_per_solver():
    rows = [timed(), timed(problem="q"), timed("libsvm", time=3.0)]
    text = to_markdown(Benchmark.of(results_from(*rows)), "bench_x", "")
    (line,) = (line for line in text.splitlines() if line.startswith("| 1e-03 | libsvm"))
    assert "| 1 of 1 " in line


def test_a_benchmark_states_its_precision_and_the_missing_noise_measurement():
    def caption(*rows):
        return to_markdown(Benchmark.of(results_from(*rows)), "bench_x", "")

    sentence = "Precision of the samples, for baselines with a choice:"
    assert f"{sentence} one_dal float64 only." in caption(timed(), timed("one_dal"))
    both = [timed("one_dal", params=json.dumps({"tol": 1e-3, "dtype": d})) for d in PRECISIONS]
    assert f"{sentence} one_dal float64 and float32." in caption(timed(), *both)
    assert "| one_dal (float32) " in caption(timed(), *both)
    alone = caption(timed())
    assert sentence not in alone
    assert "Noise (A/A) was not measured" in alone
    assert "Ratios have no intervals" in alone


def test_a_page_of_several_benchmarks_states_the_precision_of_each():
    old, new = (pd.DataFrame([timed("one_dal", params=f'{{"dtype": "{d}"}}')]) for d in PRECISIONS)
    assert precision_text({"a": old, "b": old, "c": pd.concat([old, new])}) == (
        "Precision of the samples, for baselines with a choice: "
        "one_dal float64 and float32 (c), one_dal float64 only (a, b)."
    )


def test_a_benchmark_marks_differences_within_the_noise_and_prints_them_plain():
    results = Results(pd.concat([noisy_results("a"), noisy_results("b")], ignore_index=True))
    table = compared(results)
    assert set(table["solver"]) == {"smo", "libsvm", "one_dal"}
    rates = means(table).set_index("solver")
    assert rates["within_noise"].to_dict() == {"smo": False, "libsvm": True, "one_dal": False}
    assert rates["low"]["one_dal"] < 3 < rates["high"]["one_dal"]
    text = to_markdown(Benchmark.of(results), "bench_x", "")
    assert "**1.0" not in text
    assert "**3.0" in text or "**2.9" in text
    assert "] ~" in text
    assert "Noise (A/A): two runs of the same configuration" in text
    assert "geometric mean over 2 pairs" in text
