"""Several classes by binary problems: the subproblems, the sum of their certificates, and the votes."""

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    Fisher,
    Linear,
    OneVsOne,
    OneVsRest,
    Point,
    Precomputed,
    RegularizedERM,
    Sigmoid,
    SoftMarginDual,
    Unsupported,
    certify,
    datasets,
    reduce,
)
from dualgap.problems.forms import BoxQP

IRIS = datasets.load("iris", standardize=True, multiclass=True)
STRATEGIES = (OneVsRest, OneVsOne)
BOUNDS = ("primal_objective", "dual_objective", "gap")


def feasible(problem, seed=0) -> np.ndarray:
    """Return α inside the box for the samples of each subproblem; certifying projects it."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, problem.C, (problem.n, problem.outputs)) * np.abs(problem.signs)


def test_parts_are_the_binary_problems_of_each_strategy():
    ovr, one = OneVsRest(IRIS.X, IRIS.y), OneVsOne(IRIS.X, IRIS.y)
    assert [part.name for part in ovr.parts] == [f"class {k} against the rest" for k in range(3)]
    assert one.pairs == [(0, 1), (0, 2), (1, 2)]
    for k, part in enumerate(ovr.parts):
        assert np.array_equal(part.problem.y, np.where(IRIS.y == k, 1.0, -1.0))
        assert part.problem.X is ovr.X  # not copied
    for (positive, negative), part in zip(one.pairs, one.parts, strict=True):
        labels = IRIS.y[part.rows]
        assert set(labels) == {positive, negative}
        assert np.array_equal(part.problem.X, IRIS.X[part.rows])
        assert np.array_equal(part.problem.y, np.where(labels == positive, 1.0, -1.0))


def test_parts_carry_the_weights_of_their_samples():
    C = np.random.default_rng(0).uniform(0.5, 2.0, IRIS.n)
    for part in OneVsOne(IRIS.X, IRIS.y, C).parts:
        assert np.array_equal(part.problem.C, C[part.rows])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_certificate_is_the_sum_of_the_binary_ones(strategy, kernel, loss):
    problem = strategy(IRIS.X, IRIS.y, 0.7, kernel, loss=loss)
    alpha = feasible(problem)
    joint = certify(problem, Point(alpha))
    part_c = [
        SoftMarginDual(part.problem.X, part.problem.y, 0.7, kernel)
        if loss == "hinge"
        else RegularizedERM(
            part.problem.X, part.problem.y, 1 / (0.7 * part.rows.size), loss, kernel, True
        )
        for part in problem.parts
    ]
    each = [
        certify(binary, Point(alpha[part.rows, j]))
        for j, (binary, part) in enumerate(zip(part_c, problem.parts, strict=True))
    ]
    for name in BOUNDS:
        total = sum(getattr(c, name) for c in each)
        assert np.isclose(getattr(joint, name), total, rtol=1e-12)
        assert [getattr(c, name) for c in joint.parts] == [getattr(c, name) for c in each]
    assert joint.dual_objective <= joint.primal_objective
    assert joint.relative_gap == pytest.approx(joint.gap / joint.primal_objective)
    assert joint.point.alpha.shape == alpha.shape
    assert (joint.point.alpha[problem.signs == 0] == 0).all()
    assert joint.point.b.shape == (problem.outputs,)


def test_primal_weights_bound_every_subproblem_from_above():
    problem = OneVsOne(IRIS.X, IRIS.y)
    w = np.random.default_rng(0).standard_normal((problem.d, problem.outputs))
    for point in (Point(None, w), Point(feasible(problem), w)):
        joint = certify(problem, point)
        part_c = [
            certify(part.problem, Point(w=w[:, j])).primal_objective
            for j, part in enumerate(problem.parts)
        ]
        assert np.isclose(joint.primal_objective, sum(part_c))
        assert np.array_equal(joint.point.w, w)


def test_the_sum_lacks_a_bound_if_a_subproblem_does_and_names_it():
    problem = OneVsOne(IRIS.X, IRIS.y, kernel=Sigmoid(1.0, -1.0))
    joint = certify(problem, Point(feasible(problem)))
    assert np.isnan(joint.gap)
    assert joint.reason.startswith("class 0 against 1: the kernel is indefinite")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_precomputed_kernel_is_the_kernel_itself(strategy):
    problem = strategy(IRIS.X, IRIS.y, kernel=RBF(0.5))
    stored = strategy(RBF(0.5)(IRIS.X, IRIS.X), IRIS.y, kernel=0.5 * (2.0 * Precomputed()))
    point = Point(feasible(problem))
    bounds = [certify(p, point) for p in (problem, stored)]
    assert np.isclose(bounds[0].gap, bounds[1].gap)


def test_a_kernel_that_is_fitted_is_fitted_once_for_all_parts():
    problem = OneVsOne(IRIS.X, IRIS.y, kernel=Fisher(2))
    assert {repr(part.problem.kernel) for part in problem.parts} == {repr(problem.kernel)}


def test_strategies_are_different_problems_and_votes_are_not():
    ids = {
        p.family_hash
        for p in (
            OneVsRest(IRIS.X, IRIS.y),
            OneVsOne(IRIS.X, IRIS.y),
            OneVsOne(IRIS.X, IRIS.y, loss="logistic"),
        )
    }
    assert len(ids) == 3
    assert OneVsOne(IRIS.X, IRIS.y, voting="soccer").family_hash in ids


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_classes_are_the_binary_problem(strategy):
    data = datasets.load("two_gaussians", n=40)
    problem = strategy(data.X, (data.y > 0).astype(float))
    binary = SoftMarginDual(data.X, -data.y)  # class 0 is on the positive side
    alpha = np.random.default_rng(0).uniform(0, 1, 40)
    joint = certify(problem, Point(np.column_stack([alpha] * problem.outputs)))
    assert np.isclose(joint.gap, problem.outputs * certify(binary, Point(alpha)).gap)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.where(IRIS.y == 1, 3.0, IRIS.y)}, "y: class 1 has no samples"),
        ({"y": np.where(IRIS.y == 0, 1.0, -1.0)}, "y: classes must be 0, 1"),
        ({"loss": "squared"}, "loss: must be hinge"),
        ({"loss": "perceptron"}, "loss: the perceptron's risk"),
        ({"voting": "cricket"}, "voting: must be one of majority, soccer, margin"),
        ({"C": -1.0}, "C: must be"),
        ({"C": np.ones(IRIS.n), "loss": "logistic"}, "C: the logistic loss needs one number"),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bad_input_names_its_argument(strategy, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        strategy(**{"X": IRIS.X, "y": IRIS.y, **changes})


def test_a_multiclass_problem_has_no_single_form():
    with pytest.raises(Unsupported, match="parts"):
        reduce(OneVsOne(IRIS.X, IRIS.y), BoxQP)


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
def test_votes_of_one_vs_one_follow_the_rule(voting, votes, tied):
    problem = three(OneVsOne, voting=voting)
    assert np.allclose(problem.votes(TABLE), votes)
    assert np.array_equal(problem.ambiguous(TABLE), np.array(tied, dtype=bool))
    assert np.allclose(three(OneVsOne).votes(TABLE, voting), votes)


def test_margins_break_ties_but_never_outweigh_a_vote():
    scores = three(OneVsOne).combine(TABLE)
    assert scores[2].argmax() == 1  # one vote each, the margins are 0.3, 2.5, −2.8
    assert scores[3].argmax() == 1  # two votes, though class 0 has the larger margins
    assert np.abs(scores - three(OneVsOne).votes(TABLE)).max() < 0.5


def test_one_vs_rest_is_ambiguous_if_no_class_or_several_claim_a_sample():
    f = np.array([[2.0, -1.0, -1.0], [-0.2, -0.1, -3.0], [0.5, 1.5, -1.0], [0.5, 0.2, -1.0]])
    problem = three(OneVsRest)
    assert problem.votes(f).tolist() == [[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert problem.ambiguous(f).tolist() == [False, True, True, True]
    assert problem.votes(f, "soccer").tolist() == [[3, 0, 0], [1, 1, 0], [1, 3, 0], [1, 1, 0]]
    assert problem.ambiguous(f, "soccer").tolist() == [False, True, False, True]
    assert not problem.ambiguous(f, "margin").any()


def test_one_vs_rest_predicts_the_largest_output_under_every_rule():
    f = np.random.default_rng(0).normal(0, 2, (500, 3))
    for voting in ("majority", "soccer", "margin"):
        predicted = three(OneVsRest).combine(f, voting).argmax(axis=1)
        assert np.array_equal(predicted, f.argmax(axis=1))


def test_rounding_on_the_margin_does_not_change_a_soccer_score():
    problem = three(OneVsOne, voting="soccer")
    noise = 1e-5 * np.random.default_rng(0).standard_normal(TABLE.shape)
    close = TABLE[[0, 5]]
    assert np.array_equal(problem.votes(close), problem.votes(close + noise[[0, 5]]))
