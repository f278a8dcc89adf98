"""What samples in blocks are: each block is read whole, and no two need to be in memory at once."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

from problems.dataset import Matrix, Vector


class ChangedBlock(Exception):
    """A block is missing, or is not what it was when it was checked; the message names it."""


class Block(NamedTuple):
    """Samples `X` (m, d), labels or targets `y` (m,), and weights (m,) or None.

    Arrays are read-only and checked, as those of a `Dataset`.
    """

    X: Matrix
    y: Vector
    weight: Vector | None = None


class Blocks(ABC):
    """Samples in blocks, checked once; it holds no data, so that a process may be sent it.

    Attributes
    ----------
    n, d : number of samples and of features. sizes : rows of each block.
    names, checksums, nbytes : of each block what messages call it, of its content, and its size when it
        is in memory.
    sparse : whether a block's X is a CSR matrix.
    target : "labels" where every y is −1 or +1, else "targets".
    has_weights : whether each sample has a weight, which multiplies C.
    """

    n: int
    d: int
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    checksums: tuple[str, ...]
    nbytes: tuple[int, ...]
    sparse: bool
    target: Literal["labels", "targets"]
    has_weights: bool

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of all samples, as of an array."""
        return self.n, self.d

    @abstractmethod
    def read(self, k: int, verify: bool = False) -> Block:
        """Return block k.

        Raises
        ------
        ChangedBlock
            If it is missing or, where asked to `verify`, its content has another checksum.
        """

    def __repr__(self) -> str:
        """Say what decides the content, for identities too."""
        return f"Blocks({self.n} × {self.d}, checksums {', '.join(self.checksums)})"
