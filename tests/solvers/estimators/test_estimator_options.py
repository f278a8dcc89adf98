"""What the estimators offer beyond scikit-learn's, and what they say of unusable arguments."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, svm
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale

from dualgap.problems import RBF, Precomputed, SoftMarginDual, describe
from dualgap.solvers.estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

X_IRIS, Y_IRIS = datasets.load_iris(return_X_y=True)
X_IRIS = scale(X_IRIS)
BINARY = X_IRIS[Y_IRIS > 0] + 1.0, Y_IRIS[Y_IRIS > 0]
X_DIABETES, Y_DIABETES = datasets.load_diabetes(return_X_y=True)
X_DIABETES, Y_DIABETES = scale(X_DIABETES[::3]), Y_DIABETES[::3]
MANY = datasets.make_classification(1200, 6, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("samples", [BINARY, MANY])
def test_without_an_intercept_f_is_that_of_the_support_vectors_alone(kernel, samples):
    X, y = samples
    model = SVC(kernel=kernel, gamma=0.5, fit_intercept=False).fit(X, y)
    K = X @ X.T if kernel == "linear" else None
    assert model.intercept_ == 0.0
    assert model.certificate_.relative_gap < 1e-3
    if K is not None:
        f = K[:, model.support_] @ model.dual_coef_.ravel()
        np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)
    values = SVR(kernel=kernel, gamma=0.5, fit_intercept=False).fit(X, y)
    assert values.intercept_ == 0.0
    assert values.certificate_.relative_gap < 1e-3


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_an_unpenalised_intercept_moves_with_the_samples(container, loss):
    X, y = BINARY
    models = [
        LinearSVC(loss=loss, intercept_scaling=np.inf).fit(container(X + shift), y)
        for shift in (0.0, 10.0)
    ]
    coefs = [m.coef_.ravel() for m in models]
    np.testing.assert_allclose(coefs[0], coefs[1], atol=1e-5)
    change = models[1].intercept_ - models[0].intercept_
    np.testing.assert_allclose(change, -10.0 * coefs[0].sum(), atol=1e-4)
    assert max(m.certificate_.relative_gap for m in models) < 1e-6


def test_an_unpenalised_intercept_is_that_of_the_kernel_machine():
    X, y = BINARY
    linear = LinearSVC(loss="hinge", intercept_scaling=np.inf).fit(X, y)
    kernel = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-7)
    np.testing.assert_allclose(linear.intercept_, kernel.intercept_, atol=1e-7)


@pytest.mark.parametrize(
    ("cls", "samples"),
    [
        (lambda C: SVC(C=C, warm_start=True), BINARY),
        (lambda C: SVC(C=C, warm_start=True), (X_IRIS, Y_IRIS)),
        (lambda C: SVC(C=C, warm_start=True, kernel="linear"), MANY),
        (lambda C: SVR(C=100.0 * C, warm_start=True), (X_DIABETES, Y_DIABETES)),
        (lambda C: LinearSVC(C=C, warm_start=True, loss="hinge"), BINARY),
        (lambda C: LinearSVC(C=C, warm_start=True), BINARY),
        (lambda C: LinearSVR(C=C, warm_start=True), (X_DIABETES, Y_DIABETES)),
    ],
)
def test_a_warm_start_leads_to_the_same_answer_from_another_C(cls, samples):
    model = cls(1.0).fit(*samples)
    for C in (0.3, 3.0):
        cold = cls(C).fit(*samples)
        model.set_params(C=cold.C).fit(*samples)
        expected = cold.predict(samples[0])
        if hasattr(cold, "decision_function"):
            expected = cold.decision_function(samples[0])
            output = model.decision_function(samples[0])
        else:
            output = model.predict(samples[0])
        np.testing.assert_allclose(output, expected, atol=5e-3, rtol=1e-4)


def test_a_warm_start_at_the_answer_takes_no_steps():
    model = SVC(warm_start=True).fit(*BINARY)
    steps = int(model.n_iter_[0])
    again = model.fit(*BINARY)
    assert again.n_iter_[0] < 0.2 * steps
    for C in np.array([np.inf, np.inf]):  # inf/inf would warn
        assert model.set_params(C=C).fit(*BINARY).fit_status_ == 0
    model.set_params(C=1.0)
    flipped = BINARY[1].max() + BINARY[1].min() - BINARY[1]  # β has the wrong signs
    assert model.fit(BINARY[0], flipped).certificate_.relative_gap < 1e-6


def test_a_callback_receives_certified_progress():
    calls = []
    SVC(callback=lambda evaluation: calls.append(evaluation.certificate)).fit(*BINARY)
    assert calls
    assert all(c.dual_objective <= c.primal_objective for c in calls)
    assert calls[-1].relative_gap < 1e-6


def test_without_refinement_the_tolerance_itself_is_enough():
    coarse = SVC(refine=False, tol=0.1).fit(*BINARY)
    assert 1e-6 < coarse.certificate_.violating_pair <= 0.1
    assert SVC(tol=0.1).fit(*BINARY).certificate_.violating_pair <= 1e-6


def test_the_certificate_of_several_classes_is_a_sum_with_its_parts():
    certificate = SVC().fit(X_IRIS, Y_IRIS).certificate_
    assert len(certificate.parts) == 3
    total = sum(part.primal_objective for part in certificate.parts)
    np.testing.assert_allclose(certificate.primal_objective, total)
    assert "sum of 3 problems" in repr(certificate)
    assert len(repr(certificate)) < 200


def test_certificates_and_geometry_have_a_repr_of_one_line():
    certificate = SVC().fit(*BINARY).certificate_
    text = repr(describe(SoftMarginDual(BINARY[0], np.sign(BINARY[1] - 1.5)), certificate))
    assert text.startswith("Geometry(SoftMarginDual, 100 samples, ‖w‖ = ")
    assert "margin" in text
    assert "≤ optimum ≤" in repr(certificate)
    assert "\n" not in text + repr(certificate)


@pytest.mark.parametrize("cls", [SVC, SVR, NuSVC, NuSVR])
def test_a_function_as_kernel_has_to_return_a_matrix_of_numbers(cls):
    X, y = BINARY
    with pytest.raises(ValueError, match=r"kernel: the function must return .* 100 × 100"):
        cls(kernel=lambda a, b: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinite entries"):
        cls(kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X, y)
    model = cls(kernel=lambda a, b: a @ b.T).fit(X, y)
    model.kernel = lambda a, b: (a @ b.T).T
    with pytest.raises(ValueError, match=r"kernel: the function must return .* 5 × 100"):
        model.predict(X[:5])


def test_probabilities_need_neither_five_samples_a_class_nor_two():
    for count in (3, 1):
        X, y = np.vstack([X_IRIS[:count], X_IRIS[100:110]]), np.repeat([0, 1], [count, 10])
        with pytest.warns(FutureWarning, match="deprecated"):
            model = SVC(probability=True).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_unfitted_probabilities_raise_NotFittedError():
    model = SVC().fit(*BINARY).set_params(probability=True)
    with pytest.raises(NotFittedError, match="predict_proba is not available"):
        model.predict_proba(BINARY[0])
    with pytest.raises(NotFittedError):
        SVC(probability=True).predict_proba(BINARY[0])


def test_an_infinite_C_of_SVR_is_a_tube_that_holds_all_targets():
    X, y = X_DIABETES[:20], Y_DIABETES[:20]
    model = SVR(kernel="linear", C=np.inf, epsilon=200.0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 200.0 * (1 + 1e-6)
    with pytest.raises(ValueError, match="no function was found"):
        SVR(kernel="linear", C=np.inf, epsilon=1.0).fit(X, y)


@pytest.mark.parametrize("exponent", [-60, -20, 20])
def test_an_infinite_C_of_SVR_does_not_depend_on_the_unit_of_the_features(exponent):
    X, y = X_DIABETES[:30], Y_DIABETES[:30]
    one, other = (
        SVR(kernel="linear", C=np.inf, epsilon=200.0).fit(np.ldexp(X, k), y) for k in (0, exponent)
    )
    assert one.certificate_.relative_gap == other.certificate_.relative_gap < 1e-8
    np.testing.assert_array_equal(other.coef_, np.ldexp(one.coef_, -exponent))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_predictions_of_12000_samples_equal_those_of_9(kernel):
    X, y = np.random.default_rng(0).standard_normal((12_000, 3)), np.tile([0, 1, 2], 4000)
    model = SVC(kernel=kernel, gamma=1.0, degree=2).fit(X[:900], y[:900])
    f = model.decision_function(X)
    np.testing.assert_allclose(f[-9:], model.decision_function(X[-9:]), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X)[-9:], model.predict(X[-9:]))


def test_an_infeasible_nu_of_a_pair_is_reduced_to_its_largest_feasible_value():
    X, y = BINARY
    subset = np.r_[np.flatnonzero(y == 1)[:5], np.flatnonzero(y == 2)]
    model = NuSVC(nu=0.9).fit(X[subset], y[subset])
    np.testing.assert_allclose(model._answers[0][0]().nu, 2 * 5 / 55)
    theirs = svm.NuSVC(nu=2 * 5 / 55 - 1e-9, tol=1e-9).fit(X[subset], y[subset])
    f = theirs.decision_function(X)
    np.testing.assert_allclose(np.sign(model.decision_function(X)), np.sign(f))


def test_a_problem_too_hard_for_coordinate_descent_is_solved_by_the_fallback():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 5))
    y = X[:, 0] + rng.standard_normal(80) > 0
    assert SVC(kernel="linear", C=1e4).fit(X, y).certificate_.relative_gap < 1e-6
    assert LinearSVC(loss="hinge", C=1e4).fit(X, y).certificate_.relative_gap < 1e-6


@pytest.mark.parametrize(
    "problem", [{"penalty": "l1"}, {"multi_class": "crammer_singer", "C": 0.1}]
)
def test_problems_only_liblinear_solves_equal_its_answer_without_a_certificate(problem):
    ours = LinearSVC(random_state=0, max_iter=100_000, **problem).fit(X_IRIS, Y_IRIS)
    theirs = svm.LinearSVC(random_state=0, max_iter=100_000, **problem).fit(X_IRIS, Y_IRIS)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    with pytest.raises(AttributeError, match="crammer_singer"):
        _ = ours.certificate_


def test_negative_weights_exclude_samples_and_classes():
    weight = np.where(Y_IRIS == 0, -1.0, 1.0)
    for cls in (SVC, LinearSVC):
        model = cls().fit(X_IRIS, Y_IRIS, sample_weight=weight)
        np.testing.assert_array_equal(model.classes_, [1, 2])
        fitted_model = cls().fit(X_IRIS[Y_IRIS > 0], Y_IRIS[Y_IRIS > 0])
        values = fitted_model.decision_function(X_IRIS)
        np.testing.assert_allclose(model.decision_function(X_IRIS), values, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_a_dualgap_kernel_accepts_all_samples_in_all_machines(cls, container):
    X, y = BINARY
    named = cls(kernel="rbf", gamma=0.3).fit(container(X), y)
    model = cls(kernel=RBF(0.3)).fit(container(X), y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.support_, named.support_)
    np.testing.assert_allclose(again.predict(container(X)), named.predict(container(X)))
    with pytest.raises(ValueError, match="features"):
        model.predict(container(X[:, :2]))


def test_a_gram_matrix_is_split_along_both_axes_by_its_name_and_by_its_kernel():
    X, y = BINARY
    scores = [cross_val_score(SVC(kernel=k), X @ X.T, y) for k in ("precomputed", Precomputed())]
    np.testing.assert_array_equal(*scores)


def test_classes_whose_gram_matrix_is_large_have_one_for_each_pair():
    X, y = datasets.make_blobs(5200, 3, centers=20, random_state=0)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    pair = y < 2
    single = SVC(gamma=model._gamma).fit(X[pair], y[pair])
    f = model.decision_function(X[:50])[:, 0]  # of the first pair, above 0 for its first class
    np.testing.assert_allclose(f, -single.decision_function(X[:50]), atol=1e-6)


@pytest.mark.parametrize(
    "machine", [SVC(kernel="linear", gamma=1.0), LinearSVC(loss="hinge"), LinearSVC()]
)
def test_samples_whose_kernel_overflows_are_refused(machine) -> None:
    with pytest.raises(ValueError, match="kernel values overflow float64"):
        machine.fit([[1e200], [-1e200]], [0, 1])


def test_targets_are_fitted_to_samples_that_are_all_zero() -> None:
    fitted = SVR(kernel="linear", epsilon=0.0).fit(np.zeros((10, 1)), np.linspace(0, 5e-4, 10))
    assert fitted.intercept_ == pytest.approx(2.5e-4)
