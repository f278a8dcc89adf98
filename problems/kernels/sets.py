"""The set kernel 2^|A∩B|: how many sets are subsets of both A and B.

φ(A) has an entry for each set S, 1 where S ⊆ A, so φ(A)ᵀφ(B) counts the subsets of A∩B. A set is a row
of zeros and ones, its indicator, and |A∩B| the inner product of two rows. Divided by √(k(A, A)·k(B, B))
the kernel is 2^(−½|A△B|), with A△B what is in one of them only: the Gaussian kernel with
gamma = ½ ln 2 on indicators. Without that, values of sets with more than some tens of elements differ
so much that the smallest are lost beside the largest; from 1024 elements on they overflow.

Source: Bishop 2006, "Pattern recognition and machine learning", equation 6.27.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.arithmetic.rounding import ELEMENTARY, gamma
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.kernels.base import Kernel
from dualgap.problems.kernels.samples import Block, entries, inner_products, squared_norms
from dualgap.problems.validation import check_switch

_LARGEST = np.finfo(np.float64).maxexp  # 2 to this power overflows


@dataclass(frozen=True)
class SetIntersection(Kernel):
    """k(A, B) = 2^|A∩B| on sets, given as rows of zeros and ones; 2^(−½|A△B|) with normalize."""

    normalize: bool = False

    source: ClassVar[str] = "Bishop 2006, equation 6.27; Anderson's notes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalize", check_switch(self.normalize, "normalize"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of 2^|Aᵢ∩Bⱼ|."""
        common = inner_products(X, Z)
        if self.normalize:
            common = common - 0.5 * (squared_norms(X)[:, None] + squared_norms(Z))
        return np.exp2(common)

    def diagonal(self, X: Matrix) -> Vector:
        """Return 2^|Aᵢ|, or ones."""
        return np.ones(X.shape[0]) if self.normalize else np.exp2(squared_norms(X))

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """That of exp2: counts are exact, and so are their halves."""
        return gamma(ELEMENTARY), np.zeros(X.shape[0])

    def check(self, X: Matrix) -> None:
        """Refuse entries other than 0 and 1, and sets whose values overflow."""
        values = entries(X)
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise ValueError(
                "X: a set kernel needs rows of zeros and ones, one column for each element, "
                f"got {other[0]:g}; leave standardize out"
            )
        largest = int(squared_norms(X).max())
        if largest >= _LARGEST and not self.normalize:
            raise ValueError(
                f"X: 2^{largest} of a set of {largest} elements overflows float64; "
                "use normalize: true"
            )


def encode_sets(
    sets: Sequence[Collection[Hashable]], elements: Sequence[Hashable] | None = None
) -> scipy.sparse.csr_array:
    """Return the indicators of `sets`, shape (n, d), one column for each of `elements`.

    Parameters
    ----------
    sets : the samples.
    elements : all that may occur; None takes those that do, in the order of their text.

    Raises
    ------
    ValueError
        If a set has an element that is not in `elements`.
    """
    chosen = sorted(set().union(*sets), key=str) if elements is None else dict.fromkeys(elements)
    column: dict[Any, int] = {element: j for j, element in enumerate(chosen)}
    rows = [i for i, members in enumerate(sets) for _ in set(members)]
    try:
        cols = [column[element] for members in sets for element in set(members)]
    except KeyError as missing:
        raise ValueError(f"elements: {missing} is in a set, but not among them") from None
    return scipy.sparse.csr_array(
        (np.ones(len(rows)), (rows, cols)), shape=(len(sets), len(column))
    )
