"""Samples in blocks that are read one at a time: no two need to be in memory at once."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
from dualgap.problems.kernels.samples import squared_norms
from dualgap.problems.labels import POSITIVE_WORDS, as_numbers, is_word_missing, positive_word

_CHUNK_ROWS = 2**15  # rows of a block processed at a time, which bounds temporary arrays


class ChangedBlock(Exception):
    """A block is missing or has changed since it was checked; the message names it."""


class Block(NamedTuple):
    """Samples `X` (m, d), labels or targets `y` (m,), and positive weights (m,) or None."""

    X: Matrix
    y: Vector
    weight: Vector | None = None

    def pieces(self) -> list[slice]:
        """Return consecutive ranges of rows, small enough for temporary arrays."""
        m = self.y.size
        return [slice(i, min(i + _CHUNK_ROWS, m)) for i in range(0, m, _CHUNK_ROWS)]

    def part(self, rows: slice) -> Block:
        """Return a view of a range of rows."""
        return Block(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])


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


@dataclass(frozen=True, eq=False, repr=False)
class Blocks:
    """Samples in blocks, checked once; formulations take it instead of the matrix `X`.

    Attributes
    ----------
    source : the reader of the blocks.
    d : number of features. sizes : number of rows of each block.
    checksums, nbytes : checksum of each block's content and its size in memory; no checksums for arrays
        that nobody else can change.
    sparse : whether a block's X is a CSR matrix.
    target : "labels" if every y is −1 or +1, else "targets".
    has_weights : whether each sample has a weight, which multiplies C.
    """

    source: BlockSource
    d: int
    sizes: tuple[int, ...]
    checksums: tuple[str, ...]
    nbytes: tuple[int, ...]
    sparse: bool
    target: Literal["labels", "targets"]
    has_weights: bool

    @classmethod
    def checked(cls, source: BlockSource) -> Blocks:
        """Read each block of a source once, check its values and take its checksum.

        Raises
        ------
        ValueError
            If there is no sample, or a value or a shape is invalid; the message names block and row.
        """
        blocks = [_inspect(source, k) for k in range(len(source.names))]
        filled = [facts for facts in blocks if facts.rows]
        if not filled:
            raise ValueError("X: the blocks have no samples at all")
        kinds = {(facts.sparse, facts.weighted) for facts in filled}
        widths = {facts.columns for facts in filled}
        if len(kinds) > 1 or (len(widths) > 1 and not filled[0].sparse):
            odd = next(facts for facts in filled if facts[:3] != filled[0][:3])
            raise ValueError(
                f"X: {odd.name} has {odd.columns} columns{' and weights' * odd.weighted}, "
                f"{filled[0].name} has {filled[0].columns}{' and weights' * filled[0].weighted}: "
                "all blocks must have the same"
            )
        words = sorted(frozenset[str]().union(*(facts.words for facts in filled)))
        if words and positive_word(words) and not all(facts.words for facts in filled):
            numbers = next(facts.name for facts in filled if not facts.words)
            raise ValueError(f"y: the labels of {numbers} are numbers, others are {words[0]!r}")
        labels = set[float]().union(*(facts.labels for facts in filled))
        if source.positive is not None and 1.0 not in labels:
            raise ValueError(f"positive: no sample has the label {source.positive!r}")
        return cls(
            source,
            max(widths),
            tuple(facts.rows for facts in blocks),
            tuple(facts.checksum for facts in blocks),
            tuple(facts.nbytes for facts in blocks),
            filled[0].sparse,
            "labels" if labels <= {-1.0, 1.0} else "targets",
            filled[0].weighted,
        )

    @classmethod
    def from_arrays(cls, X: Matrix, y: Vector, weight: Vector | None, rows: int) -> Blocks:
        """Cut arrays, which must be checked and never changed, into blocks of `rows` rows."""
        source = ArraySource(X, y, weight, rows)
        blocks = [Block(*source.load(k, original=True)) for k in range(len(source.names))]
        return cls(
            source,
            X.shape[1],
            tuple(block.y.size for block in blocks),
            (),
            tuple(sum(a.nbytes for a in _contents(*block)) for block in blocks),
            scipy.sparse.issparse(X),
            "labels" if (np.abs(y) == 1.0).all() else "targets",
            weight is not None,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each block in messages."""
        return self.source.names

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def n(self) -> int:
        """Number of samples."""
        return sum(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, d) of all samples."""
        return self.n, self.d

    def read(self, k: int, verify: bool = False) -> Block:
        """Return block k.

        Parameters
        ----------
        verify : whether to read it from the original source and compare its checksum.

        Raises
        ------
        ChangedBlock
            If it is missing or has another shape or, with `verify`, another checksum.
        """
        try:
            X, y, weight, _ = _arrays(self.source, k, verify)
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise ChangedBlock(f"{self.names[k]}: cannot be read any more: {error}") from error
        # a block of LIBSVM text has only as many columns as its largest index
        narrower = self.sparse and X.shape[1] < self.d
        same_shape = y.size == self.sizes[k] and (X.shape[1] == self.d or narrower or not y.size)
        expected = self.checksums[k] if verify and self.checksums else None
        if not same_shape or (expected is not None and _checksum(X, y, weight) != expected):
            raise ChangedBlock(f"{self.names[k]}: has changed since it was checked")
        if self.sparse and y.size and X.shape[1] != self.d:
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(y.size, self.d))
        return Block(X if y.size else self._no_rows(), y, weight)

    def _no_rows(self) -> Matrix:
        """Return the samples of an empty block, whose shape may differ between sources."""
        none = np.zeros((0, self.d))
        return scipy.sparse.csr_array(none) if self.sparse else none

    def __iter__(self) -> Iterator[Block]:
        return map(self.read, range(self.count))

    def first_non_label(self) -> str:
        """Return a message about the first y that is neither −1 nor +1; there must be one."""
        k, row, y = next(
            (k, int(row), block.y[row])
            for k, block in enumerate(self)
            for row in np.flatnonzero(np.abs(block.y) != 1.0)
        )
        return f"{self.source.row_label(k, row)}: is {y:g}"

    def __repr__(self) -> str:
        """Describe the content by its shape and checksums; identities of problems depend on it."""
        checksums = self.checksums or [_checksum(*block) for block in self]
        return f"Blocks({self.n} × {self.d}, checksums {', '.join(checksums)})"


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
        """Return a view."""
        return Block(self.X, self.y, self.weight).part(slice(k * self.rows, (k + 1) * self.rows))


class _Facts(NamedTuple):
    columns: int
    sparse: bool
    weighted: bool
    name: str
    rows: int
    checksum: str
    nbytes: int
    labels: frozenset[float]  # up to three distinct y: three mean that y are not labels
    words: frozenset[str]  # up to three distinct labels if they are text and `positive` is None


def _inspect(source: BlockSource, k: int) -> _Facts:
    """Read a block, check its values and summarise it."""
    X, y, weight, words = _arrays(source, k, original=True)
    values = X.data if scipy.sparse.issparse(X) else X
    if not np.isfinite(values).all():
        bad = ~np.isfinite(X.data if scipy.sparse.issparse(X) else X)
        row = np.searchsorted(X.indptr, bad.argmax(), "right") - 1 if bad.ndim == 1 else None
        where = int(row) if row is not None else int(bad.any(axis=1).argmax())
        raise ValueError(
            f"X: {source.row_label(k, where)}: has a NaN or infinite entry; drop or impute it"
        )
    with np.errstate(over="ignore"):
        squares = squared_norms(X)
    if not np.isfinite(squares).all():
        where = source.row_label(k, int((~np.isfinite(squares)).argmax()))
        raise ValueError(f"X: {where}: its kernel values overflow float64; scale the features down")
    for argument, column in (("y", y), ("weight", weight)):
        if column is not None and not np.isfinite(column).all():
            row = int((~np.isfinite(column)).argmax())
            raise ValueError(f"{argument}: {source.row_label(k, row)}: is NaN or infinite")
    if weight is not None and is_out_of_range(weight).any():
        row = int(is_out_of_range(weight).argmax())
        check_weight_range(weight[row], f"weight: {source.row_label(k, row)}:")
    nbytes = sum(a.nbytes for a in _contents(X, y, weight))
    labels = frozenset(np.unique(y)[:3].tolist())
    kind = X.shape[1], scipy.sparse.issparse(X), weight is not None
    return _Facts(*kind, source.names[k], y.size, _checksum(X, y, weight), nbytes, labels, words)


def _arrays(
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
        chosen = np.nan if number is None else number[0]
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
        values[is_label] = numbers
        return _signs(values[places].reshape(y.shape), positive)
    positives = POSITIVE_WORDS if positive is None else (str(positive),)
    chosen = [(label.lower() if positive is None else label) in positives for label in labels]
    values[is_label] = np.where(chosen, 1.0, -1.0)
    words = frozenset[str](labels[:3].tolist() if positive is None else ())
    return values[places].reshape(y.shape), words


def _contents(X: Any, y: Vector, weight: Vector | None) -> list[Any]:
    samples = [X.data, X.indices, X.indptr] if scipy.sparse.issparse(X) else [X]
    return [*samples, y, *([] if weight is None else [weight])]


def _checksum(X: Any, y: Vector, weight: Vector | None) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of a block's content."""
    digest = hashlib.sha256()
    for array in _contents(X, y, weight):
        kind = "<i8" if array.dtype.kind in "iu" else "<f8"
        digest.update(np.ascontiguousarray(array, kind).data.cast("B") if array.size else b"")
        digest.update(repr(array.shape).encode())
    return digest.hexdigest()[:16]
