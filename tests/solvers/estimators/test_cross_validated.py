"""`CertifiedSVCCV` against scikit-learn's grid search at the values of its grid."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from tests.halves import quick_cases

from dualgap.problems import RBF
from dualgap.solvers.estimators import CertifiedSVCCV

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:150, :6]
Y = np.where(Y[:150] == 1, "benign", "malignant")


@pytest.mark.parametrize("gamma", quick_cases([0.1, "scale", "auto"], ["auto"]))
def test_scores_on_a_grid_are_within_the_stated_bounds(gamma: object) -> None:
    grid = np.geomspace(0.11, 0.9, 6)
    theirs = GridSearchCV(svm.SVC(gamma=gamma, tol=1e-6), {"C": grid}, cv=5).fit(X, Y)
    ours = CertifiedSVCCV(C=(0.1, 1.0), gamma=gamma).fit(X, Y).cv_results_
    for C, score in zip(grid, theirs.cv_results_["mean_test_score"], strict=True):
        row = np.flatnonzero(ours["param_C_to"] >= C)[0]
        assert ours["least_test_score"][row] <= score + 1e-12
        assert score <= ours["most_test_score"][row] + 1e-12
    assert ours["mean_test_score"].max() >= theirs.best_score_ - 1e-12


def test_the_best_of_several_widths_is_trained_on_all_samples() -> None:
    model = CertifiedSVCCV(C=(0.1, 1.0), gamma=[0.01, 0.1], gap=1e-2, cv=3).fit(X, Y)
    assert model.best_params_["gamma"] in (0.01, 0.1)
    assert 0.1 <= model.best_params_["C"] <= 1.0
    assert len(model.statements_) == 2
    assert set(model.cv_results_["param_gamma"]) == {0.01, 0.1}
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()
    assert model.cv_results_["rank_test_score"][model.best_index_] == 1
    alone = svm.SVC(**model.best_params_, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(
        model.decision_function(X), alone.decision_function(X), rtol=1e-4, atol=1e-4
    )
    assert (model.predict(X) == alone.predict(X)).all()
    assert model.certificate_.relative_gap < 1e-4


def test_kernel_objects_splitters_and_sparse_samples_are_accepted() -> None:
    options = {"C": (0.1, 0.3), "gap": 1e-2, "cv": StratifiedKFold(3, shuffle=True, random_state=0)}
    direct = CertifiedSVCCV(kernel=RBF(0.1), **options).fit(X, Y)
    named = CertifiedSVCCV(gamma=0.1, **options).fit(csr_array(X), Y)
    assert direct.statements_ == named.statements_
    assert direct.best_params_["C"] == named.best_params_["C"]


def test_more_than_two_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="Only binary classification is supported; y has 3"):
        CertifiedSVCCV().fit(X, np.arange(150) % 3)


@pytest.mark.parametrize(
    "settings", [{"kernel": np.matmul}, {"kernel": "foo"}, {"gamma": "foo"}, {"gamma": []}]
)
def test_unsupported_settings_are_refused_before_a_path_is_computed(
    settings: dict[str, object],
) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        CertifiedSVCCV(**settings).fit(X, Y)
