"""Names of solvers and problems."""

import pandas as pd
import pytest
from tests.experiments.functions import posing

from dualgap.experiments.analysis.labels import AA_REPEAT, kind_of
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.cases.records import COLUMNS, blank_record
from dualgap.experiments.cases.search import case_at_step
from dualgap.experiments.records.names import SolverEntry, joined_solvers, labels_of


def test_solvers_are_dualgap_solvers_or_baselines():
    kinds = {
        "ours": ["smo", "dual_coordinate_descent"],
        "dense_reference": ["experiments/floor.py:KernelFloor"],
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
    assert set(results["label"]) == {"smo (tol=0.001)", "smo (tol=1e-06)", "platt_smo"}
    named = Results(results)
    assert set(named.table["configuration"]) == {
        "smo (tol=0.001)",
        "smo (tol=1e-06)",
        "platt_smo",
        "smo (tol=0.001, A/A)",
        "platt_smo (A/A)",
    }
    assert set(named.table["series"]) == {"smo", "platt_smo", "smo (A/A)", "platt_smo (A/A)"}
    assert not named.without_repeats["aa_repeat"].any()
    assert len(named.without_repeats) == (~results["aa_repeat"]).sum()


def test_an_entry_is_named_by_its_label_and_the_settings_that_vary_within_it(planned):
    searched = {"name": "smo", "tol": "auto", "label": "searched"}
    cases = planned(posing(solvers=[SMO | {"label": "Ours"}, searched, "platt_smo"], **NOISY))
    searched = next(case for case in cases if case.solver.searched)
    results = pd.DataFrame([blank_record(case) for case in [*cases, case_at_step(searched, 3)]])
    assert set(results["label"]) == {
        "Ours (tol=0.001)",
        "Ours (tol=1e-06)",
        "searched",
        "platt_smo",
    }
    named = Results(results).without_repeats
    assert set(named["configuration"]) == {
        "Ours (tol=0.001)",
        "Ours (tol=1e-06)",
        "searched (tol=1)",
        "searched (tol=0.032)",
        "platt_smo",
    }
    assert set(named["series"]) == {"Ours", "searched", "platt_smo"}


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
            [
                {"variant": v, "restart": r}
                for v, r in (("plain", True), ("fast", True), ("fast", False))
            ],
            ["plain", "fast", "fast, restart=False"],
        ),
    ],
)
def test_settings_that_differ_are_named(solver, settings, labels):
    entries = [SolverEntry(solver, own) for own in settings]
    assert labels_of(entries) == [f"{solver} ({label})" for label in labels]


def test_several_seeds_of_a_repetition_are_named_and_those_of_repetitions_are_not(planned):
    solvers = [{"name": "pegasos", "seed": [1, 2, 3]}, "sdca"]
    cases = planned(posing(formulation="hinge_erm", lam=1, solvers=solvers, repetitions=2))
    assert {case.label for case in cases} == {"pegasos (3 seeds)", "sdca"}


def test_a_solver_keeps_its_label_when_others_of_its_name_are_planned():
    def solver(series="smo", **settings):
        return {"name": "smo", "settings": settings, "series": series}

    old = {"smo": solver(tol=1e-3, cache_size=1.0)}
    new = {"smo": solver(tol=1e-6, cache_size=2.0)}
    assert joined_solvers(old, {}) == joined_solvers(old, old) == old
    assert joined_solvers(old, new) == old | {
        "smo (tol=1e-06)": solver("smo (cache_size=2)", tol=1e-6, cache_size=2.0),
    }
