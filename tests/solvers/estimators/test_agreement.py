"""Decisions and predictions of the seven classes are scikit-learn's, of training and of other samples.

Both solve random problems tightly, so that what remains to differ are rules: of classes, votes, ties,
weights and the intercept.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from dualgap.solvers import estimators
from dualgap.solvers.estimators.certified import MAX_DIRECT_SAMPLES

KERNELS = ("rbf", "poly", "linear")
CLASS_WEIGHTS = (None, "balanced", {0: 2.0})
NAMES = ("SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "LinearSVR", "OneClassSVM")
MOST_STEPS = 1_000_000  # LIBSVM's kernel values are float32, so it may not reach a tight tolerance
# largest difference of f relative to the largest |f|: LIBSVM's float32 leaves up to 2e-5. Predictions
# may differ only where f, or for LinearSVC the lead of a class, is below twice this bound.
ACCURACY = 1e-4


class Problem(NamedTuple):
    name: str
    settings: dict[str, Any]
    X: Any
    y: Any
    weight: Any
    new_samples: Any  # samples to predict that are not fitted


def drawn(seed: int) -> Problem:
    """Return a random problem for one of the classes, which has one answer."""
    rng, name = np.random.default_rng(seed), NAMES[seed % 7]
    # problems of more than 500 and more than 1000 samples are solved in other ways
    n = {98: 1010, 99: 520}.get(seed % 100, int(rng.integers(20, 120)))
    d = int(rng.integers(4, 10))
    X, new_samples = rng.standard_normal((n, d)), rng.standard_normal((40, d))
    weight = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else None
    settings: dict[str, Any] = {
        "C": 10.0 ** rng.uniform(-2, 1),
        # of other kernels these machines may be zero, and a sigmoid kernel has several minima
        "kernel": "rbf" if name in ("NuSVC", "OneClassSVM") else str(rng.choice(KERNELS)),
        # ours counts the weights in "scale"
        "gamma": "scale" if weight is None else 0.3,
        "nu": rng.uniform(0.3, 0.5) if name == "NuSVC" else rng.uniform(0.05, 0.4),
        "random_state": 0,
        "epsilon": rng.uniform(0.05, 0.5),
        # scikit-learn's NuSVC ignores weights of classes
        "class_weight": None if name == "NuSVC" else CLASS_WEIGHTS[rng.integers(3)],
    }
    if name == "SVC" and weight is not None and settings["class_weight"] == "balanced":
        settings["class_weight"] = {0: 2.0}  # ours counts the weights in "balanced" too
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    if name.endswith("SVC"):
        y = np.digitize(y, [0.0] if rng.random() < 0.5 else np.quantile(y, [0.3, 0.7]))
        settings["break_ties"] = bool(y.max() > 1 and rng.random() < 0.3)
        settings["decision_function_shape"] = "ovr" if settings["break_ties"] else "ovo"
    parameters = getattr(svm, name)().get_params()
    settings = {key: value for key, value in settings.items() if key in parameters}
    return Problem(name, settings, X, y, weight, new_samples)


def fitted(package: Any, problem: Problem, **limits: Any) -> Any:
    machine = getattr(package, problem.name)(**problem.settings, **limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(problem.X, problem.y, sample_weight=problem.weight)


def has_no_free_coefficient(problem: Problem, machine: Any) -> bool:
    """Whether all coefficients of an SVR are at a bound: its intercept is then any of an interval."""
    if problem.name != "SVR":
        return False
    weight = np.ones(len(problem.X)) if problem.weight is None else problem.weight
    fractions = np.abs(machine.dual_coef_.ravel()) / (machine.C * weight[machine.support_])
    return bool(np.all((fractions < 1e-9) | (fractions > 1.0 - 1e-9)))


def check(seed: int) -> None:
    """Check that both machines have the same decisions, and the same predictions where f decides."""
    problem = drawn(seed)
    tol = 1e-10 if problem.name.startswith("Linear") else 1e-9
    theirs = fitted(svm, problem, tol=tol, max_iter=MOST_STEPS)
    # smaller problems are refined to a millionth of the default
    accuracy = {"tol": 1e-7} if len(problem.X) > MAX_DIRECT_SAMPLES else {"refine": True}
    ours = fitted(estimators, problem, **accuracy)
    regression = problem.name.endswith("SVR")
    decide = "predict" if regression else "decision_function"
    samples = np.vstack([problem.X, problem.new_samples])
    f, expected = (getattr(machine, decide)(samples) for machine in (ours, theirs))
    if has_no_free_coefficient(problem, theirs):
        f, expected = f - f.mean(), expected - expected.mean()
    bound = ACCURACY * np.abs(expected).max()
    np.testing.assert_allclose(f, expected, rtol=0, atol=bound, err_msg=str(problem[:2]))
    if regression:
        return
    values = np.reshape(expected, (len(samples), -1))
    if problem.name == "LinearSVC" and values.shape[1] > 1:  # the largest is predicted
        values = np.diff(np.sort(values, axis=1)[:, -2:])
    decided = np.abs(values).min(axis=1) > 2 * bound
    assert (ours.predict(samples) == theirs.predict(samples))[decided].all(), problem[:2]
    # only training samples of the one-class machine are on its boundary
    assert decided[len(problem.X) :].mean() > 0.9
    assert problem.name == "OneClassSVM" or decided.mean() > 0.9


@pytest.mark.parametrize("kind", range(len(NAMES)), ids=NAMES)
def test_decisions_and_predictions_agree_with_scikit_learn(kind: int) -> None:
    for seed in range(kind, 70, len(NAMES)):
        check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", range(len(NAMES)), ids=NAMES)
def test_decisions_and_predictions_agree_on_more_problems(kind: int) -> None:
    for seed in range(70 + kind, 1000, len(NAMES)):
        check(seed)


@pytest.mark.parametrize("n", [300, 1000, 1001])
def test_samples_on_the_boundary_are_outliers_as_often_as_with_scikit_learn(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 20))
    ours = estimators.OneClassSVM(nu=0.05).fit(X)
    theirs = svm.OneClassSVM(nu=0.05).fit(X)
    outliers = ours.predict(X) == -1
    np.testing.assert_array_equal(outliers, ours.decision_function(X) <= 0.0)
    expected = (theirs.predict(X) == -1).sum()
    # of those on the boundary rounding makes about half outliers
    assert 0.5 * expected < outliers.sum() < 2.0 * expected
