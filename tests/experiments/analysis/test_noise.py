"""Noise: intervals of ratios of times, A/A pairs, and what tables make of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from experiments.analysis.cheapest import cheapest
from experiments.analysis.labels import solver_labels
from experiments.analysis.noise import (
    Comparison,
    aa_pairs,
    compare,
    is_repeat,
    noise_of_means,
    noise_of_problems,
    ranks,
    without_repeats,
)
from experiments.benchmark.report import to_markdown
from experiments.benchmark.tables import means
from experiments.cases.plan import AA_REPEAT, plan
from experiments.cases.records import COLUMNS, blank_record
from experiments.files.experiment import ConfigError, read_experiment
from experiments.output.tables import summarise, to_terminal
from experiments.plots.runs import gather

TEXT = """\
name: noisy
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: [24, 40]}
solvers:
  - {name: smo, tol: [1e-3, 1e-6]}
  - {name: platt_smo}
repetitions: 3
"""


def times_of(rng, factor=1.0, count=5, scatter=0.05):
    """Return times whose median is `factor`, scattered by so much of it."""
    return (factor * rng.lognormal(0.0, scatter, count)).tolist()


def runs_of(solver, times, problem="p", repeat=False, tol=1e-3, **changes):
    """Return rows of results, one for each time; `changes` replace columns."""
    row = dict.fromkeys(COLUMNS, float("nan")) | {
        "problem_id": problem,
        "formulation": "soft_margin_dual",
        "solver": solver,
        "params": json.dumps({"tol": tol} | ({AA_REPEAT: True} if repeat else {})),
        "target_gap": 1e-3,
        "status": "finished",
        "claimed": "optimal",
        "verdict": "solved",
        "reason": "",
        "bound_source": "alpha",
        "objective": -244.99551,
        "primal_objective": 2.0,
        "suboptimality": 0.0,
        "relative_gap": 1e-4,
        "kkt_violation": 1e-4,
        "n_support": 77.0,
        "n": 100.0,
        "d": 5.0,
        "host": "one",
    }
    return [row | changes | {"repetition": i, "time_solve": t} for i, t in enumerate(times)]


def noisy_results(problem="p"):
    """Return runs of two solvers that are equally fast, a slow one, and an A/A pair."""
    rng = np.random.default_rng(3)
    rows = runs_of("smo", times_of(rng), problem)
    rows += runs_of("smo", times_of(rng), problem, repeat=True)
    rows += runs_of("libsvm", times_of(rng, 1.01), problem)
    return pd.DataFrame(rows + runs_of("one_dal", times_of(rng, 3.0), problem))


@pytest.mark.parametrize(("count", "least"), [(4, 0.88), (10, 0.92)])
def test_intervals_cover_the_true_ratio_about_as_often_as_they_say(count, least):
    rng = np.random.default_rng(7)
    draws = [(times_of(rng, 1.2, count), times_of(rng, 1.0, count)) for _ in range(250)]
    found = [compare([draw]) for draw in draws]
    covered = np.mean([c.low <= 1.2 <= c.high for c in found])
    assert least <= covered <= 0.995


def test_intervals_of_a_geometric_mean_cover_it():
    rng = np.random.default_rng(8)
    factors = (0.5, 2.0, 8.0)
    found = [compare([(times_of(rng, f), times_of(rng, 1.0)) for f in factors]) for _ in range(150)]
    assert 0.9 <= np.mean([c.low <= 2.0 <= c.high for c in found]) <= 1
    single = compare([(times_of(rng, 2.0), times_of(rng))])
    assert found[0].high / found[0].low < single.high / single.low  # scatter averages out


def test_a_solver_that_is_itself_the_reference_counts_as_a_ratio_of_1():
    mean = compare([([4.0] * 3, [1.0] * 3)], ones=1)
    assert (mean.ratio, mean.low, mean.high) == pytest.approx((2.0, 2.0, 2.0))
    assert compare([], ones=2) == Comparison(1.0)
    assert np.isnan(compare([]).ratio)


def test_the_same_runs_give_the_same_interval():
    rng = np.random.default_rng(1)
    mine, other = times_of(rng), times_of(rng)
    assert compare([(mine, other)]) == compare([(mine, other)])


def test_identical_times_are_within_the_noise_and_a_clear_winner_is_not():
    same, slow = [1.0, 1.1, 0.9], [3.0, 3.1, 2.9]
    assert compare([(same, same)]).within_noise
    clear = compare([(slow, same)])
    assert clear.ratio == pytest.approx(3.0)
    assert clear.low > 2
    assert not clear.within_noise


def test_a_difference_is_noise_if_identical_solvers_differ_as_much():
    pair = ([1.05, 1.051, 1.052], [1.0, 1.001, 1.002])
    assert not compare([pair]).within_noise
    assert compare([pair], noise=1.1).within_noise
    assert not compare([pair], noise=1.01).within_noise


@pytest.mark.parametrize("count", [1, 2])
def test_two_repetitions_have_no_interval(count):
    found = compare([([2.0] * count, [1.0] * count)])
    assert np.isnan([found.low, found.high]).all()
    assert (found.ratio, found.within_noise) == (2.0, False)
    assert (found.factor, found.spread) == ("2×", "")


@pytest.mark.parametrize("times", [[], [0.0, 1.0, 1.0]])
def test_times_that_cannot_be_compared_have_no_ratio(times):
    assert np.isnan(compare([(times, [1.0] * 3)]).ratio)


def test_ratios_are_told_with_as_many_digits_as_they_have():
    shown = [Comparison(1.041, 0.97, 1.114, within_noise=True), Comparison(123.4, 119.6, 130)]
    assert [c.factor + c.spread for c in shown] == ["1.04× [0.97, 1.11] ~", "123× [120, 130]"]
    assert Comparison(0.0123, 0.01, 0.02).spread == " [0.01, 0.02]"
    assert [Comparison(r).factor for r in (0.5, 1.0, 9.94, 9.96)] == ["0.5×", "1×", "9.9×", "10×"]


def test_ranks_are_shared_within_the_noise_of_the_fastest_of_the_rank():
    scattered = [1.0, 1.1, 0.9, 1.2]
    times = [[f * t for t in scattered] for f in (1.0, 1.01, 5.0, 5.05, 50.0)]
    assert ranks(times) == [1, 1, 3, 3, 5]
    assert ranks([[1.0], [1.0], [1.1]]) == [1, 1, 3]
    assert ranks([[1.0], [1.1], [1.3]], noise=1.2) == [1, 1, 3]
    assert ranks([]) == []


def test_noise_adds_an_aa_repeat_for_each_solver_to_every_round(write):
    quiet = plan(read_experiment(write(TEXT)))
    noisy = plan(read_experiment(write(TEXT + "noise: true\n")))
    repeats = [case for case in noisy if case.aa_repeat]
    assert {case.run_id for case in noisy} - {case.run_id for case in repeats} == {
        case.run_id for case in quiet
    }
    assert len({case.run_id for case in noisy}) == len(noisy) == 2 * 3 * (3 + 2)
    assert {case.solver.name for case in repeats} == {"smo", "platt_smo"}
    assert {c.solver.settings["tol"] for c in repeats if c.solver.name == "smo"} == {1e-3}


def test_an_aa_repeat_does_the_same_as_its_first_in_the_same_round(write):
    noisy = plan(read_experiment(write(TEXT + "noise: true\n")))
    for repeat in (case for case in noisy if case.aa_repeat):
        (first,) = (
            case
            for case in noisy
            if not case.aa_repeat
            and (case.problem, case.solver, case.repetition)
            == (repeat.problem, repeat.solver, repeat.repetition)
        )
        assert (first.seed, first.time_limit) == (repeat.seed, repeat.time_limit)


def test_noise_is_true_or_false(write):
    with pytest.raises(ConfigError, match="noise"):
        read_experiment(write(TEXT + "noise: 2\n"))


def test_an_aa_repeat_is_marked_among_its_settings_and_in_its_label(write):
    cases = plan(read_experiment(write(TEXT + "noise: true\n")))
    results = pd.DataFrame([blank_record(case) for case in cases])
    assert list(results.columns) == COLUMNS
    assert is_repeat(results).tolist() == [case.aa_repeat for case in cases]
    assert set(solver_labels(results)) == {
        "smo (tol=0.001)",
        "smo (tol=1e-06)",
        "platt_smo",
        "smo (tol=0.001, A/A)",
        "platt_smo (A/A)",
    }
    assert len(set(solver_labels(results, leave_out={AA_REPEAT}))) == 3
    assert not is_repeat(without_repeats(results)).any()


def test_pairs_are_compared_to_runs_of_the_same_settings_alone():
    rows = runs_of("smo", [1.0] * 3) + runs_of("smo", [1.5] * 3, repeat=True)
    rows += runs_of("smo", [9.0] * 3, tol=1e-9) + runs_of("libsvm", [9.0] * 3)
    (pair,) = aa_pairs(pd.DataFrame(rows)).to_dict("records")
    assert (pair["problem"], pair["solver"], pair["ratio"]) == ("p", "smo", pytest.approx(1.5))


def test_a_pair_with_a_run_that_did_not_finish_measures_nothing():
    rows = runs_of("smo", [1.0] * 3) + runs_of("smo", [1.0] * 3, repeat=True, status="time_limit")
    pairs = aa_pairs(pd.DataFrame(rows))
    assert pairs.empty
    assert noise_of_problems(pairs) == {}
    assert noise_of_means(pairs) == 1


def test_the_noise_is_the_largest_factor_of_a_pair_and_of_a_mean():
    rows = []
    for problem, factor in (("a", 0.5), ("b", 2.0)):
        rows += runs_of("smo", [1.0] * 3, problem)
        rows += runs_of("smo", [factor] * 3, problem, repeat=True)
        rows += runs_of("libsvm", [1.0] * 3, problem)
        rows += runs_of("libsvm", [1.1] * 3, problem, repeat=True)
    pairs = aa_pairs(pd.DataFrame(rows))
    assert noise_of_problems(pairs) == pytest.approx({"a": 2.0, "b": 2.0})
    assert noise_of_means(pairs) == pytest.approx(1.1)


def test_the_summary_shares_ranks_and_marks_what_is_noise():
    summary = summarise(noisy_results()).set_index("solver")
    assert summary["rank"].dropna().to_dict() == {"smo": 1, "libsvm": 1, "one_dal": 3}
    assert summary["within_noise"].to_dict()["libsvm"]
    assert not summary["within_noise"]["one_dal"]
    assert summary["low"]["one_dal"] < 3 < summary["high"]["one_dal"]
    assert summary.index[-1] == "smo (A/A)"
    assert summary["within_noise"]["smo (A/A)"]


def test_one_repetition_is_ranked_by_time_alone():
    rows = [*runs_of("smo", [1.0]), *runs_of("libsvm", [1.01]), *runs_of("one_dal", [1.01])]
    summary = summarise(pd.DataFrame(rows))
    assert summary["rank"].tolist() == [1, 2, 2]
    assert summary["low"].isna().all()
    assert "within the noise" not in printed(summary)


def test_an_aa_repeat_that_has_no_answer_either_is_not_told_twice():
    rows = runs_of("smo", [1.0]) + runs_of("smo", [1.0], repeat=True)
    rows = [row | {"verdict": "uncertified", "status": "unsupported"} for row in rows]
    assert summarise(pd.DataFrame(rows))["solver"].tolist() == ["smo"]
    rows[1]["status"] = "crashed"
    assert summarise(pd.DataFrame(rows))["solver"].tolist() == ["smo", "smo (A/A)"]


def printed(summary):
    """Return the summary as a terminal of 100 columns has it."""
    console = Console(width=100)
    with console.capture() as captured:
        console.print(to_terminal(summary))
    return captured.get()


def test_intervals_fit_into_a_terminal_of_100_columns():
    lines = printed(summarise(noisy_results())).splitlines()
    (line,) = (line for line in lines if "libsvm" in line)
    assert line.split()[-1] == "solved"
    assert " ~ " in line
    assert "-244.99551" in line
    assert any(line.startswith("~ within the noise") for line in lines)


def test_a_benchmark_marks_what_is_noise_and_does_not_print_it_bold():
    results = pd.concat([noisy_results("a"), noisy_results("b")], ignore_index=True)
    table = cheapest(results)
    assert set(table["solver"]) == {"smo", "libsvm", "one_dal"}
    rates = means(table).set_index("solver")
    assert rates["within_noise"].to_dict() == {"smo": False, "libsvm": True, "one_dal": False}
    assert rates["low"]["one_dal"] < 3 < rates["high"]["one_dal"]
    text = to_markdown(results, "bench_x", "")
    assert "**1.0" not in text
    assert "**3.0" in text or "**2.9" in text
    assert "] ~" in text
    assert "Noise (A/A): two runs of the same configuration" in text
    assert "geometric mean over 2 pairs" in text


def test_twins_are_not_drawn():
    results = noisy_results().assign(run_id=[f"r{i}" for i in range(20)])
    assert set(gather(results, pd.DataFrame()).table["series"]) == {"smo", "libsvm", "one_dal"}
