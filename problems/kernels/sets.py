"""The set kernel 2^|A∩B|: the number of common subsets of A and B.

φ(A) has an entry for each set S, which is 1 if S ⊆ A, so φ(A)ᵀφ(B) counts the subsets of A∩B. A set is a
row of zeros and ones, its indicator, and |A∩B| the inner product of two rows. Divided by
√(k(A, A)·k(B, B)) the kernel is 2^(−½|A△B|), with the symmetric difference A△B: the Gaussian kernel with
gamma = ½ ln 2 on indicators. Without this normalisation, values for sets with more than a few tens of
elements differ so much that the smallest are lost to rounding; from 1024 elements on they overflow.

Source: Bishop 2006, "Pattern recognition and machine learning", equation 6.27.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.arithmetic.midpoint_radius import ELEMENTARY
from dualgap.problems.arithmetic.rounding import gamma
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.kernels.base import Kernel
from dualgap.problems.kernels.samples import Block, entries, inner_products, squared_norms
from dualgap.problems.validation import check_bool

_MAX_EXPONENT = np.finfo(np.float64).maxexp  # the smallest power of two that overflows


@dataclass(frozen=True)
class SetIntersection(Kernel):
    """k(A, B) = 2^|A∩B| on sets, as rows of zeros and ones; 2^(−½|A△B|) with `normalize`."""

    normalize: bool = False

    source: ClassVar[str] = "Bishop 2006, equation 6.27; Anderson's notes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalize", check_bool(self.normalize, "normalize"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of 2^|Aᵢ∩Bⱼ|."""
        common = inner_products(X, Z)
        if self.normalize:
            common = common - 0.5 * (squared_norms(X)[:, None] + squared_norms(Z))
        return np.exp2(common)

    def diagonal(self, X: Matrix) -> Vector:
        """Return 2^|Aᵢ|, or ones with `normalize`."""
        return np.ones(X.shape[0]) if self.normalize else np.exp2(squared_norms(X))

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Return the error of exp2: counts and their halves are exact."""
        return gamma(ELEMENTARY), np.zeros(X.shape[0])

    def check(self, X: Matrix) -> None:
        """Raise ValueError for entries other than 0 and 1, and for sets whose values overflow."""
        values = entries(X)
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise ValueError(
                "X: a set kernel needs rows of zeros and ones, one column per element, "
                f"got {other[0]:g}; leave standardize out"
            )
        largest = int(squared_norms(X).max())
        if largest >= _MAX_EXPONENT and not self.normalize:
            raise ValueError(
                f"X: 2^{largest}, for a set of {largest} elements, overflows float64; "
                "use normalize: true"
            )


def encode_sets(
    sets: Sequence[Collection[Hashable]], elements: Sequence[Hashable] | None = None
) -> scipy.sparse.csr_array:
    """Return the indicators of `sets`, shape (n, d), with one column per element.

    Parameters
    ----------
    sets : the samples.
    elements : all possible elements; None takes those that occur, sorted as strings.

    Raises
    ------
    ValueError
        If a set contains an element that is not in `elements`.
    """
    chosen = sorted(set().union(*sets), key=str) if elements is None else dict.fromkeys(elements)
    column: dict[Any, int] = {element: j for j, element in enumerate(chosen)}
    rows = [i for i, members in enumerate(sets) for _ in set(members)]
    try:
        cols = [column[element] for members in sets for element in set(members)]
    except KeyError as missing:
        raise ValueError(f"elements: {missing} is in a set, but not in elements") from None
    return scipy.sparse.csr_array(
        (np.ones(len(rows)), (rows, cols)), shape=(len(sets), len(column))
    )
