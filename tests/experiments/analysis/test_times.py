"""Times in their three readings, ratios at equal certified gap, and the reference time."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.experiments.rows import crashed, results_from, run, stored, timed, trace_of_gaps

from dualgap.experiments.analysis.means import compared, reference_times
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import (
    configurations,
    missed_target,
    missed_text,
    relative_suboptimality,
    times,
)
from dualgap.experiments.records.columns import FILES
from dualgap.experiments.store.reading import RunFolder

NAN = float("nan")
FLOOR = Path(__file__).parents[3] / "experiments" / "floor.py"


def cell(table, target, solver, problem="p"):
    """Return the row of a target, a solver and a problem."""
    of = (table["target"] == target) & (table["solver"] == solver) & (table["problem"] == problem)
    (row,) = table[of].to_dict("records")
    return row


def test_a_solver_is_represented_by_its_cheapest_configuration_within_the_target():
    table = compared(
        results_from(
            timed(tol=1e-2, time=1.0, gap=5e-3),
            timed(tol=1e-3, time=2.0, gap=5e-4),
            timed(tol=1e-6, time=4.0, gap=5e-7),
            timed("libsvm", tol=1e-1, time=9.0, gap=9e-4),
            timed("libsvm", tol=1e-6, time=8.0, gap=8e-4),
        )
    )
    ours, peer = cell(table, 1e-3, "smo"), cell(table, 1e-3, "libsvm")
    assert (ours["time"], ours["setting"], ours["ratio"]) == (2.0, "tol 1e-03", 1.0)
    assert (peer["time"], peer["setting"], peer["ratio"]) == (8.0, "tol 1e-06", 4.0)
    assert cell(table, 1e-6, "smo")["time"] == 4.0


def test_tolerances_of_one_leading_digit_are_different_settings():
    settings = timed(tol=1e-3, time=4.0, gap=5e-4), timed(tol=1.4e-3, time=1.0, gap=2e-3)
    assert cell(compared(results_from(*settings)), 1e-3, "smo")["time"] == 4.0


def test_a_solver_above_the_target_is_listed_with_its_best_gap():
    table = compared(
        results_from(
            timed(tol=1e-6, gap=5e-7),
            timed("libsvm", tol=1e-3, gap=2e-5),
            timed("libsvm", tol=1e-6, gap=1.9e-5),
            timed("one_dal", tol=1e-3, gap=2e-3),
            timed("one_dal", tol=1e-5, gap=2e-5),
            timed("liblinear", gap=NAN, time=NAN, status="time_limit"),
        )
    )
    stalled, short = cell(table, 1e-6, "libsvm"), cell(table, 1e-6, "one_dal")
    assert (stalled["outcome"], stalled["gap"]) == ("stalled", 1.9e-5)
    assert (short["outcome"], short["gap"]) == ("short", 2e-5)
    assert cell(table, 1e-3, "liblinear")["outcome"] == "time_limit"
    assert np.isnan([stalled["time"], stalled["ratio"], short["time"]]).all()


def test_a_repetition_without_an_answer_disqualifies_its_configuration():
    table = compared(
        results_from(timed(), timed(repetition=1, gap=NAN, time=NAN, status="crashed"))
    )
    assert cell(table, 1e-3, "smo")["outcome"] == "crashed"


def test_a_solver_without_a_dual_point_is_measured_against_the_best_bound():
    columns = {"bound_source": "recovered from w", "gap": 0.5, "suboptimality": 2e-4}
    table = compared(results_from(timed(), timed("liblinear", **columns)))
    assert cell(table, 1e-3, "liblinear")["gap"] == pytest.approx(1e-4)


def test_a_solver_may_use_the_cheaper_formulation_of_a_problem():
    same = {"family_hash": "f"}
    dual, primal = ({"formulation": f"soft_margin_{face}", **same} for face in ("dual", "primal"))
    rows = [
        timed(problem="a dual", time=3.0, **dual),
        timed("libsvm", problem="a dual", time=9.0, **dual),
        timed("libsvm", problem="a primal", time=6.0, **primal),
    ]
    table = compared(results_from(*rows), [1e-3])
    peer = cell(table, 1e-3, "libsvm", "a dual")
    assert (peer["time"], peer["ratio"]) == (6.0, 2.0)
    assert peer["setting"].endswith(", soft_margin_primal")
    assert len(table) == 2


def test_the_reference_is_the_time_of_the_dense_values_of_the_best_answer():
    rows = [
        timed(gap=1e-3, n_support=90.0),
        timed(tol=1e-6, gap=1e-9, time=0.5, n_support=40.0),
        timed(f"{FLOOR}:KernelFloor", gap=NAN, time=2.0, n_kernel_evals=1e3, n_support=NAN),
    ]
    (floor,) = reference_times(results_from(*rows)).to_dict("records")
    values = 100 * 40 - 40**2 / 2
    assert floor["support"] == 40
    assert floor["values"] == values
    assert floor["time"] == pytest.approx(values * 2e-3)
    table = compared(results_from(*rows), [1e-6])
    assert table["solver"].tolist() == ["smo"]
    assert table["dense_ratio"].tolist() == pytest.approx([0.5 / (values * 2e-3)])


@pytest.mark.parametrize(
    ("target", "targets"), [(1e-9, [1e-3, 1e-6, 1e-9]), (1e-8, [1e-3, 1e-6, 1e-8]), (1e-2, [1e-2])]
)
def test_targets_end_at_the_one_of_the_experiment(target, targets):
    table = times(results_from(timed(target_gap=target)))
    assert table["target"].tolist() == targets


def test_solvers_that_make_passes_are_compared_by_the_distance_to_the_bound():
    def passing(solver, time, epochs, distance):
        params = json.dumps({"epochs": epochs})
        return timed(solver, time=time, gap=0.9, params=params, suboptimality=2.0 * distance)

    rows = [timed("dual_coordinate_descent", time=0.1, gap=1e-9)]
    for solver, factor in (("pegasos", 1.0), ("sgd", 4.0)):
        rows += [passing(solver, factor * k, k, 5e-3 / k) for k in (1, 10)]
    table = compared(results_from(*rows), [1e-3])
    assert cell(table, 1e-3, "sgd")["ratio"] == 4.0
    assert cell(table, 1e-3, "sgd")["ours"] == "pegasos"
    assert cell(table, 1e-3, "sgd")["single"]
    assert cell(table, 1e-3, "pegasos")["ours"] == "dual_coordinate_descent"


def test_wrong_or_uncertified_answers_reach_no_target():
    rows = [timed(time=2.0), timed("libsvm", time=1.0, gap=1e-9, verdict="uncertified")]
    table = compared(results_from(*rows), [1e-3])
    assert cell(table, 1e-3, "libsvm")["outcome"] != "reached"


def test_a_gap_that_float64_does_not_resolve_to_its_target_counts_for_looser_ones():
    rows = [timed(time=2.0), timed("libsvm", gap=2e-7, verdict="uncertified", target_gap=1e-9)]
    table = compared(results_from(*rows), [1e-6, 1e-9])
    assert cell(table, 1e-6, "libsvm")["outcome"] == "reached"
    assert cell(table, 1e-9, "libsvm")["outcome"] != "reached"


def test_a_baseline_fails_only_at_requested_targets():
    rows = [timed(gap=1e-9)]
    rows += [timed("libsvm", tol=t, gap=t / 10) for t in (1e-2, 1e-3, 1e-4)]
    rows += [timed("one_dal", tol=t, gap=2e-5) for t in (1e-3, 1e-4)]
    table = compared(results_from(*rows), [1e-6])
    assert missed_target(table).tolist() == [False, False, True]
    assert [missed_text(row) for row in table.to_dict("records")[1:]] == ["", "– stalls at 2.0e-05"]


def test_a_solver_without_a_smaller_tolerance_than_the_target_was_not_asked_for_it():
    rows = [timed(gap=1e-9)]
    rows += [timed("libsvm", tol=t, gap=10 * t) for t in (1e-2, 1e-4, 1e-6)]  # 1e-6 was asked for
    rows += [timed("quadprog", gap=1e-5, params="{}")]  # one run: it has no tolerance
    rows += [timed("one_dal", tol=1e-2, gap=NAN)]  # no gap that might fall
    rows += [timed("sgd", params=json.dumps({"epochs": k}), suboptimality=0.1 / k) for k in (1, 10)]
    table = times(results_from(*rows), [1e-6])
    assert missed_target(table).tolist() == [False, True, True, True, False]
    texts = [missed_text(row) for row in table.to_dict("records")[1:]]
    assert texts == ["– stalls at 1.0e-05", "– stalls at 1.0e-05", "– no certified answer", ""]


def test_a_search_requests_every_target():
    """Whatever the solver claimed, and whether its gap still fell or there was none."""
    falling = [timed("libsvm", tol=t, gap=t, claimed="stopped", search="x") for t in (1e-2, 1e-3)]
    wrong = [timed("one_dal", tol=1e-3, gap=0.5, verdict="wrong", search="y")]
    table = compared(results_from(timed(gap=1e-9), *falling, *wrong), [1e-6])
    assert missed_target(table).tolist() == [False, True, True]
    texts = [missed_text(row) for row in table.to_dict("records")[1:]]
    assert texts == ["– stalls at 1.0e-03", "– no certified answer"]


def test_a_target_is_reached_at_the_first_evaluation_within_it(tmp_path):
    row = run(relative_gap=1e-7, verdict="solved", time_solve=1.0)
    folder = stored(
        tmp_path / "x", [row], {0: trace_of_gaps(row, [1, 1e-4, 1e-7], [0.1, 0.2, 0.9])}
    )
    recorded = RunFolder(folder)
    table = times(Results(recorded.results), traces=recorded.traces)
    assert table.set_index("target")["time"][[1e-3, 1e-6]].tolist() == [0.2, 0.9]


def test_a_crash_reaches_no_target_but_a_proof_of_infeasibility_does(tmp_path):
    nothing = dict.fromkeys(["relative_gap", "primal_objective", "dual_objective"])
    rows = [run("q", "a", status="infeasible", verdict="infeasible", **nothing), crashed("q", "b")]
    folder = stored(tmp_path / "x", rows)
    evaluations = pd.DataFrame(columns=[column.name for column in FILES["traces.csv"]])
    for traces in (evaluations, None):
        table = times(Results(RunFolder(folder).results), traces=traces)
        assert table.groupby("solver")["time"].max()["a"] == 0.5
        assert table[table["solver"] == "b"]["time"].isna().all()
        assert set(table[table["solver"] == "b"]["outcome"]) == {"crashed"}


def test_times_are_medians_and_gaps_the_worst_of_the_repetitions():
    rows = [
        timed(time=t, gap=g, repetition=i)
        for i, (t, g) in enumerate([(1, 1e-5), (9, 2e-3), (2, 0)])
    ]
    (row,) = configurations(results_from(*rows).by_optimum).to_dict("records")
    assert (row["time"], row["gap"], row["runs"]) == (2.0, 2e-3, 3)


def test_of_several_limits_on_iterations_the_one_that_reached_the_target_counts():
    rows = [
        timed(time=t, gap=g, params=json.dumps({"tol": 1e-9, "max_iter": max_iter}))
        for max_iter, t, g in ((100, 1.0, 0.1), (10000, 5.0, 1e-5))
    ]
    reached = cell(times(results_from(*rows), [1e-3]), 1e-3, "smo")
    assert (reached["time"], reached["setting"]) == (5.0, "tol 1e-09, max_iter 10000")


def test_a_path_with_a_looser_target_does_not_fail_at_the_tightest_one():
    rows = [run("p", target_gap=1e-2, relative_gap=9e-3)]
    rows += [run("q", target_gap=1e-3, relative_gap=9e-4)]
    table = times(results_from(*rows))
    assert table.groupby("target")["problem"].apply(list).to_dict()[1e-3] == ["q"]


def test_a_distance_at_an_optimum_of_0_is_in_the_unit_of_the_gap():
    columns = {"primal_objective": 2e-16, "dual_objective": -4e-13, "gap": 4e-13}
    row = run(relative_gap=4e-13, suboptimality=4e-13, **columns)
    assert relative_suboptimality(results_from(row).table)[0] == pytest.approx(
        4e-13, rel=1e-9, abs=0.0
    )
