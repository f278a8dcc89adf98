"""Names of solvers and problems."""

import json

import pandas as pd

from experiments.analysis.labels import (
    kind_of,
    solver_labels,
)
from experiments.analysis.noise import is_repeat, without_repeats
from experiments.cases.plan import AA_REPEAT, plan
from experiments.cases.records import COLUMNS, blank_record
from experiments.cases.search import step
from experiments.files.experiment import read_experiment


def test_solvers_are_ours_or_baselines():
    names = [
        "smo",
        "dual_coordinate_descent",
        "libsvm",
        "qpsolvers_qp",
        "own.py:New",
        "experiments/floor.py:KernelFloor",
    ]
    assert [kind_of(name) for name in names] == ["ours", "ours", "peer", "peer", "peer", "floor"]


TEXT = """\
name: noisy
problems:
  - formulation: soft_margin_dual
    dataset: {name: four_gaussians, n: [24, 40]}
solvers:
  - {name: smo, tol: [1e-3, 1e-6]}
  - {name: platt_smo}
repetitions: 3
noise: true
"""


def test_an_aa_repeat_is_marked_in_its_label_and_its_settings_are_those_of_the_other(write):
    cases = plan(read_experiment(write(TEXT)))
    results = pd.DataFrame([blank_record(case) for case in cases])
    assert list(results.columns) == COLUMNS
    assert not results["params"].str.contains(AA_REPEAT).any()
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


def test_an_entry_goes_by_its_label_with_the_settings_in_which_its_own_runs_differ(write):
    text = TEXT.replace(
        "1e-6]}", "1e-6], label: Ours}\n  - {name: smo, tol: auto, label: searched}"
    )
    cases = plan(read_experiment(write(text)))
    searched = next(case for case in cases if case.solver.searched)
    results = pd.DataFrame([blank_record(case) for case in [*cases, step(searched, 3)]])
    assert set(solver_labels(without_repeats(results))) >= {
        "Ours (tol=0.001)",
        "Ours (tol=1e-06)",
        "searched (tol=0.0032)",
        "platt_smo",
    }
    assert set(solver_labels(without_repeats(results), {"tol"})) == {
        "Ours",
        "searched",
        "platt_smo",
    }
    without = results.drop(columns="label")
    assert not any("Ours" in label for label in solver_labels(without))


def test_whole_numbers_are_named_without_a_point():
    settings = [{"cache_size": 200.0}, {"cache_size": 0.5}]
    runs = pd.DataFrame({"solver": "one_dal", "params": [json.dumps(s) for s in settings]})
    assert solver_labels(runs) == ["one_dal (cache_size=200)", "one_dal (cache_size=0.5)"]


def test_precisions_are_named_beside_other_settings():
    settings = [
        {"cache_size": c, "dtype": d} for c in (1000.0, 8000.0) for d in ("float64", "float32")
    ]
    runs = pd.DataFrame({"solver": "one_dal", "params": [json.dumps(s) for s in settings]})
    assert solver_labels(runs)[1:3] == [
        "one_dal (cache_size=1000, float32)",
        "one_dal (cache_size=8000, float64)",
    ]


def test_what_is_on_by_default_is_not_named():
    own = [
        {"variant": "plain", "restart": True},
        {"variant": "accelerated", "restart": True},
        {"variant": "accelerated", "restart": False},
    ]
    runs = {"solver": "projected_gradient", "params": [json.dumps(settings) for settings in own]}
    names = [
        label.removeprefix("projected_gradient ") for label in solver_labels(pd.DataFrame(runs))
    ]
    assert names == ["(plain)", "(accelerated)", "(accelerated, restart=False)"]


def _runs(solver, seeds, repetitions=2):
    """Return runs of a solver whose seeds in each repetition are these."""
    return [
        {"solver": solver, "params": json.dumps({"seed": seed + own}), "problem_id": problem}
        | {"repetition": repetition}
        for problem in "pq"
        for repetition in range(repetitions)
        for own in ([1000 * repetition] if len(seeds) == 1 else [0])
        for seed in seeds
    ]


def test_several_seeds_of_a_repetition_are_named_and_those_of_repetitions_are_not():
    runs = pd.DataFrame(_runs("pegasos", [1, 2, 3]) + _runs("sdca", [1]))
    labels = solver_labels(runs)
    assert set(labels) == {"pegasos (3 seeds)", "sdca"}
    assert labels.count("pegasos (3 seeds)") == 12
