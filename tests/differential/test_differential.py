"""Certificates against exact optima: two thousand problems here, a hundred thousand by a command.

make differential
"""

import pytest

from tests.differential.run import described, judge_all

SEED = 20_260
PROBLEMS = 250  # a test, of some three seconds
MOST_SHOWN = 10


def check(first):
    faulty = [f for f in judge_all(SEED, range(first, first + PROBLEMS), 1) if f.faults]
    report = "\n".join(described(SEED, found) for found in faulty[:MOST_SHOWN])
    assert not faulty, f"{len(faulty)} of {PROBLEMS} problems have faults:\n{report}"


@pytest.mark.parametrize("first", range(0, 8 * PROBLEMS, PROBLEMS))
def test_every_bound_and_verdict_holds(first):
    check(first)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(8 * PROBLEMS, 80 * PROBLEMS, PROBLEMS))
def test_every_bound_and_verdict_holds_of_many_more(first):
    check(first)
