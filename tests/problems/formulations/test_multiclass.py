"""Several classes by binary problems: the subproblems, the sum of their certificates, and the votes."""

import numpy as np
import pytest

from problems import (
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
from problems.forms import BoxQP

IRIS = datasets.load("iris", standardize=True, multiclass=True)
STRATEGIES = (OneVsRest, OneVsOne)
BOUNDS = ("primal_objective", "dual_objective", "gap")


def feasible(problem, seed=0) -> np.ndarray:
    """Return α inside the box for the samples of each subproblem; certifying projects it."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0, problem.C, (problem.n, problem.outputs)) * np.abs(problem.signs)


def test_subproblems_are_the_binary_problems_of_each_strategy():
    rest, one = OneVsRest(IRIS.X, IRIS.y), OneVsOne(IRIS.X, IRIS.y)
    assert [sub.name for sub in rest.subproblems] == [
        f"class {k} against the rest" for k in range(3)
    ]
    assert one.pairs == [(0, 1), (0, 2), (1, 2)]
    for sub in rest.subproblems:
        assert np.array_equal(sub.problem.y, np.where(IRIS.y == sub.positive, 1.0, -1.0))
        assert sub.problem.X is rest.X  # not copied
    for sub in one.subproblems:
        labels = IRIS.y[sub.rows]
        assert set(labels) == {sub.positive, sub.negative}
        assert np.array_equal(sub.problem.X, IRIS.X[sub.rows])
        assert np.array_equal(sub.problem.y, np.where(labels == sub.positive, 1.0, -1.0))


def test_weights_of_samples_go_with_them():
    C = np.random.default_rng(0).uniform(0.5, 2.0, IRIS.n)
    for sub in OneVsOne(IRIS.X, IRIS.y, C).subproblems:
        assert np.array_equal(sub.problem.C, C[sub.rows])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_certificate_is_the_sum_of_the_binary_ones(strategy, kernel, loss):
    problem = strategy(IRIS.X, IRIS.y, 0.7, kernel, loss=loss)
    alpha = feasible(problem)
    whole = certify(problem, Point(alpha))
    own = [
        SoftMarginDual(sub.problem.X, sub.problem.y, 0.7, kernel)
        if loss == "hinge"
        else RegularizedERM(
            sub.problem.X, sub.problem.y, 1 / (0.7 * sub.rows.size), loss, kernel, True
        )
        for sub in problem.subproblems
    ]
    each = [
        certify(binary, Point(alpha[sub.rows, j]))
        for j, (binary, sub) in enumerate(zip(own, problem.subproblems, strict=True))
    ]
    for name in BOUNDS:
        total = sum(getattr(c, name) for c in each)
        assert np.isclose(getattr(whole, name), total, rtol=1e-12)
        assert [getattr(c, name) for c in whole.parts] == [getattr(c, name) for c in each]
    assert whole.dual_objective <= whole.primal_objective
    assert whole.relative_gap == pytest.approx(whole.gap / whole.primal_objective)
    assert whole.point.alpha.shape == alpha.shape
    assert (whole.point.alpha[problem.signs == 0] == 0).all()
    assert whole.point.b.shape == (problem.outputs,)


def test_own_weights_bound_every_subproblem_from_above():
    problem = OneVsOne(IRIS.X, IRIS.y)
    w = np.random.default_rng(0).standard_normal((problem.d, problem.outputs))
    for point in (Point(None, w), Point(feasible(problem), w)):
        whole = certify(problem, point)
        own = [
            certify(sub.problem, Point(w=w[:, j])).primal_objective
            for j, sub in enumerate(problem.subproblems)
        ]
        assert np.isclose(whole.primal_objective, sum(own))
        assert np.array_equal(whole.point.w, w)


def test_proven_bounds_of_the_sum_enclose_the_float_ones():
    pytest.importorskip("flint")
    problem = OneVsOne(IRIS.X, IRIS.y)
    point = Point(feasible(problem))
    proven, plain = certify(problem, point, rigorous=True), certify(problem, point)
    assert proven.bound_source == "proven: alpha"
    assert proven.primal_objective > sum(c.primal_objective for c in proven.parts) * (1 - 1e-15)
    assert np.isclose(proven.primal_objective, plain.primal_objective, rtol=1e-9)
    assert np.isclose(proven.dual_objective, plain.dual_objective, rtol=1e-9)
    assert proven.gap >= proven.primal_objective - proven.dual_objective - 1e-9


def test_a_missing_bound_of_one_subproblem_is_one_of_the_sum_and_names_it():
    problem = OneVsOne(IRIS.X, IRIS.y, kernel=Sigmoid(1.0, -1.0))
    whole = certify(problem, Point(feasible(problem)))
    assert np.isnan(whole.gap)
    assert whole.reason.startswith("class 0 against 1: indefinite kernel")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_precomputed_kernel_is_the_kernel_itself(strategy):
    problem = strategy(IRIS.X, IRIS.y, kernel=RBF(0.5))
    stored = strategy(RBF(0.5)(IRIS.X, IRIS.X), IRIS.y, kernel=0.5 * (2.0 * Precomputed()))
    point = Point(feasible(problem))
    bounds = [certify(p, point) for p in (problem, stored)]
    assert np.isclose(bounds[0].gap, bounds[1].gap)


def test_a_kernel_that_is_fitted_is_fitted_once_for_all_subproblems():
    problem = OneVsOne(IRIS.X, IRIS.y, kernel=Fisher(2))
    assert {repr(sub.problem.kernel) for sub in problem.subproblems} == {repr(problem.kernel)}


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
    whole = certify(problem, Point(np.column_stack([alpha] * problem.outputs)))
    assert np.isclose(whole.gap, problem.outputs * certify(binary, Point(alpha)).gap)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.where(IRIS.y == 1, 3.0, IRIS.y)}, "y: class 1 has no samples"),
        ({"y": np.where(IRIS.y == 0, 1.0, -1.0)}, "y: classes must be 0, 1"),
        ({"loss": "squared"}, "loss: must be hinge"),
        ({"loss": "perceptron"}, "loss: the perceptron's risk"),
        ({"voting": "cricket"}, "voting: must be one of majority, soccer, margin"),
        ({"C": -1.0}, "C: must be"),
        ({"C": np.ones(IRIS.n), "loss": "logistic"}, "C: the logistic loss takes one number"),
    ],
)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bad_input_names_its_argument(strategy, changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        strategy(**{"X": IRIS.X, "y": IRIS.y, **changes})


def test_the_whole_has_no_form():
    with pytest.raises(Unsupported, match="subproblems"):
        reduce(OneVsOne(IRIS.X, IRIS.y), BoxQP)
