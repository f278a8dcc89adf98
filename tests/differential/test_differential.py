"""Certificates against exact optima: thousands of problems here, a hundred thousand by a command.

make differential
"""

import pytest

from tests.differential.run import described, judge_all

SEED = 20_260
PROBLEMS = 2_000
MOST_SHOWN = 10


def check(numbers):
    faulty = [found for found in judge_all(SEED, numbers, 1) if found.faults]
    report = "\n".join(described(SEED, found) for found in faulty[:MOST_SHOWN])
    assert not faulty, f"{len(faulty)} of {len(numbers)} problems have faults:\n{report}"


def test_every_bound_and_verdict_holds():
    check(range(PROBLEMS))


@pytest.mark.exhaustive
def test_every_bound_and_verdict_holds_of_many_more():
    check(range(PROBLEMS, 10 * PROBLEMS))
