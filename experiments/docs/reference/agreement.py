"""Write agreement.csv: how far decision functions are from LIBSVM's, on held-out folds.

    python experiments/docs/reference/agreement.py

Each data set is standardised and split into three folds; estimators with default settings are fitted to
two of them and compared on the third. Differences are relative to the standard deviation of LIBSVM's f.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets, svm
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dualgap.solvers import estimators

_CLASSES = {
    name: getattr(datasets, f"load_{name}")(return_X_y=True)
    for name in ("iris", "wine", "breast_cancer", "digits")
}
_TARGETS = {
    "diabetes": datasets.load_diabetes(return_X_y=True),
    "friedman1": datasets.make_friedman1(1000, noise=1.0, random_state=0),
}
_MACHINES = dict.fromkeys(("SVC", "NuSVC", "OneClassSVM"), _CLASSES)
_MACHINES |= dict.fromkeys(("SVR", "NuSVR"), _TARGETS)
_TIGHT_TOL = 1e-8  # LIBSVM's float32 kernel values allow no more digits


def values(estimator: Any, train: Any, X: Any) -> tuple[Any, Any]:
    """Return f for all pairs of classes, and the predictions, for the samples `X`."""
    if hasattr(estimator, "decision_function_shape"):
        estimator.set_params(decision_function_shape="ovo")
    fitted = make_pipeline(StandardScaler(), estimator).fit(*train)
    f = fitted.decision_function(X) if hasattr(fitted, "decision_function") else fitted.predict(X)
    return f, fitted.predict(X)


def row(machine: str, data: str, X: Any, y: Any) -> dict[str, str]:
    """Return the row of the table for one estimator and data set."""
    differences, tight_differences, equal = [], [], []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        fold, libsvm = (X[train], y[train]), getattr(svm, machine)
        f, predicted = values(getattr(estimators, machine)(), fold, X[test])
        expected, labels = values(libsvm(), fold, X[test])
        tight, _ = values(libsvm(tol=_TIGHT_TOL), fold, X[test])
        differences.extend(np.abs(f - expected).ravel() / np.std(expected))
        tight_differences.extend(np.abs(f - tight).ravel() / np.std(tight))
        equal.extend(predicted == labels)
    return {
        "estimator": machine,
        "data": data,
        "median difference": f"{np.median(differences):.0e}",
        "largest difference": f"{max(differences):.0e}",
        "largest to LIBSVM with tol=1e-8": f"{max(tight_differences):.0e}",
        "equal predictions": f"{np.mean(equal):.2%}" if machine[-1] != "R" else "–",
    }


if __name__ == "__main__":
    rows = [row(m, data, *of) for m, sets in _MACHINES.items() for data, of in sets.items()]
    pd.DataFrame(rows).to_csv(Path(__file__).with_suffix(".csv"), index=False)
