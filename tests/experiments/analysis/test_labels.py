"""Names of solvers and problems."""

import json

import pandas as pd

from experiments.analysis.labels import common_words, distinct_names, kind_of, solver_labels


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


def test_names_leave_out_what_all_problems_have_in_common():
    problems = ["a9a soft rbf(gamma=1) C=1", "w8a soft rbf(gamma=2) C=1"]
    assert distinct_names(problems) == ["a9a rbf(gamma=1)", "w8a rbf(gamma=2)"]
    assert common_words(problems) == ["soft", "C=1"]
    assert distinct_names(problems[:1]) == problems[:1]


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
