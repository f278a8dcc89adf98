"""One table of outcomes: which one is a run's, and which of several is the worst."""

import itertools
from typing import get_args

import pytest

from dualgap.experiments.records.outcomes import OUTCOMES, outcome_of, worst
from dualgap.solvers import Status
from dualgap.solvers.running.solution import Verdict


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
