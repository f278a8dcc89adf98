"""Write agreement.csv: how far decision functions are from LIBSVM's, on held-out folds.

    python experiments/docs/reference/agreement.py
Each data set is standardised and split into three folds; machines with their defaults are fitted to two
of them and compared on the third. Differences are relative to the standard deviation of LIBSVM's f.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets, svm
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from solvers import estimators

_CLASSES = {
    "iris": datasets.load_iris(return_X_y=True),
    "wine": datasets.load_wine(return_X_y=True),
    "breast_cancer": datasets.load_breast_cancer(return_X_y=True),
    "digits": datasets.load_digits(return_X_y=True),
}
_TARGETS = {
    "diabetes": datasets.load_diabetes(return_X_y=True),
    "friedman1": datasets.make_friedman1(1000, noise=1.0, random_state=0),
}
_MACHINES = {
    "SVC": _CLASSES,
    "NuSVC": _CLASSES,
    "OneClassSVM": _CLASSES,
    "SVR": _TARGETS,
    "NuSVR": _TARGETS,
}
_SHARP = (
    1e-8  # a tol at which LIBSVM's answers have the digits that its float32 kernel values allow
)


def values(estimator: Any, train: Any, X: Any) -> tuple[Any, Any]:
    """Return f of all pairs of classes, and what is predicted, for the samples `X`."""
    if hasattr(estimator, "decision_function_shape"):
        estimator.set_params(decision_function_shape="ovo")
    fitted = make_pipeline(StandardScaler(), estimator).fit(*train)
    f = fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict(X)
    return f, fitted.predict(X)


def row(machine: str, data: str, X: Any, y: Any) -> dict[str, str]:
    """Return the line of the table for one machine and data set."""
    differences, sharp, equal = [], [], []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        fold, own = (X[train], y[train]), getattr(estimators, machine)
        f, predicted = values(own(), fold, X[test])
        theirs, labels = values(getattr(svm, machine)(), fold, X[test])
        exact, _ = values(getattr(svm, machine)(tol=_SHARP), fold, X[test])
        differences.append(np.abs(f - theirs).ravel() / np.std(theirs))
        sharp.append(np.abs(f - exact).ravel() / np.std(exact))
        equal.append(predicted == labels)
    shares = f"{np.concatenate(equal).mean():.2%}" if machine[-1] != "R" else "–"
    return {
        "estimator": machine,
        "data": data,
        "median difference": f"{np.median(np.concatenate(differences)):.0e}",
        "largest difference": f"{np.concatenate(differences).max():.0e}",
        "largest to LIBSVM with tol=1e-8": f"{np.concatenate(sharp).max():.0e}",
        "equal predictions": shares,
    }


def rows() -> Iterator[dict[str, str]]:
    """Yield the lines of the table."""
    for machine, sets in _MACHINES.items():
        for data, (X, y) in sets.items():
            yield row(machine, data, X, y)


if __name__ == "__main__":
    lines = list(rows())
    with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
