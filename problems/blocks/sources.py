"""Blocks of samples, where they come from, and checks of their arrays with a checksum.

Messages of the checks name the block and the row.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy

from dualgap.problems.dataset import (
    Matrix,
    Vector,
    as_floats,
    as_samples,
    check_vector,
    check_weight_range,
    is_out_of_range,
)
from dualgap.problems.kernels.samples import entries, squared_norms
from dualgap.problems.labels import POSITIVE_WORDS, as_numbers, is_word_missing


class Block(NamedTuple):
    """Samples `X` (m, d), labels or targets `y` (m,), and the weights `C` (m,) of their losses."""

    X: Matrix
    y: Vector
    C: Vector

    def slices(self) -> list[slice]:
        """Return consecutive ranges of rows, small enough for temporary arrays."""
        m, size = self.y.size, 2**15
        return [slice(i, min(i + size, m)) for i in range(0, m, size)]

    def part(self, rows: slice) -> Block:
        """Return a view of a range of rows."""
        return Block(self.X[rows], self.y[rows], self.C[rows])


class BlockSource(ABC):
    """Base class of block readers; picklable, and without samples except those of arrays in memory.

    Attributes
    ----------
    positive : the label that becomes +1, all others becoming −1; None leaves y as it is.
    """

    positive: float | str | None = None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Name of each block in messages."""

    def row_label(self, k: int, row: int) -> str:
        """Return the name of a row of block k in messages."""
        return f"{self.names[k]}, row {row}"

    @abstractmethod
    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Return samples, labels or targets, and weights or None of block k, as they are stored.

        Parameters
        ----------
        original : whether to read from the original source even if there is a cache.
        """


@dataclass(frozen=True)
class ArraySource(BlockSource):
    """Samples in memory, cut into blocks of `rows` rows."""

    X: Matrix
    y: Vector
    weight: Vector | None
    rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Range of rows of each block."""
        n, rows = self.y.size, self.rows
        return tuple(f"rows {i} to {min(i + rows, n) - 1}" for i in range(0, n, rows))

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Return views."""
        rows = slice(k * self.rows, (k + 1) * self.rows)
        return self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows]


class BlockFacts(NamedTuple):
    """Facts about a checked block, from which `Blocks` checks that all blocks fit together."""

    columns: int
    sparse: bool
    weighted: bool
    name: str
    rows: int
    checksum: str
    nbytes: int
    labels: frozenset[float]  # up to three distinct y: three mean that y are not labels
    words: frozenset[str]  # up to three distinct labels if they are text and `positive` is None


def inspect_block(source: BlockSource, k: int) -> BlockFacts:
    """Read a block, check its values and summarise it."""
    X, y, weight, words = read_arrays(source, k, original=True)
    with np.errstate(over="ignore", invalid="ignore"):
        is_bad = ~np.isfinite(squared_norms(X))
    if is_bad.any():
        row = int(is_bad.argmax())
        reason = "has a NaN or infinite entry; drop or impute it"
        if np.isfinite(entries(X[[row]])).all():
            reason = "its kernel values overflow float64; scale the features down"
        raise ValueError(f"X: {source.row_label(k, row)}: {reason}")
    for argument, column in (("y", y), ("weight", weight)):
        if column is not None and not np.isfinite(column).all():
            row = int((~np.isfinite(column)).argmax())
            raise ValueError(f"{argument}: {source.row_label(k, row)}: is NaN or infinite")
    if weight is not None and is_out_of_range(weight).any():
        row = int(is_out_of_range(weight).argmax())
        check_weight_range(weight[row], f"weight: {source.row_label(k, row)}:")
    nbytes = sum(a.nbytes for a in contents_of(X, y, weight))
    labels = frozenset(np.unique(y)[:3].tolist())
    kind = X.shape[1], scipy.sparse.issparse(X), weight is not None
    return BlockFacts(
        *kind, source.names[k], y.size, checksum_of(X, y, weight), nbytes, labels, words
    )


def read_arrays(
    source: BlockSource, k: int, original: bool
) -> tuple[Any, Vector, Vector | None, frozenset[str]]:
    """Return X in C order or CSR, y and weights as float64 arrays of matching shapes, and label words.

    These are up to three distinct labels if they are text and `positive` is None.
    """
    X, y, weight = source.load(k, original)
    name = source.names[k]
    try:
        signs, words = _signs(y, source.positive)
        X = as_samples(X, "X", empty=True)
        signs = _vector(signs, "y")
        weight = None if weight is None else _vector(weight, "weight")
    except (ValueError, TypeError) as error:
        argument, _, reason = str(error).partition(": ")
        if argument not in ("X", "y", "weight"):
            argument, reason = "X", str(error)
        raise ValueError(f"{argument}: {name}: {reason}") from None
    arrays = [array for array in (X, signs, weight) if array is not None]
    if any(v.shape != X.shape[:1] for v in arrays[1:]):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(
            f"X: {name}: needs X of shape (m, d) and vectors of shape (m,), got {shapes}"
        )
    return X, signs, weight, words


def _vector(values: Any, name: str) -> Vector:
    """Return numbers as a vector; a matrix of one column is accepted too."""
    vector = as_floats(values, name, empty=True)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector.ravel()
    check_vector(vector, name)
    return np.ascontiguousarray(vector)


def _signs(y: Any, positive: float | str | None) -> tuple[Any, frozenset[str]]:
    """Return y as numbers, −1 and +1 if `positive` is given, and up to three distinct labels.

    Labels are returned only if they are text and `positive` is None.
    """
    if np.ma.isMaskedArray(y):
        return y, frozenset()  # `_vector` refuses it
    y = np.asarray(y)
    if y.dtype.kind in "biuf":
        if positive is None:
            return y, frozenset()
        truth = isinstance(positive, (bool, np.bool_))
        number = as_numbers([str(float(positive) if truth else positive)])
        chosen = np.nan if number is None else number.item()  # exact, as y may be integers
        return np.where(np.isnan(y), np.nan, np.where(y == chosen, 1.0, -1.0)), frozenset()
    if y.dtype.kind not in "OUST" or not y.size:
        return y, frozenset()  # `_vector` refuses it
    from pandas import isna  # noqa: PLC0415 - slow to import

    # None (Parquet), NaN and NA (data frames) would each become a label as text
    text = np.char.strip(np.where(isna(y), "", y).astype(str))
    distinct, places = np.unique(text, return_inverse=True)
    is_label = ~is_word_missing(distinct)
    labels, values = distinct[is_label], np.full(distinct.shape, np.nan)
    if (numbers := as_numbers(labels)) is not None:
        if is_label.all():
            values = numbers
        else:
            values[is_label] = numbers
        return _signs(values[places].reshape(y.shape), positive)
    positives = POSITIVE_WORDS if positive is None else (str(positive),)
    chosen = [(label.lower() if positive is None else label) in positives for label in labels]
    values[is_label] = np.where(chosen, 1.0, -1.0)
    words = frozenset[str](labels[:3].tolist() if positive is None else ())
    return values[places].reshape(y.shape), words


def contents_of(X: Any, y: Vector, weight: Vector | None) -> list[Any]:
    """Return the arrays that make up a block."""
    samples = [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X]
    return [*samples, y, *([] if weight is None else [weight])]


def checksum_of(X: Any, y: Vector, weight: Vector | None) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a block's content."""
    digest = hashlib.sha256()
    for array in contents_of(X, y, weight):
        kind = "<i8" if array.dtype.kind in "iu" else "<f8"
        digest.update(np.ascontiguousarray(array, kind).data.cast("B") if array.size else b"")
        digest.update(repr(array.shape).encode())
    return digest.hexdigest()[:16]
