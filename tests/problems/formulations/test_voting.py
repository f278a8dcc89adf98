"""The vote on a sample's class: the three rules, their ties, and what is ambiguous."""

import numpy as np
import pytest

from problems import OneVsOne, OneVsRest


def three(strategy, **changes):
    """Return a problem of three classes with one sample each: outputs are given by hand."""
    return strategy(np.eye(3), np.arange(3.0), **changes)


# f of (0, 1), (0, 2), (1, 2)
TABLE = np.array(
    [
        [2.0, 3.0, 0.5],  # 0 beats both
        [0.5, 0.5, -2.0],  # 0 beats both by less than the margin, 2 beats 1
        [1.5, -1.2, 4.0],  # 0 beats 1 beats 2 beats 0
        [-0.1, 2.0, 0.2],  # 1 beats both, but not by the margin
        [0.0, 0.0, 0.0],
        [1.0, 1.0, -1.0],  # all on the margin
    ]
)


@pytest.mark.parametrize(
    ("voting", "votes", "tied"),
    [
        (
            "majority",
            [[2, 1, 0], [2, 0, 1], [1, 1, 1], [1, 2, 0], [2, 1, 0], [2, 0, 1]],
            [0, 0, 1, 0, 0, 0],
        ),
        (
            "soccer",
            [[6, 1, 1], [2, 1, 4], [3, 3, 3], [4, 2, 1], [2, 2, 2], [6, 0, 3]],
            [0, 0, 1, 0, 1, 0],
        ),
        (
            "margin",
            [
                [5, -1.5, -3.5],
                [1, -2.5, 1.5],
                [0.3, 2.5, -2.8],
                [1.9, 0.3, -2.2],
                [0, 0, 0],
                [2, -2, 0],
            ],
            [0, 0, 0, 0, 1, 0],
        ),
    ],
)
def test_votes_of_one_against_one_are_those_of_the_rule(voting, votes, tied):
    problem = three(OneVsOne, voting=voting)
    assert np.allclose(problem.votes(TABLE), votes)
    assert np.array_equal(problem.ambiguous(TABLE), np.array(tied, dtype=bool))
    assert np.allclose(three(OneVsOne).votes(TABLE, voting), votes)


def test_ties_go_to_the_largest_sum_of_margins_and_no_vote_is_outdone():
    scores = three(OneVsOne).combine(TABLE)
    assert scores[2].argmax() == 1  # one vote each, the margins are 0.3, 2.5, −2.8
    assert scores[3].argmax() == 1  # two votes, though class 0 has the larger margins
    assert np.abs(scores - three(OneVsOne).votes(TABLE)).max() < 0.5


def test_against_the_rest_a_sample_is_ambiguous_if_none_or_several_claim_it():
    f = np.array([[2.0, -1.0, -1.0], [-0.2, -0.1, -3.0], [0.5, 1.5, -1.0], [0.5, 0.2, -1.0]])
    problem = three(OneVsRest)
    assert problem.votes(f).tolist() == [[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert problem.ambiguous(f).tolist() == [False, True, True, True]
    assert problem.votes(f, "soccer").tolist() == [[3, 0, 0], [1, 1, 0], [1, 3, 0], [1, 1, 0]]
    assert problem.ambiguous(f, "soccer").tolist() == [False, True, False, True]
    assert not problem.ambiguous(f, "margin").any()


def test_against_the_rest_every_rule_predicts_the_largest_output():
    f = np.random.default_rng(0).normal(0, 2, (500, 3))
    for voting in ("majority", "soccer", "margin"):
        predicted = three(OneVsRest).combine(f, voting).argmax(axis=1)
        assert np.array_equal(predicted, f.argmax(axis=1))


def test_rounding_on_the_margin_does_not_change_a_soccer_score():
    problem = three(OneVsOne, voting="soccer")
    noise = 1e-5 * np.random.default_rng(0).standard_normal(TABLE.shape)
    near = TABLE[[0, 5]]
    assert np.array_equal(problem.votes(near), problem.votes(near + noise[[0, 5]]))
