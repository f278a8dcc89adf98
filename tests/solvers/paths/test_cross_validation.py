"""The cross-validation error of every C: that of the optima is in the band, wherever one looks."""

from dataclasses import replace

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    HingeERM,
    Linear,
    Precomputed,
    RegularizedERM,
    SoftMarginDual,
    SVRDual,
)
from dualgap.problems.answers.interpolation import with_value
from dualgap.problems.datasets.steps import fold_rows
from dualgap.problems.gram.tuning import GramTuning
from dualgap.solvers import NoPath, cross_validate, select, solve, solve_path

RNG = np.random.default_rng(3)
N = 60
X = RNG.standard_normal((N, 3))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * RNG.standard_normal(N) > 0, 1.0, -1.0)
TARGETS = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(N)
WEIGHTS = RNG.uniform(0.5, 2.0, N)
K = RBF(0.3)(X, X)
FOLLOWED = {
    "kernel": (SoftMarginDual(X, Y, kernel=RBF(0.3)), {"C": (0.05, 5.0)}),
    "linear": (SoftMarginDual(X, Y), {"C": (0.05, 1.0)}),
    "weights": (SoftMarginDual(X, Y, C=WEIGHTS, kernel=RBF(0.3)), {"C": (0.05, 5.0)}),
    "Gram matrix": (SoftMarginDual(K, Y, kernel=Precomputed()), {"C": (0.05, 5.0)}),
    "risk": (HingeERM(X, Y, 1.0, intercept=True), {"lam": (1e-2, 1.0)}),
    "regression": (SVRDual(X, TARGETS, 1.0, 0.1, RBF(0.3)), {"C": (0.05, 2.0)}),
    "tube": (SVRDual(X, TARGETS, 1.0, 0.1, RBF(0.3)), {"epsilon": (0.1, 0.4), "gap": 0.02}),
}


def error_of_optima(problem, folds: int, parameter: str, value: float) -> float:
    """Return the cross-validation error at one value, from solves of each fold that share nothing."""
    total = 0.0
    labels = None if problem.risk.loss.is_regression else problem.y
    for k in range(folds):
        train, held = fold_rows(np.arange(problem.n), labels, folds, k, 0)
        gram = isinstance(problem.kernel, Precomputed)
        fields = {"X": problem.X[np.ix_(train, train)] if gram else problem.X[train]}
        fields |= (
            {"C": value * problem.C[train] / problem.C.max()} if np.ndim(C_of(problem)) else {}
        )
        fold = replace(problem, **fields, y=problem.y[train])
        fold = fold if np.ndim(C_of(problem)) else with_value(fold, parameter, value)
        answer = solve(fold, target_gap=1e-9)
        new = problem.X[np.ix_(held, train)] if gram else problem.X[held]
        errors = problem.task.errors(answer.decision_function(new), problem.y[held])
        total += float(errors.sum())
    return total / problem.n


def C_of(problem: object) -> object:
    return getattr(problem, "C", 1.0)


def outside(name: str, values: int, folds: int = 5) -> list[tuple[float, float]]:
    """Return the values at which the error of the optima is not in the band that is stated."""
    problem, kwargs = FOLLOWED[name]
    result = cross_validate(problem, folds=folds, **{"gap": 3e-3, **kwargs})
    assert result.table["from"].iloc[0] == pytest.approx(result.low)
    assert result.table["to"].iloc[-1] == pytest.approx(result.high)
    assert (result.table["least"] >= result.lower_bound).all()
    wrong = []
    for value in np.geomspace(result.low, result.high, values + 2)[1:-1]:
        error, row = error_of_optima(problem, folds, result.parameter, value), result.at(value)
        if not (1 - 1e-9) * row["least"] - 1e-12 <= error <= (1 + 1e-9) * row["most"] + 1e-12:
            wrong.append((value, error))
    return wrong


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["weights", "Gram matrix", "risk", "regression"])
def test_the_error_of_the_optima_is_in_the_band(name: str) -> None:
    assert outside(name, 4, folds=3) == []


@pytest.mark.parametrize("name", ["kernel", "weights", "Gram matrix", "tube"])
def test_the_optima_are_in_the_band_where_folds_share_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "dualgap.solvers.paths.cross_validation.TUNING"
    monkeypatch.setattr(module, GramTuning(max_dense_samples=N - 1))
    assert outside(name, 2) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FOLLOWED)
def test_the_errors_of_500_solves_are_in_the_band(name: str) -> None:
    assert outside(name, 15) == []  # of five folds each


def test_answers_and_band_equal_those_of_separate_folds() -> None:
    """What comes from one shared Gram matrix is what `select` finds with kernel values of its own."""
    problem, kwargs = FOLLOWED["kernel"][0], {"C": (1.0, 1.5)}
    result = cross_validate(problem, folds=3, **kwargs)
    value, errors = 1.234, []
    for fold in result.folds:
        alone = replace(problem, X=X[fold.train], y=Y[fold.train])
        fields = select(solve_path(alone, **kwargs), X[fold.held_out], Y[fold.held_out]).table
        errors.append(fields[fields["to"] >= value].iloc[0] * fold.held_out.size / N)
    row = result.at(value)
    assert row["error"] == pytest.approx(sum(fields["error"] for fields in errors))
    assert sum(fields["least"] for fields in errors) <= row["least"] + 1e-12
    assert row["most"] <= sum(fields["most"] for fields in errors) + 1e-12


def test_each_kernel_value_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, values = [], RBF.__call__

    def counting(self: RBF, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        counted.append(len(A) * len(B))
        return values(self, A, B)

    monkeypatch.setattr(RBF, "__call__", counting)
    result = cross_validate(SoftMarginDual(X, Y, kernel=RBF(0.3)), C=(0.1, 1.0), folds=3)
    assert sum(counted) <= N**2
    assert sum(len(fold.path.answers) for fold in result.folds) > 15


def test_the_statement_names_the_value_and_a_lower_bound_for_all_others() -> None:
    result = cross_validate(FOLLOWED["kernel"][0], C=(0.05, 5.0), folds=2, gap=1e-2)
    assert result.error == result.table["error"].min()
    assert result.at(result.value)["error"] == result.error
    assert result.lower_bound <= result.error
    assert f"at C = {result.value:.6g} the answers have a cross-validation error of" in repr(result)
    assert result.statement.endswith(f"has optima with an error below {result.lower_bound:.6g}")
    with pytest.raises(ValueError, match=r"C: must be within \[0.05, 5\]"):
        result.at(6.0)


def test_folds_may_be_those_of_a_splitter() -> None:
    order = RNG.permutation(N)
    splits = [(order[20:], order[:20]), (order[:40], order[40:])]
    result = cross_validate(SoftMarginDual(X, Y), C=(0.1, 0.2), folds=splits)
    assert [fold.held_out.size for fold in result.folds] == [20, 20]


def test_the_ends_are_exact_if_the_largest_weight_is_in_no_training_set() -> None:
    C = np.append(np.ones(N - 1), 1.3)
    low, ratio = 0.1, 1 / 1.3
    assert ratio * low / ratio > low
    half = N // 2
    splits = [(np.arange(half, dtype=np.uint8), np.arange(half, N, dtype=np.uint8))]
    result = cross_validate(SoftMarginDual(X, Y, C, RBF(0.3)), (low, 5.0), splits)
    assert (result.at(low)["from"], result.at(5.0)["to"]) == (low, 5.0)


@pytest.mark.parametrize(
    ("problem", "kwargs", "message"),
    [
        (FOLLOWED["kernel"][0], {"folds": 1}, "folds: must be a whole number of 2 or more"),
        (FOLLOWED["kernel"][0], {"folds": 50}, "folds: 50 parts need as many rows of each class"),
        (FOLLOWED["kernel"][0], {"folds": []}, "folds: must be 2 or more"),
        (FOLLOWED["kernel"][0], {"folds": [([0, 1], [1])]}, "folds: each must be a pair"),
        (FOLLOWED["kernel"][0], {"folds": [([0], [N])]}, "folds: each must be a pair"),
        (FOLLOWED["kernel"][0], {"folds": [([0],)]}, "folds: each must be a pair"),
        (FOLLOWED["kernel"][0], {"C": (2.0, 1.0)}, "C: must be an interval"),
    ],
)
def test_unsupported_cross_validations_are_refused(problem, kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cross_validate(problem, **({"C": (0.1, 0.2)} | kwargs))


def test_an_intercept_that_cannot_be_enclosed_is_refused() -> None:
    risk = RegularizedERM(X, Y, 0.1, intercept=True)
    with pytest.raises(ValueError, match="logistic loss is not enclosed"):
        cross_validate(risk, lam=(0.1, 0.2))


def test_the_time_limit_holds_for_all_folds_together() -> None:
    with pytest.raises(NoPath, match="the time limit of"):
        cross_validate(SoftMarginDual(X, Y, kernel=Linear()), C=(0.1, 10.0), time_limit=1e-4)
