"""What the estimators make of the arguments of `fit`: samples of positive weight, and weights Cᵢ."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from problems import Vector
from problems.dataset import Indices
from problems.validation import check_positive, check_whole


@dataclass(frozen=True, eq=False)
class Weights:
    """The samples that take part, and their weights, all positive."""

    kept: Indices
    values: Vector


def check_sample_weight(sample_weight: Any, n: int) -> Weights:
    """Return the samples of positive weight; None stands for ones.

    Raises
    ------
    ValueError
        If there are not n finite weights of 0 or above, one of them positive.
    """
    if sample_weight is None:
        return Weights(np.arange(n), np.ones(n))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(f"sample_weight: expected shape ({n},), got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight: must be finite and 0 or above; drop samples with weight 0")
    kept = np.flatnonzero(weight)
    if kept.size == 0:
        raise ValueError("sample_weight: all weights are zero; at least one must be positive")
    return Weights(kept, weight[kept])


def class_weights(given: Any, classes: Any, labels: Indices, weight: Vector) -> Vector:
    """Return a weight for each class: "balanced" makes all classes weigh the same.

    `labels` are indices into `classes`; `weight` counts a sample that many times.
    """
    if isinstance(given, str) and given == "balanced":
        counts = np.bincount(labels, weight, len(classes))
        return counts.sum() / (len(classes) * counts)
    if given is None:
        return np.ones(len(classes))
    weights = compute_class_weight(given, classes=classes, y=classes[labels])
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(
            f"class_weight: weights must be positive, got {given!r}; leave a class out "
            "by its samples' weights"
        )
    return np.asarray(weights, dtype=np.float64)


def encoded(y: Any) -> tuple[Any, Indices]:
    """Return the classes, sorted, and each sample's index among them; ValueError if there is one."""
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "y: the number of classes has to be greater than one; got 1 class "
            "(among samples of positive weight)"
        )
    return classes, labels.astype(np.intp)


def drawn_seed(random_state: Any) -> int:
    """Return a seed for a solver: `random_state` if it is one, 0 for None, else drawn from it."""
    if random_state is None or isinstance(random_state, Integral):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def settings_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters that a solver's settings are taken from, where the solver has them."""
    settings: dict[str, Any] = {
        "tol": check_positive(estimator.tol, "tol"),
        "seed": drawn_seed(getattr(estimator, "random_state", None)),
    }
    for name in ("cache_size", "shrinking"):
        if hasattr(estimator, name):
            settings[name] = getattr(estimator, name)
    if estimator.max_iter != -1:  # which is no limit
        settings["max_iter"] = check_whole(estimator.max_iter, "max_iter")
    return settings


def subset(X: Any, rows: Indices, pairwise: bool = False) -> Any:
    """Return some rows, in their order, as `taken` does; all are no copy."""
    return X if rows.size == X.shape[0] else taken(X, rows, pairwise)


def taken(X: Any, rows: Indices, pairwise: bool = False) -> Any:
    """Return rows of the samples, of a Gram matrix the same columns too."""
    return X[rows][:, rows] if pairwise else X[rows]


def variance(X: Any, weight: Vector) -> float:
    """Return the variance of all entries of `X`, with weighted rows, as gamma="scale" wants it."""
    share = weight / (weight.sum() * X.shape[1])
    mean = float(share @ np.ravel(X.sum(axis=1)))
    if scipy.sparse.issparse(X):
        return float(share @ np.ravel(X.multiply(X).sum(axis=1))) - mean**2
    return float(share @ ((X - mean) ** 2).sum(axis=1))
