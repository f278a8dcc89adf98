"""The best C on held-out samples: what is said of all other optima holds of each."""

import numpy as np
import pytest

from dualgap.problems import RBF, HingeERM, Precomputed, RegularizedERM, SoftMarginDual, SVRDual
from dualgap.solvers import select, solve, solve_path

RNG = np.random.default_rng(1)
X = RNG.standard_normal((160, 3))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * RNG.standard_normal(160) > 0, 1.0, -1.0)
TARGETS = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(160)
OLD, NEW = slice(None, 100), slice(100, None)
FOLLOWED = {
    "linear": (SoftMarginDual(X[OLD], Y[OLD]), {"C": (0.01, 10.0)}),
    "kernel": (SoftMarginDual(X[OLD], Y[OLD], kernel=RBF(0.3)), {"C": (0.01, 10.0)}),
    "risk": (HingeERM(X[OLD], Y[OLD], 1.0), {"lam": (1e-3, 1.0)}),
    "regression": (SVRDual(X[OLD], TARGETS[OLD], 1.0, 0.1, RBF(0.3)), {"C": (0.01, 10.0)}),
    "tube": (SVRDual(X[OLD], TARGETS[OLD], 1.0, 0.1), {"epsilon": (0.0, 0.5), "gap": 0.02}),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_error_of_every_optimum_is_within_the_stated_bounds(name: str) -> None:
    problem, interval = FOLLOWED[name]
    path = solve_path(problem, **{"gap": 3e-3, **interval})
    y = (TARGETS if problem.risk.loss.is_regression else Y)[NEW]
    selection = select(path, X[NEW], y)
    assert selection.error == selection.table["error"].min()
    assert selection.lower_bound <= selection.error
    for row in selection.table.iloc[[0, 3, selection.table["error"].argmin(), -1]].itertuples():
        answer = path.at(row.value).decision_function(X[NEW])
        assert error(problem, answer, y) == pytest.approx(row.error)
    for value in RNG.uniform(path.low**0.5, path.high**0.5, 6) ** 2:
        optimum = solve(path.at(value).problem, target_gap=1e-8)
        optimum_error = error(problem, optimum.decision_function(X[NEW]), y)
        row = selection.table[selection.table["to"] >= value].iloc[0]
        assert selection.lower_bound <= row["least"] <= optimum_error <= row["most"]


def error(problem: object, f: np.ndarray, y: np.ndarray) -> float:
    if problem.risk.loss.is_regression:  # type: ignore[attr-defined]
        return float(np.mean((f - y) ** 2))
    return float(np.mean(np.where(f >= 0, 1.0, -1.0) != y))


def test_the_statement_names_the_value_and_a_lower_bound_for_all_others() -> None:
    problem, interval = FOLLOWED["kernel"]
    selection = select(solve_path(problem, **interval, gap=3e-4), X[NEW], Y[NEW])
    assert f"C = {selection.value:.6g} has a validation error of" in selection.statement
    assert selection.statement.endswith(
        f"has an optimum with an error below {selection.lower_bound:.6g}"
    )
    assert repr(selection) == f"Selection: {selection.statement}"
    assert selection.lower_bound > 0.5 * selection.error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_val": X[NEW, :2]}, "X_val: must have the 3 features"),
        ({"y_val": TARGETS[NEW]}, "y_val: labels must be"),
        ({"y_val": Y}, "y_val: has 160 entries for 60 samples"),
    ],
)
def test_samples_that_do_not_fit_are_refused(change: dict, message: str) -> None:
    path = solve_path(FOLLOWED["linear"][0], C=(0.1, 0.2))
    with pytest.raises(ValueError, match=message):
        select(path, **({"X_val": X[NEW], "y_val": Y[NEW]} | change))


def test_predictions_that_cannot_be_enclosed_are_refused() -> None:
    risk = RegularizedERM(X[OLD], Y[OLD], 0.1, intercept=True)
    with pytest.raises(ValueError, match="logistic loss is not enclosed"):
        select(solve_path(risk, lam=(0.1, 0.2), gap=1e-2), X[NEW], Y[NEW])
    gram = SoftMarginDual(X[OLD] @ X[OLD].T, Y[OLD], kernel=Precomputed())
    with pytest.raises(ValueError, match="a kernel that can"):
        select(solve_path(gram, C=(0.1, 0.2)), X[NEW] @ X[OLD].T, Y[NEW])
