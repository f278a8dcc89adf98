"""Names of solvers and problems."""

from experiments.analysis.labels import common_words, distinct_names, kind_of


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
