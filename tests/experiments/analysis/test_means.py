"""Means of ratios, cost of the intercept, passes."""

import json

import pytest
from tests.experiments.rows import problem_spec, results_from, timed

from dualgap.experiments.analysis.means import compared, intercepts, means, passes


def test_geometric_means_leave_out_and_count_the_problems_that_one_side_failed():
    rows = [
        timed(problem="a"), timed("libsvm", time=2.0, problem="a"),
        timed(problem="b"), timed("libsvm", time=8.0, problem="b"),
        timed(problem="c"), timed("libsvm", gap=1.0, problem="c"),
        timed("libsvm", tol=1e-6, gap=1.0, problem="c"),
        timed(problem="d"), timed("libsvm", tol=1e-2, gap=2e-3, problem="d"),
        timed(problem="e", gap=1.0), timed("libsvm", problem="e"),
    ]  # fmt: skip
    rates = means(compared(results_from(*rows), [1e-3])).set_index("solver")
    assert rates.loc["libsvm", "mean"] == pytest.approx(4.0)
    counts = ["problems", "failed", "alone"]
    assert rates.loc["libsvm", counts].tolist() == [2, 1, 1]
    assert rates.loc["libsvm", ["least", "most"]].tolist() == [2.0, 8.0]
    assert rates.loc["smo", counts].tolist() == [4, 0, 0]
    assert rates.loc["libsvm", "ours"] == "smo"


def test_the_cost_of_the_intercept_is_the_ratio_to_the_same_problem_without_it():
    problems = {
        (name, intercept): problem_spec(name, params={"C": 1.0, "intercept": intercept})
        for name in ("a9a", "w8a")
        for intercept in (False, True)
    }
    rows = [timed(problem=problems["a9a", False]), timed(problem=problems["a9a", True], time=1.5)]
    rows += [timed(problem=problems["w8a", False]), timed(problem=problems["w8a", True], gap=1.0)]
    results = results_from(*rows)
    (cost,) = intercepts(compared(results, [1e-3]), results.by_optimum).to_dict("records")
    assert (cost["problem"], cost["without"], cost["with"]) == (
        "a9a soft_margin_dual C=1",
        1.0,
        1.5,
    )
    assert cost["ratio"] == 1.5


def test_distinguishing_settings_are_those_that_vary():
    both = [json.dumps({"tol": 1e-9, "epochs": k}) for k in (1, 20)]
    rows = [timed("pegasos", params=text, suboptimality=0.2) for text in both]
    counted = passes(results_from(*rows, timed()).by_optimum)
    assert counted["setting"].tolist() == ["epochs 1", "epochs 20"]
    assert counted["suboptimality"].tolist() == [0.1, 0.1]
