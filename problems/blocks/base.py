"""Samples in blocks: each block is read whole, and no two need to be in memory at once."""

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

_ROWS = 2**15  # of a piece of a block, whose temporary arrays are of its length


class ChangedBlock(Exception):
    """A block is missing, or is not what it was when it was checked; the message names it."""


class Block(NamedTuple):
    """Samples `X` (m, d), labels or targets `y` (m,), and positive weights (m,) or None."""

    X: Matrix
    y: Vector
    weight: Vector | None = None

    def pieces(self) -> list[slice]:
        """Return ranges of rows that are looked at one after another."""
        m = self.y.size
        return [slice(i, min(i + _ROWS, m)) for i in range(0, m, _ROWS)]

    def part(self, rows: slice) -> Block:
        """Return some of the rows."""
        return Block(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])


class BlockSource(ABC):
    """Where blocks come from; it holds no samples but those of arrays in memory, and can be pickled.

    Attributes
    ----------
    names : what messages call each block.
    positive : the label that becomes +1, all others becoming −1; None where y stays as it is.
    """

    names: tuple[str, ...]
    positive: float | str | None = None

    def place(self, k: int, row: int) -> str:
        """Return what messages call a row of block k."""
        return f"{self.names[k]}, row {row}"

    @abstractmethod
    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Return samples, labels or targets, and weights or None of block k, as they are stored.

        Parameters
        ----------
        original : whether it has to be read from where it was given, and from no cache.
        """


@dataclass(frozen=True, eq=False, repr=False)
class Blocks:
    """Samples in blocks, checked once, in the place of `X`.

    Attributes
    ----------
    source : where they are read from.
    d : number of features. sizes : rows of each block.
    checksums, nbytes : of the content of each block, and its size when it is in memory; none of arrays
        that nobody else can change.
    sparse : whether a block's X is a CSR matrix.
    target : "labels" where every y is −1 or +1, else "targets".
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
        """Return the blocks of a source, each read once, its values checked and its checksum taken.

        Raises
        ------
        ValueError
            If there is no sample, or a value or a shape is not usable; it names the block and the row.
        """
        blocks = [_facts(source, k) for k in range(len(source.names))]
        filled = [own for own in blocks if own.rows]
        if not filled:
            raise ValueError("X: the blocks have no samples at all")
        kinds = {(own.sparse, own.weighted) for own in filled}
        widths = {own.columns for own in filled}
        if len(kinds) > 1 or (len(widths) > 1 and not filled[0].sparse):
            odd = next(own for own in filled if own[:3] != filled[0][:3])
            raise ValueError(
                f"X: {odd.name} has {odd.columns} columns{' and weights' * odd.weighted}, "
                f"{filled[0].name} has {filled[0].columns}{' and weights' * filled[0].weighted}: "
                "all blocks need the same"
            )
        words = sorted(frozenset[str]().union(*(own.words for own in filled)))
        if words and positive_word(words) and not all(own.words for own in filled):
            numbers = next(own.name for own in filled if not own.words)
            raise ValueError(f"y: the labels of {numbers} are numbers, and others {words[0]!r}")
        labels = set[float]().union(*(own.labels for own in filled))
        if source.positive is not None and 1.0 not in labels:
            raise ValueError(f"positive: no sample has the label {source.positive!r}")
        return cls(
            source,
            max(widths),
            tuple(own.rows for own in blocks),
            tuple(own.checksum for own in blocks),
            tuple(own.nbytes for own in blocks),
            filled[0].sparse,
            "labels" if labels <= {-1.0, 1.0} else "targets",
            filled[0].weighted,
        )

    @classmethod
    def of_arrays(cls, X: Matrix, y: Vector, weight: Vector | None, rows: int) -> Blocks:
        """Return blocks of so many rows of arrays that were checked, and that nobody changes."""
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
        """What messages call each block."""
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
        """Shape of all samples, as of an array."""
        return self.n, self.d

    def read(self, k: int, verify: bool = False) -> Block:
        """Return block k.

        Parameters
        ----------
        verify : whether it is read from where it was given, and its content compared.

        Raises
        ------
        ChangedBlock
            If it is missing or is of another shape or, where asked to `verify`, has another checksum.
        """
        try:
            X, y, weight, _ = _arrays(self.source, k, verify)
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise ChangedBlock(f"{self.names[k]}: cannot be read any more: {error}") from error
        # a block of LIBSVM text has as many columns as it needs
        narrower = self.sparse and X.shape[1] < self.d
        alike = y.size == self.sizes[k] and (X.shape[1] == self.d or narrower or not y.size)
        known = self.checksums[k] if verify and self.checksums else None
        if not alike or (known is not None and _checksum(X, y, weight) != known):
            raise ChangedBlock(f"{self.names[k]}: has changed since it was checked")
        if self.sparse and y.size and X.shape[1] != self.d:
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(y.size, self.d))
        return Block(X if y.size else self._no_rows(), y, weight)

    def _no_rows(self) -> Matrix:
        """Return the samples of an empty block, which any source may give in any shape."""
        none = np.zeros((0, self.d))
        return scipy.sparse.csr_array(none) if self.sparse else none

    def __iter__(self) -> Iterator[Block]:
        return map(self.read, range(self.count))

    def first_target(self) -> str:
        """Say where the first y is that is neither −1 nor +1, as some are, and which."""
        k, row, y = next(
            (k, int(row), block.y[row])
            for k, block in enumerate(self)
            for row in np.flatnonzero(np.abs(block.y) != 1.0)
        )
        return f"{self.source.place(k, row)}: is {y:g}"

    def __repr__(self) -> str:
        """Say what decides the content, for identities too."""
        checksums = self.checksums or [_checksum(*block) for block in self]
        return f"Blocks({self.n} × {self.d}, checksums {', '.join(checksums)})"


@dataclass(frozen=True)
class ArraySource(BlockSource):
    """Samples in memory, cut into blocks of so many rows."""

    X: Matrix
    y: Vector
    weight: Vector | None
    rows: int

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The rows of each."""
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
    labels: frozenset[float]  # its first distinct y, of which more than two are no labels
    words: frozenset[str]  # its first distinct labels, where they are text without `positive`


def _facts(source: BlockSource, k: int) -> _Facts:
    """Return what is known of a block once its values are checked."""
    X, y, weight, words = _arrays(source, k, original=True)
    values = X.data if scipy.sparse.issparse(X) else X
    if not np.isfinite(values).all():
        bad = ~np.isfinite(X.data if scipy.sparse.issparse(X) else X)
        row = np.searchsorted(X.indptr, bad.argmax(), "right") - 1 if bad.ndim == 1 else None
        where = int(row) if row is not None else int(bad.any(axis=1).argmax())
        raise ValueError(
            f"X: {source.place(k, where)}: has a NaN or infinite entry; drop or impute it"
        )
    with np.errstate(over="ignore"):
        squares = squared_norms(X)
    if not np.isfinite(squares).all():
        where = source.place(k, int((~np.isfinite(squares)).argmax()))
        raise ValueError(f"X: {where}: its kernel values overflow float64; scale the features down")
    for what, column in (("y", y), ("weight", weight)):
        if column is not None and not np.isfinite(column).all():
            row = int((~np.isfinite(column)).argmax())
            raise ValueError(f"{what}: {source.place(k, row)}: is NaN or infinite")
    if weight is not None and is_out_of_range(weight).any():
        row = int(is_out_of_range(weight).argmax())
        check_weight_range(weight[row], f"weight: {source.place(k, row)}:")
    nbytes = sum(a.nbytes for a in _contents(X, y, weight))
    labels = frozenset(np.unique(y)[:3].tolist())
    kind = X.shape[1], scipy.sparse.issparse(X), weight is not None
    return _Facts(*kind, source.names[k], y.size, _checksum(X, y, weight), nbytes, labels, words)


def _arrays(
    source: BlockSource, k: int, original: bool
) -> tuple[Any, Vector, Vector | None, frozenset[str]]:
    """Return float64 arrays of matching shapes, X in C order or CSR with sorted indices.

    The last are the first distinct labels, where they are text and `positive` is not given.
    """
    X, y, weight = source.load(k, original)
    name = source.names[k]
    try:
        signs, words = _signs(y, source.positive)
        X = as_samples(X, "X", empty=True)
        vectors = [_vector(signs, "y"), None if weight is None else _vector(weight, "weight")]
    except (ValueError, TypeError) as error:
        argument, _, reason = str(error).partition(": ")
        if argument not in ("X", "y", "weight"):
            argument, reason = "X", str(error)
        raise ValueError(f"{argument}: {name}: {reason}") from None
    if any(v is not None and v.shape != X.shape[:1] for v in vectors):
        shapes = ", ".join(str(np.shape(v)) for v in (X, *vectors) if v is not None)
        raise ValueError(
            f"X: {name}: needs X of shape (m, d) and vectors of shape (m,), got {shapes}"
        )
    return X, vectors[0], vectors[1], words  # type: ignore[return-value]


def _vector(values: Any, name: str) -> Vector:
    """Return numbers as a vector; those of a matrix with one column too."""
    vector = as_floats(values, name, empty=True)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector.ravel()
    check_vector(vector, name)
    return np.ascontiguousarray(vector)


def _signs(y: Any, positive: float | str | None) -> tuple[Any, frozenset[str]]:
    """Return y as numbers, −1 and +1 where `positive` is given, and the words that decide the signs.

    Words, the first distinct ones, are returned only where labels are text and `positive` is None.
    """
    if np.ma.isMaskedArray(y):
        return y, frozenset()  # refused as numbers are checked
    y = np.asarray(y)
    if y.dtype.kind in "biuf":
        if positive is None:
            return y, frozenset()
        truth = isinstance(positive, (bool, np.bool_))
        number = as_numbers([str(float(positive) if truth else positive)])
        chosen = np.nan if number is None else number[0]
        return np.where(np.isnan(y), np.nan, np.where(y == chosen, 1.0, -1.0)), frozenset()
    if y.dtype.kind not in "OUST" or not y.size:
        return y, frozenset()  # refused as numbers are checked
    from pandas import isna  # noqa: PLC0415 - slow to import

    # None of Parquet, NaN or NA of a data frame: as text each would be a label like any other
    text = np.char.strip(np.where(isna(y), "", y).astype(str))
    known, places = np.unique(text, return_inverse=True)
    is_label = ~is_word_missing(known)
    labels, values = known[is_label], np.full(known.shape, np.nan)
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
    """Return the SHA-256 of a block's content, cut to 16 digits."""
    digest = hashlib.sha256()
    for array in _contents(X, y, weight):
        kind = "<i8" if array.dtype.kind in "iu" else "<f8"
        digest.update(np.ascontiguousarray(array, kind).data.cast("B") if array.size else b"")
        digest.update(repr(array.shape).encode())
    return digest.hexdigest()[:16]
