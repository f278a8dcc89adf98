"""Certificates against exact optima: a hundred problems here, a hundred thousand by a command.

make differential
"""

import pytest
from tests.differential import judging
from tests.differential.run import compared, fault_report, judge_all, written
from tests.halves import quick_cases

SEED = 20_260
PROBLEMS = 100  # a test, of some two seconds
MOST_SHOWN = 10
FOUND = (15_768, 23_371, 37_762, 45_494, 86_724, 98_658)  # that once had faults, of seed 0


def check(numbers, seed=SEED):
    faulty = [f for f in judge_all(seed, numbers, 1) if f.faults]
    report = "\n".join(fault_report(seed, judgement) for judgement in faulty[:MOST_SHOWN])
    assert not faulty, f"{len(faulty)} of {len(numbers)} problems have faults:\n{report}"


@pytest.mark.parametrize("first", quick_cases(range(0, 80 * PROBLEMS, PROBLEMS), [0]))
def test_every_bound_and_verdict_holds(first):
    check(range(first, first + PROBLEMS))


def test_fixed_bugs_stay_fixed():
    check(FOUND, seed=0)
    check((146,), seed=4711)  # targets that differ by three of their last digits


def test_a_failing_check_counts_against_its_problem_only(monkeypatch):
    def failing(problem):
        raise ValueError("cannot convert NaN to integer ratio")

    monkeypatch.setattr(judging, "exact_reference", failing)
    judgements = list(judge_all(SEED, range(2), 1))
    assert [judgement.number for judgement in judgements] == [0, 1]
    assert all("cannot convert NaN" in fault_report(SEED, judgement) for judgement in judgements)


def test_a_verdict_that_differs_from_a_recorded_one_is_reported(tmp_path):
    judgements, file = list(judge_all(SEED, range(3), 1)), tmp_path / "said.jsonl"
    file.write_text(written(judgements), encoding="utf-8")
    differences, count = compared(judgements, file)
    assert differences == []
    assert set(count) == {"equal verdicts", "equal bounds", "equal reasons"}
    judgements[1].statements[0] = (
        judgements[1].statements[0]._replace(verdict="wrong", upper=(2.0).hex())
    )
    differences, count = compared(judgements, file)
    assert len(differences) == count["other verdicts"] == count["other bounds"] == 1
