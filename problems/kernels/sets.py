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

from dualgap.problems.arithmetic.intervals import ELEMENTARY
from dualgap.problems.dataset import Matrix
from dualgap.problems.kernels.dot import DotKernel
from dualgap.problems.kernels.samples import entries, squared_norms
from dualgap.problems.validation import check_bool


@dataclass(frozen=True)
class SetIntersection(DotKernel):
    """k(A, B) = 2^|A∩B| on sets, as rows of zeros and ones; 2^(−½|A△B|) with `normalize`."""

    normalize: bool = False

    source: ClassVar[str] = "Bishop 2006, equation 6.27; Anderson's notes"

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalize", check_bool(self.normalize, "normalize"))

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return 2^|A∩B|, or 2^(−½|A△B|) with `normalize`."""
        return np.exp2(p - 0.5 * (x2 + z2) if self.normalize else p)

    def cancellation(self, largest: float) -> float:
        """Return 0: counts and their halves are exact."""
        return 0.0

    def operations(self, X: Matrix) -> float:
        """Return the number for exp2."""
        return ELEMENTARY

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
        if largest >= np.finfo(np.float64).maxexp and not self.normalize:
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
