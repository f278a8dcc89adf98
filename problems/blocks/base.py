"""Samples in blocks that are read one at a time: no two need to be in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy

from dualgap.problems.blocks.sources import (
    ArraySource,
    Block,
    BlockSource,
    checksum_of,
    contents_of,
    inspect_block,
    read_arrays,
)
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.labels import positive_word


class ChangedBlock(Exception):
    """A block is missing or has changed since it was checked; the message names it."""


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
    C : factor of the stored weights, or the weight of every sample if none are stored.
    """

    source: BlockSource
    d: int
    sizes: tuple[int, ...]
    checksums: tuple[str, ...]
    nbytes: tuple[int, ...]
    sparse: bool
    target: Literal["labels", "targets"]
    C: float = 1.0

    @classmethod
    def checked(cls, source: BlockSource) -> Blocks:
        """Read each block of a source once, check its values and take its checksum.

        Raises
        ------
        ValueError
            If there is no sample, or a value or a shape is invalid; the message names block and row.
        """
        blocks = [inspect_block(source, k) for k in range(len(source.names))]
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
        )

    @classmethod
    def from_arrays(cls, X: Matrix, y: Vector, C: Vector, rows: int | None = None) -> Blocks:
        """Cut arrays, which must be checked and never changed, into blocks that are views of them.

        Parameters
        ----------
        C : (n,) weights. rows : of each block; None for about 128 MiB.
        """
        source = ArraySource(X, y, C, rows or max(1, 2**27 // _row_bytes(X)))
        blocks = [Block(*source.load(k, original=True)) for k in range(len(source.names))]
        return cls(
            source,
            X.shape[1],
            tuple(block.y.size for block in blocks),
            (),
            tuple(sum(a.nbytes for a in contents_of(*block)) for block in blocks),
            scipy.sparse.issparse(X),
            "labels" if (np.abs(y) == 1.0).all() else "targets",
        )

    def times(self, C: float) -> Blocks:
        """Return the same samples with all weights multiplied by `C`."""
        return replace(self, C=C * self.C)

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
            X, y, weight, _ = read_arrays(self.source, k, verify)
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise ChangedBlock(f"{self.names[k]}: cannot be read any more: {error}") from error
        # a block of LIBSVM text has only as many columns as its largest index
        narrower = self.sparse and X.shape[1] < self.d
        same_shape = y.size == self.sizes[k] and (X.shape[1] == self.d or narrower or not y.size)
        expected = self.checksums[k] if verify and self.checksums else None
        if not same_shape or (expected is not None and checksum_of(X, y, weight) != expected):
            raise ChangedBlock(f"{self.names[k]}: has changed since it was checked")
        if self.sparse and y.size and X.shape[1] != self.d:
            X = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(y.size, self.d))
        C = np.full(y.size, self.C) if weight is None else self.C * weight
        return Block(X if y.size else self._no_rows(), y, C)

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
        checksums = self.checksums or [checksum_of(*block) for block in self]
        factor = "" if self.C == 1.0 else f", weights times {self.C!r}"
        return f"Blocks({self.n} × {self.d}, checksums {', '.join(checksums)}{factor})"


def _row_bytes(X: Any) -> int:
    """Return the approximate number of bytes per row."""
    dense = isinstance(X, np.ndarray)
    return max(1, (X.nbytes if dense else 12 * X.nnz) // X.shape[0])
