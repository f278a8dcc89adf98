"""What matches the QP optimum passes, what does not is named."""

import math

import pandas as pd
import pytest
from tests.experiments.rows import labelled, run

from dualgap.experiments.analysis.verify import compare

ROW = run(primal_objective=1.0 + 1e-9, dual_objective=1.0, gap=1e-9, relative_gap=1e-9)
BOUNDS = ("primal_objective", "dual_objective", "gap", "relative_gap")
QP = [ROW | {"solver": "cvxopt_qp"}, ROW | {"solver": "cvxpy_qp", "relative_gap": 1e-8}]


def compared(rows, **options):
    return compare(pd.DataFrame(labelled(rows)), **options)


def verification(*rows):
    return compared([*QP, *rows])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dual_objective": 0.9, "objective": -0.9}, "differs by 1.0e-01"),
        ({"primal_objective": 1.1}, "differs by 1.0e-01"),
        ({"primal_objective": math.inf, "reason": "no bound"}, "no bound"),
        ({"status": "crashed", "dual_objective": math.nan, "reason": "boom"}, "boom"),
        ({"verdict": "infeasible"}, "infeasible, but the QP is solved"),
    ],
)
def test_a_different_answer_fails_with_its_reason(change, reason):
    result = verification(ROW | change)
    assert not result.passed
    assert reason in result.sentence
    assert "smo on p" in result.sentence


def test_the_tolerance_is_the_target_gap_and_the_sentence_names_its_option():
    loose = {"target_gap": 1e-2}
    rows = [row | loose for row in (*QP, ROW | {"dual_objective": 0.995})]
    runs = pd.DataFrame(labelled(rows))
    assert compare(runs).passed
    text = compare(runs, tolerance=1e-3).sentence
    assert "solved, differs by 5.0e-03 from the QP optimum, above the tolerance of 0.001." in text
    assert text.endswith(
        "The tolerance was set by --tolerance; a larger one accepts this difference"
    )
    missed = runs.assign(dual_objective=[1.0, 1.0, 0.9])
    text = "of 0.01. The tolerance is the experiment's target_gap; use --tolerance to change it"
    assert compare(missed).sentence.endswith(text)
    crashed = runs.assign(
        status=["finished", "finished", "crashed"], dual_objective=[1, 1, math.nan]
    )
    assert "--tolerance" not in compare(crashed).sentence


def test_a_run_that_is_solved_to_the_target_passes():
    gap = 0.5  # relative to the larger bound; the difference is relative to the optimum
    solved = {"primal_objective": 2.0, "gap": 1.0, "relative_gap": gap}
    assert compared([row | {"target_gap": gap} for row in (*QP, ROW | solved)]).passed


def test_an_optimum_of_zero_is_compared_in_the_unit_of_its_gap():
    columns = {"primal_objective": 1e-12, "dual_objective": -1e-12, "gap": 2e-12}
    runs = [row | columns | {"relative_gap": 2e-12} for row in (*QP, ROW)]  # relative to 1
    far = runs[2] | {"primal_objective": 1e-3, "gap": 1e-3, "relative_gap": 1e-3}
    assert compared(runs).passed
    assert "differs by 1.0e-03" in compared([*runs[:2], far]).sentence


def test_an_unsupported_pair_is_listed_and_passes():
    result = verification(ROW | {"status": "unsupported", "dual_objective": math.nan})
    assert result.passed
    assert [c.status for c in result.checks][-1] == "unsupported"


def test_contradictory_references_fail_all_solvers():
    contradiction = QP[1] | {"dual_objective": 1.1, "primal_objective": 1.2}
    result = compared([QP[0], contradiction, ROW])
    assert not any(check.passed for check in result.checks)
    assert "do not overlap" in result.sentence


def test_one_reference_is_not_enough():
    assert "needs both QP references" in compared([QP[0], ROW]).sentence


def test_a_verification_that_compares_nothing_fails():
    assert not compare(pd.DataFrame(columns=[*ROW])).passed


# -- bounds that are proven ------------------------------------------------------------------------

PROVEN = ROW | {"bound_source": "proven: alpha"}


def proven(**change):
    references = [PROVEN | {"solver": "cvxopt_qp"}, PROVEN | {"solver": "cvxpy_qp"}]
    return compared([*references, PROVEN | change], proven=True)


def test_disjoint_proven_intervals_fail_even_if_close():
    result = proven()
    assert result.passed
    assert "every bound is proven, and all agree" in result.sentence
    disjoint = {"dual_objective": 1.0 + 2e-9, "primal_objective": 1.0 + 3e-9}
    assert verification(ROW | disjoint).passed
    result = proven(**disjoint)
    assert not any(check.passed for check in result.checks)
    assert "smo proves [1.000000002, 1.000000003]" in result.checks[0].reason
    result = proven(bound_source="alpha")
    assert [check.passed for check in result.checks] == [True, True, False]
    assert "its bounds are not proven" in result.sentence


def test_a_difference_to_an_optimum_of_exactly_0_is_relative_to_the_scale_of_the_run():
    exact = {"primal_objective": 0.0, "dual_objective": 0.0, "gap": 0.0, "relative_gap": 0.0}
    close = {"primal_objective": 1e-7, "dual_objective": 0.0, "gap": 1e-7, "relative_gap": 1e-9}
    shifted = exact | {"primal_objective": 1e-7, "dual_objective": 1e-7}
    references = [row | exact for row in QP]
    assert compared([*references, ROW | close]).checks[-1].difference == pytest.approx(1e-9)
    assert not compared([*references, ROW | shifted]).passed


def test_a_verification_without_any_supported_run_fails():
    unsupported = {"status": "unsupported", "verdict": "uncertified", "reason": "no such file"}
    rows = [row | unsupported | dict.fromkeys(BOUNDS, math.nan) for row in (*QP, ROW)]
    result = compared(rows)
    assert not result.passed
    assert result.sentence == (
        "FAILED: nothing was compared, every run is unsupported: no such file"
    )


def test_a_verification_of_infeasible_problems_has_no_worst_difference():
    infeasible = {"verdict": "infeasible"} | dict.fromkeys(BOUNDS, math.inf)
    result = compared([row | infeasible for row in (*QP, ROW)])
    assert result.passed
    assert result.sentence == "passed; every problem is proven infeasible"
