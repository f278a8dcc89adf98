"""What scikit-learn's examples with support vector machines show, by their names there."""

import numpy as np
import pytest
from sklearn import datasets, svm
from sklearn.model_selection import cross_val_score

from dualgap.solvers import estimators
from dualgap.solvers.estimators import SVC


def test_example_plot_custom_kernel():
    def my_kernel(X, Y):
        return X @ np.array([[2, 0], [0, 1.0]]) @ Y.T

    X, y = datasets.load_iris(return_X_y=True)
    X = X[:, :2]
    ours, theirs = (m.SVC(kernel=my_kernel).fit(X, y) for m in (estimators, svm))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    precomputed = SVC(kernel="precomputed").fit(my_kernel(X, X), y)
    np.testing.assert_array_equal(precomputed.predict(my_kernel(X, X)), ours.predict(X))
    np.testing.assert_array_equal(precomputed.support_, ours.support_)
    folds = cross_val_score(SVC(kernel="precomputed"), my_kernel(X, X), y, cv=3)
    assert (folds == cross_val_score(SVC(kernel=my_kernel), X, y, cv=3)).all()


def test_example_plot_svm_tie_breaking():
    X, y = datasets.make_blobs(n_samples=40, centers=4, cluster_std=3.0, random_state=27)
    grid = np.random.default_rng(0).uniform(-12, 12, (2000, 2))
    ours, theirs = SVC(break_ties=True).fit(X, y), svm.SVC(break_ties=True, tol=1e-8).fit(X, y)
    np.testing.assert_array_equal(ours.predict(grid), theirs.predict(grid))
    with pytest.raises(ValueError, match="break_ties"):
        ours.set_params(decision_function_shape="ovo").predict(grid)


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10])
def test_example_plot_rbf_parameters_where_all_dual_variables_are_far_below_C(C):
    X, y = datasets.load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours, theirs = (m.SVC(C=C, gamma=1.0).fit(X[::2], y[::2]) for m in (estimators, svm))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
