"""Small problems of every kind that the textbook's SMO algorithms are tried on."""

import numpy as np
from sklearn.datasets import load_breast_cancer, make_regression

from problems import RBF, HardMarginDual, SoftMarginDual, SoftMarginPrimal, SVRDual


def cancer(n=120):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], np.where(y > 0, 1.0, -1.0)[:n]


def regression(n=40):
    X, y = make_regression(n, 3, noise=5.0, random_state=0)
    return X, y / y.std()


def problems():
    X, y = cancer()
    Xr, yr = regression()
    weights = np.random.default_rng(0).uniform(0.2, 2.0, y.size)
    return {
        "linear": SoftMarginPrimal(X, y, 1.0),
        "rbf": SoftMarginDual(X, y, 10.0, RBF(0.05)),
        "weights": SoftMarginDual(X, y, weights, RBF(0.05)),
        "svr": SVRDual(Xr, yr, 1.0, 0.1, RBF(0.3)),
        "hard margin": HardMarginDual(X, y, RBF(0.05)),
    }
