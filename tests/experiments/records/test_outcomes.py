"""One table of outcomes: which one is a run's, which of several is the worst, and why a run stopped."""

import itertools
from typing import get_args

import pytest

from dualgap.experiments.records.outcomes import (
    OUTCOMES,
    STOP_REASONS,
    outcome_of,
    stop_reason,
    worst,
)
from dualgap.problems.forms import Claim
from dualgap.solvers import Status
from dualgap.solvers.running.verdicts import Verdict


@pytest.mark.parametrize(
    ("status", "verdict", "outcome"),
    [
        ("finished", "solved", "solved"),
        ("time_limit", "solved", "solved"),
        ("time_limit", "inaccurate", "time_limit"),
        ("max_iter", "uncertified", "max_iter"),
        ("max_iter", "wrong", "wrong"),
        ("unsupported", "uncertified", "unsupported"),
        ("crashed", float("nan"), "crashed"),
        ("infeasible", "infeasible", "infeasible"),
        ("infeasible", "uncertified", "uncertified"),
        ("finished", "inaccurate", "inaccurate"),
    ],
)
def test_the_outcome_is_a_decisive_verdict_or_an_external_end(status, verdict, outcome):
    assert outcome_of(status, verdict) == outcome


def test_every_status_with_every_verdict_is_in_the_table():
    pairs = itertools.product(map(str, Status), get_args(Verdict))
    assert {outcome_of(*pair) for pair in pairs} <= set(OUTCOMES)


def test_the_worst_outcome_counts_and_final_outcomes_are_never_worst():
    assert worst(["solved", "crashed", "wrong"]) == "wrong"
    assert worst(["inaccurate", "time_limit"]) == "time_limit"
    for name, kind in OUTCOMES.items():
        assert worst(["solved", name, "infeasible"]) == ("solved" if kind.final else name)


def test_failing_outcomes_sort_first_and_drawn_ones_have_distinct_signs():
    fails = [kind.fails for kind in OUTCOMES.values()]
    assert fails == sorted(fails, reverse=True)
    assert not any(kind.final for kind in OUTCOMES.values() if kind.fails or not kind.ran)
    undrawn = ("stopped_at_tolerance", "dense_reference")
    drawn = [kind.sign for kind in OUTCOMES.values() if kind.name not in undrawn]
    assert len(set(drawn)) == len(drawn)


def ended(status="finished", claimed="stopped", params="{}", iterations=10.0, gap=1e-3):
    run = {"status": status, "claimed": claimed, "params": params, "iterations": iterations}
    return stop_reason(run | {"relative_gap": gap, "target_gap": 1e-6})


def test_why_a_run_stopped_is_one_word_of_a_closed_vocabulary():
    statuses = {ended(str(status), claim) for status in Status for claim in get_args(Claim)}
    assert statuses | {"iteration_limit", "gap_reached"} == set(STOP_REASONS)
    assert ended("a status of another release") == ended(float("nan")) == "error"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"claimed": "optimal", "gap": 0.5}, "tolerance_reached"),
        ({"params": '{"max_iter": 10}', "gap": 1e-9}, "iteration_limit"),
        ({"params": '{"max_iter": 11}', "gap": 1e-9}, "gap_reached"),
        ({"params": '{"max_iter": null, "epochs": 3}'}, "iteration_limit"),
        ({"claimed": "none", "params": '{"max_iter": 10}'}, "no_claim"),
        ({"claimed": "none", "gap": 1e-7}, "gap_reached"),
        ({"iterations": float("nan"), "params": '{"max_iter": 10}'}, "no_claim"),
        ({"params": float("nan"), "gap": float("nan")}, "no_claim"),
        ({"params": "[1]"}, "no_claim"),
        ({"params": '{"max_iter": "x"}'}, "no_claim"),
    ],
)
def test_a_run_that_ended_by_itself_stopped_at_its_tolerance_or_limit_or_without_a_claim(
    changes, reason
):
    assert ended(**changes) == reason
