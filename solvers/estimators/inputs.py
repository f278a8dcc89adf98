"""Labels, weights and samples as scikit-learn takes them, converted to this package's arrays."""

from typing import Any

import numpy as np
import scipy
from sklearn.utils.multiclass import check_classification_targets

from dualgap.problems import Vector
from dualgap.problems.dataset import Indices, as_canonical_csr
from dualgap.problems.validation import short_repr


def encode_labels(y: Any) -> tuple[Any, Indices]:
    """Return the classes and each label's index among them, after scikit-learn's check of labels.

    The check takes a third of a small fit, and vectors of integers or strings pass it, without a warning
    if there are few classes.
    """
    is_plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biU"
    if not is_plain:
        check_classification_targets(y)
    classes, indices = np.unique(y, return_inverse=True)
    if is_plain and 2 * classes.size > y.size:
        check_classification_targets(y)
    return classes, indices


def as_integers(y: Any) -> Any:
    """Return pandas' nullable integers, none missing, as NumPy's; anything else unchanged.

    scikit-learn would round those from 2⁵³ on to float64, so that classes became one.
    """
    dtype = getattr(y, "dtype", None)
    kind = None if isinstance(dtype, np.dtype) else getattr(dtype, "kind", None)
    return y.to_numpy(f"{kind}8") if kind in ("i", "u") and not y.isna().any() else y


def balanced_weights(counts: Any) -> Vector:
    """Return class weights (K,) that give all classes the same total, from their totals."""
    return counts.sum() / (counts.size * counts)


def as_canonical(X: Any) -> Any:
    """Return a sparse matrix in canonical CSR form, as LIBSVM needs it; anything else unchanged."""
    if scipy.sparse.issparse(X) and X.ndim == 2 and X.dtype.kind in "bifu":
        return as_canonical_csr(X, "X")
    return X


def positive_weights(sample_weight: Any, n: int) -> tuple[Indices, Vector]:
    """Return the indices and weights of samples with positive weight; None or an empty array means 1."""
    weight = np.asarray([] if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.size == 0:
        return np.arange(n), np.ones(n)
    if weight.shape not in ((), (n,)) or not np.isfinite(weight).all():
        raise ValueError(
            f"sample_weight: must be {n} finite numbers, got {short_repr(sample_weight)}"
        )
    weight = np.broadcast_to(weight, n)
    positive = np.flatnonzero(weight > 0)
    if positive.size == 0:
        raise ValueError(
            "sample_weight: Invalid input - all samples have zero or negative weights."
        )
    return positive, weight[positive]
