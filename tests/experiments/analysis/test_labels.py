"""Names of solvers and problems."""

import json

import pandas as pd
import pytest

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


@pytest.mark.parametrize(
    ("solver", "settings", "labels"),
    [  # whole numbers have no point, text no key, what is on by default no name
        ("one_dal", [{"size": 200.0}, {"size": 0.5}], ["size=200", "size=0.5"]),
        (
            "one_dal",
            [{"size": s, "dtype": d} for s in (1e3, 8e3) for d in ("float64", "float32")][1:],
            ["size=1000, float32", "size=8000, float64", "size=8000, float32"],
        ),
        (
            "projected_gradient",
            [{"variant": v, "restart": r} for v, r in (("plain", 1), ("fast", 1), ("fast", 0))],
            ["plain", "fast", "fast, restart=False"],
        ),
    ],
)
def test_settings_that_differ_are_named(solver, settings, labels):
    plain = [own | {k: bool(v) for k, v in own.items() if k == "restart"} for own in settings]
    runs = pd.DataFrame({"solver": solver, "params": list(map(json.dumps, plain))})
    assert solver_labels(runs) == [f"{solver} ({label})" for label in labels]


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
