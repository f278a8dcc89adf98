"""Names of solvers and problems."""

import json

import pandas as pd
import pytest
from tests.experiments.functions import posing

from dualgap.experiments.analysis.labels import kind_of, solver_labels
from dualgap.experiments.analysis.noise import is_repeat
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.cases.records import COLUMNS, blank_record
from dualgap.experiments.cases.search import case_at_step
from dualgap.experiments.records.names import AA_REPEAT


def test_solvers_are_dualgap_solvers_or_baselines():
    kinds = {
        "ours": ["smo", "dual_coordinate_descent"],
        "floor": ["experiments/floor.py:KernelFloor"],
    }
    kinds |= {"peer": ["libsvm", "qpsolvers_qp", "own.py:New"]}
    assert all(kind_of(name) == kind for kind, names in kinds.items() for name in names)


SMO = {"name": "smo", "tol": [1e-3, 1e-6]}
NOISY = {"dataset": "{name: four_gaussians, n: [24, 40]}", "repetitions": 3, "noise": True}


def test_an_aa_repeat_is_marked_in_its_label_and_its_settings_are_those_of_the_other(planned):
    cases = planned(posing(solvers=[SMO, "platt_smo"], **NOISY))
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
    named = Results(results)
    assert not is_repeat(named.without_repeats).any()
    assert len(named.without_repeats) == (~is_repeat(results)).sum()


def test_an_entry_is_named_by_its_label_and_the_settings_that_vary_within_it(planned):
    searched = {"name": "smo", "tol": "auto", "label": "searched"}
    cases = planned(posing(solvers=[SMO | {"label": "Ours"}, searched, "platt_smo"], **NOISY))
    searched = next(case for case in cases if case.solver.searched)
    results = pd.DataFrame([blank_record(case) for case in [*cases, case_at_step(searched, 3)]])
    named = Results(results).without_repeats
    assert set(named["configuration"]) >= {
        "Ours (tol=0.001)",
        "Ours (tol=1e-06)",
        "searched (tol=0.032)",
        "platt_smo",
    }
    assert set(named["series"]) == {"Ours", "searched", "platt_smo"}
    assert not any("Ours" in label for label in solver_labels(results.drop(columns="label")))


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
    plain = [
        params | {k: bool(v) for k, v in params.items() if k == "restart"} for params in settings
    ]
    runs = pd.DataFrame({"solver": solver, "params": list(map(json.dumps, plain))})
    assert solver_labels(runs) == [f"{solver} ({label})" for label in labels]


def test_several_seeds_of_a_repetition_are_named_and_those_of_repetitions_are_not():
    seeds = {"pegasos": [[1, 2, 3], [1, 2, 3]], "sdca": [[1], [1001]]}
    runs = pd.DataFrame(
        {"solver": solver, "params": json.dumps({"seed": seed}), "repetition": i, "problem_id": p}
        for p in "pq"
        for solver, of_repetitions in seeds.items()
        for i, params in enumerate(of_repetitions)
        for seed in params
    )
    labels = solver_labels(runs)
    assert set(labels) == {"pegasos (3 seeds)", "sdca"}
    assert labels.count("pegasos (3 seeds)") == 12
