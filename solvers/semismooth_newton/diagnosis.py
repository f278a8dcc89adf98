"""Whether K has few entries that count, and is nearly its diagonal: told by some of its rows.

Where C is large and the kernel narrow, nearly every sample is a support vector between its bounds, and
pair steps need millions; but K has few entries, and Newton's system is solved in a few products.
"""

from typing import NamedTuple

import numpy as np

from dualgap.problems.forms import BoxQP
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.smo.duplicates import Merged, merge
from dualgap.solvers.smo.variables import from_form

FEWEST = 3000  # variables below which SMO takes no time
_ROWS = 32  # of K that are looked at
_GLANCE = 512  # of their entries that are looked at first, and the share above which no more is
_MANY = 0.04
_OF_AN_ENTRY = 32  # bytes, while the sparse matrix is made: 12 in the end
_SPARSE, _NEAR = 0.01, 0.5  # share of the entries, and rest of a row relative to its diagonal
# Entries that may be neglected, relative to the largest of the diagonal: less is lost to rounding in
# float64, and more would be no saving.
_LEAST = 1e-16, 1e-6


class Diagnosis(NamedTuple):
    """What the rows of a box QP's K that were looked at say.

    Attributes
    ----------
    least : entries up to this size change no score by more than a tenth of `tol`, wherever z is in its
        box, or by more than float64's rounding.
    merged : the variables, equal samples being one. share : of the entries of K that are larger.
    rest : the median over the rows of Σ|k(xᵢ, xⱼ)| without the diagonal, relative to it.
    """

    merged: Merged
    least: float
    share: float
    rest: float

    @property
    def entries(self) -> float:
        """Larger entries of K, estimated."""
        return self.share * self.merged.variables.n**2

    def fits(self, megabytes: float) -> bool:
        """Whether the larger entries fit in memory."""
        return _OF_AN_ENTRY * self.entries <= 1e6 * megabytes

    @property
    def pays(self) -> bool:
        """Whether Newton steps on the sparse matrix are faster than pair steps."""
        return self.merged.variables.n >= FEWEST and self.share <= _SPARSE and self.rest <= _NEAR


def diagnose_at_a_glance(form: BoxQP, tol: float) -> Diagnosis | None:
    """Return the diagnosis, or None: most often a millisecond shows that Newton steps do not pay."""
    v, gram = from_form(form), form.gram
    if v.n < FEWEST:
        return None
    some = v.sample[np.random.default_rng(0).permutation(v.n)[: _ROWS + _GLANCE]]
    with Threads().limited(1):  # small products
        K = np.abs(gram.bound.block(some[:_ROWS], some[_ROWS:]))
    largest = float(gram.diagonal()[some].max())
    if np.count_nonzero(_LEAST[1] * largest < K) > _MANY * K.size:
        return None
    return diagnose(form, tol)


def diagnose(form: BoxQP, tol: float) -> Diagnosis:
    """Look at some rows of K, with equal samples as one variable; some hundredths of a second.

    K is in a Gram matrix of its own, so that the solver's count of evaluations stays its own.
    """
    merged = merge(from_form(form))
    v = merged.variables
    rows = np.random.default_rng(0).permutation(v.n)[:_ROWS]
    gram = form.gram
    with Tiles(Gram(gram.X, gram.kernel, gram.memory), 1) as tiles:
        dtype = np.float32 if tiles.precise(np.float32) else np.float64
        K = np.abs(tiles.block(v.sample, tiles.columns(v.sample[rows], dtype)))
    diagonal = K[rows, np.arange(rows.size)].astype(np.float64)
    least = negligible(merged, float(diagonal.max()), tol)
    others = (K.sum(axis=0) - diagonal) / np.maximum(diagonal, _LEAST[1] * diagonal.max() or 1.0)
    share = float(np.count_nonzero(np.greater(K, least)) / K.size)
    return Diagnosis(merged, least, share, float(np.median(others)))


def negligible(merged: Merged, largest: float, tol: float) -> float:
    """Return the size up to which entries of K count for nothing, see `Diagnosis.least`.

    `largest` is that of the diagonal.
    """
    terms, centre = merged.variables.terms, merged.centre
    room = float(np.maximum(np.abs(terms.lo + centre), np.abs(terms.hi + centre)).sum())
    return min(
        max(0.1 * tol / max(room, np.finfo(float).tiny), _LEAST[0] * largest), _LEAST[1] * largest
    )
