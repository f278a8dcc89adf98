"""Write fit_times.csv: the time of a fit relative to scikit-learn's.

    python experiments/docs/reference/fit_times.py

CPU time of one fit on one core, in milliseconds, of standardised data: medians of fits by both libraries
in turn, after one that loads what is compiled.
"""

from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets, svm
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from dualgap.solvers import estimators

_SECONDS = 1.0  # of fits per row, of which there are at least three by each library
_LINEAR = {"kernel": "linear"}
_CLASSIFIERS = [("SVC", {}), ("SVC", _LINEAR), ("LinearSVC", {}), ("NuSVC", {"nu": 0.3})]
_CLASSIFIERS += [("OneClassSVM", {})]
_REGRESSORS = [("SVR", {}), ("LinearSVR", {}), ("NuSVR", {})]


def problems() -> Iterator[tuple[str, Any, Any, list[tuple[str, dict[str, Any]]]]]:
    """Yield the name of each data set, its samples, labels or targets, and its estimators."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, *getattr(datasets, f"load_{name}")(return_X_y=True), _CLASSIFIERS
    yield "diabetes", *datasets.load_diabetes(return_X_y=True), _REGRESSORS
    yield "friedman1", *datasets.make_friedman1(1000, noise=1.0, random_state=0), _REGRESSORS
    for n in (100, 200, 500, 1000, 2000, 5000):
        generated = datasets.make_classification(n, random_state=0)
        yield "generated", *generated, [("SVC", {}), ("SVC", _LINEAR), ("SVC", {"C": 100})]


def seconds(estimator: Any, X: Any, y: Any) -> float:
    """Return the CPU time of one fit."""
    started = process_time()
    estimator.fit(X, y)
    return process_time() - started


def row(name: str, X: Any, y: Any, machine: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the row of the table for one estimator and data set."""
    ours, theirs = (getattr(module, machine)(**settings) for module in (estimators, svm))
    ours.fit(X, y)
    times: list[tuple[float, float]] = []
    while len(times) < 3 or np.sum(times) < _SECONDS:
        times.append((seconds(ours, X, y), seconds(theirs, X, y)))
    own, other = np.median(times, axis=0)
    arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return {
        "samples": name,
        "n": len(y),
        "estimator": f"``{machine}({arguments})``",
        "ours": _milliseconds(own),
        "scikit-learn": _milliseconds(other),
        "ratio": f"{own / other:.2f}",
    }


def _milliseconds(time: float) -> str:
    return f"{1e3 * time:.2g}" if time < 0.1 else f"{1e3 * time:.0f}"


if __name__ == "__main__":
    with threadpool_limits(1):
        rows = [
            row(name, scale(X), y, machine, settings)
            for name, X, y, machines in problems()
            for machine, settings in machines
        ]
    pd.DataFrame(rows).to_csv(Path(__file__).with_suffix(".csv"), index=False)
