"""Samples with their labels or targets; the only module that validates them.

All other code may assume the result: `X` is a read-only float64 array (dense, C-contiguous)
or CSR matrix with finite entries, `y` a read-only float64 vector of the same length.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.validation import check_positive, short_repr

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
WEIGHT_RANGE = 1e-150, 1e150  # beyond it the product of two weights underflows or overflows
if TYPE_CHECKING:
    Matrix = NDArray[np.float64] | scipy.sparse.csr_array
else:
    # scipy.sparse is imported on first use: it took a third of dualgap's import time
    Matrix = Any


class Names(NamedTuple):
    """Names of the d features, and of the classes −1 and +1, or 0, 1, ..., K − 1; empty if unknown."""

    features: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def names_of_columns(X: Any) -> Names:
    """Return the names of the features of a data frame; no names for other samples."""
    return Names(tuple(map(str, getattr(X, "columns", ()))))


class HasSamples:
    """Base of classes with samples `X` (n, d), in memory or in blocks."""

    X: Matrix

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]


@dataclass(frozen=True, eq=False)
class Dataset(HasSamples):
    """Samples `X` (n, d), labels or targets `y` (n,), and optionally a held-out part.

    Raises
    ------
    ValueError
        If a shape, a type or a value is invalid; the message names the argument.
    """

    X: Matrix
    y: Vector
    name: str = "unnamed"
    X_test: Matrix | None = None
    y_test: Vector | None = None
    names: Names = Names()  # noqa: RUF009 - immutable

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", check_samples(self.X))
        object.__setattr__(self, "y", check_targets(self.y, self.X.shape[0]))
        if (self.X_test is None) != (self.y_test is None):
            raise ValueError("X_test, y_test: give both or neither")
        if self.X_test is not None and self.y_test is not None:
            X_test = check_samples(self.X_test, "X_test")
            object.__setattr__(self, "X_test", X_test)
            object.__setattr__(
                self, "y_test", check_targets(self.y_test, X_test.shape[0], "y_test")
            )

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content: the same for every file format and storage."""
        return content_hash(scipy.sparse.csr_array(self.X), self.y)


def check_samples(X: Any, name: str = "X") -> Matrix:
    """Return `X` as a read-only float64 array or canonical CSR matrix of finite numbers."""
    matrix: Any = as_samples(X, name)
    if not scipy.sparse.issparse(matrix):
        _check_finite(matrix, name)
        return _read_only(matrix)
    _check_finite(matrix.data, name)
    for array in ("data", "indices", "indptr"):
        setattr(matrix, array, _read_only(getattr(matrix, array)))
    return matrix


def as_samples(X: Any, name: str, empty: bool = False) -> Matrix:
    """Return `X` as a float64 matrix, dense in C order or canonical CSR; entries may be infinite or NaN.

    The result shares memory with X if X has this form already.

    Raises
    ------
    ValueError
        If X is not a matrix of real numbers, or has no sample or feature and `empty` is false.
    """
    sparse = scipy.sparse.issparse(X)
    if sparse and X.dtype.kind not in "bifu":
        raise ValueError(f"{name}: expected real numbers, got {X.dtype}")
    matrix = X if sparse else as_floats(X, name, empty)
    if matrix.ndim != 2:
        raise ValueError(
            f"{name}: expected a matrix of shape (n, d), got {matrix.ndim} dimension(s); "
            f"use {name}.reshape(-1, 1) for a single feature"
        )
    if not empty and 0 in matrix.shape:
        raise ValueError(
            f"{name}: needs at least one sample and one feature, got shape {matrix.shape}"
        )
    if not sparse:
        return np.ascontiguousarray(matrix)
    with np.errstate(over="ignore"):
        return scipy.sparse.csr_array(as_canonical_csr(matrix, name))


def check_labels(y: Any, n: int, name: str = "y") -> Vector:
    """Return `y` as a read-only float64 vector of n labels, each -1 or +1."""
    labels = check_targets(y, n, name)
    if (np.abs(labels) != 1.0).any():
        distinct = np.unique(labels)
        listed = ", ".join(f"{v:g}" for v in distinct[:6]) + (", ..." if distinct.size > 6 else "")
        raise ValueError(
            f"{name}: labels must be -1 and +1, got {{{listed}}}; "
            "map them first, for example np.where(y == positive, 1, -1)"
        )
    return labels


def check_classes(y: Any, n: int, name: str = "y") -> Vector:
    """Return `y` as a read-only float64 vector of all classes 0, 1, ..., K - 1 with K of 2 or more."""
    classes = check_targets(y, n, name)
    distinct, remedy = np.unique(classes), "np.unique(y, return_inverse=True)[1] numbers them"
    if distinct[0] < 0 or (distinct != np.round(distinct)).any() or distinct[-1] < 1:
        raise ValueError(
            f"{name}: classes must be 0, 1, ..., K - 1 with K of 2 or more, got {distinct[:6]}; "
            f"{remedy}, as does a data set with multiclass: true"
        )
    missing = np.flatnonzero(distinct != np.arange(distinct.size))
    if missing.size:
        raise ValueError(f"{name}: class {missing[0]} has no samples, but later ones do; {remedy}")
    return classes


def check_targets(y: Any, n: int, name: str = "y") -> Vector:
    """Return `y` as a read-only float64 vector of n finite numbers."""
    targets = as_floats(y, name)
    check_vector(targets, name)
    if targets.shape[0] != n:
        raise ValueError(f"{name}: has {targets.shape[0]} entries for {n} samples")
    _check_finite(targets, name)
    return _read_only(np.ascontiguousarray(targets))


def check_vector(values: NDArray[Any], name: str) -> None:
    """Raise ValueError if an array is not a vector; the message suggests how to make it one."""
    if values.ndim == 1:
        return
    remedy = "give one value per sample, not several columns"
    if values.size == max(values.shape, default=0):
        remedy = "use {}.ravel()"
    elif values.ndim == 2 and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all():
        remedy = "its rows are one-hot codes of classes; {}.argmax(axis=1) returns their numbers"
    raise ValueError(
        f"{name}: expected a vector of shape (n,), got shape {values.shape}; "
        + remedy.format(name.rpartition(": ")[2])
    )


def check_slack_weight(C: Any, n: int) -> float | Vector:
    """Return `C` as a float or a read-only vector (n,), after checking that it is in `WEIGHT_RANGE`."""
    is_number = not isinstance(C, (list, tuple)) and np.ndim(C) == 0
    weights = check_positive(C, "C") if is_number else check_targets(C, n, "C")
    check_weight_range(weights, "C: every weight")
    return weights


def is_out_of_range(weights: Any) -> NDArray[np.bool_]:
    """Return which weights are NaN or outside `WEIGHT_RANGE`."""
    return ~((WEIGHT_RANGE[0] <= weights) & (weights <= WEIGHT_RANGE[1]))


def check_weight_range(weights: Any, subject: str) -> None:
    """Raise ValueError unless all weights are within `WEIGHT_RANGE`."""
    weights = np.atleast_1d(weights)
    for weight in weights[is_out_of_range(weights)][:1]:
        low, high = WEIGHT_RANGE
        raise ValueError(f"{subject} must be a number from {low:g} to {high:g}, got {weight:g}")


def content_hash(*parts: Any) -> str:
    """Return the SHA-256 of arrays, CSR matrices and anything with a faithful `repr`."""
    digest = hashlib.sha256()
    for part in parts:
        if scipy.sparse.issparse(part):
            csr = as_canonical_csr(part, "X")
            items = [np.array(csr.shape), csr.indptr, csr.indices, csr.data]
        else:
            items = [part]
        for item in items:
            if isinstance(item, np.ndarray):
                kind = "<i8" if item.dtype.kind in "iu" else "<f8"
                values = (item.astype(kind, copy=False) + 0).tobytes()  # −0.0 is 0.0
                digest.update(repr(item.shape).encode() + values + b";")
            else:
                digest.update(repr(item).encode() + b";")
    return digest.hexdigest()


def as_floats(values: Any, name: str, empty: bool = False) -> NDArray[np.float64]:
    """Return real numbers as float64; ValueError for other types, and for no entries unless `empty`."""
    if np.ma.isMaskedArray(values):
        raise ValueError(f"{name}: is a masked array; drop or fill the masked entries first")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name}: rows of unequal length; give a rectangular array") from None
    if array.size == 0 and not empty:
        raise ValueError(f"{name}: is empty")
    if array.dtype.kind not in "bifu" and array.size:
        example = short_repr(array.ravel()[0])
        raise ValueError(f"{name}: expected real numbers, got {array.dtype}, for example {example}")
    with np.errstate(over="ignore"):  # a long double beyond float64 is refused as infinite
        return array.astype(np.float64, copy=False)


def _check_indices(X: Any, name: str) -> None:
    """Raise ValueError if a sparse matrix has an index out of range, which would read foreign memory."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.copy().check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name}: is a damaged sparse matrix: {error}") from None


def as_canonical_csr(X: Any, name: str) -> Any:
    """Return a sparse matrix or array of real numbers as float64 CSR of the same interface.

    Each nonzero is stored once, in column order, with 32-bit indices if they suffice. Arrays that are
    canonical already are shared.
    """
    _check_indices(X, name)
    matrix = X.tocsr().astype(np.float64, copy=False)
    # a new matrix, as the cached flags of X may be outdated
    matrix = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    if not (matrix.has_canonical_format and matrix.data.all()):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max:  # what scikit-learn accepts
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def _check_finite(array: NDArray[Any], name: str) -> None:
    finite = np.isfinite(np.asarray(array, dtype=np.float64))
    if not finite.all():
        first = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{name}: has {int((~finite).sum())} NaN or infinite entries, the first at {first}; "
            "drop or impute them first"
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only array, copied if the caller could still write to it."""
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.flags.writeable = False
    return array
