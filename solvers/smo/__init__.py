"""Sequential minimal optimisation, in three nested levels.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

Up to 500 variables all of K is computed, and compiled code solves the problem (`small`). Above, three
levels. All variables: the scores f = Kz are kept for each, and say which may still have to move. Active
variables, some thousands: the problem is solved on these, with their own rows of K in memory, before
the other scores are brought up to date (Joachims 1999). Working set, 512 of the active: pairs of
variables move along the equality to the exact minimum in the box (Platt 1998), the pair with the
largest second-order gain first (Fan, Chen & Lin 2005), on a block of K that stays in the cache.

Each level spares the one above it, since kernel values are what takes the time. They are in float32.
When the violation comes down to their rounding errors, and before anything is claimed, the scores near
the margin are computed in float64, and what is left is solved with the same rows. Where the free
variables are few and settled, Newton steps in float64 end it; where refreshes help no more, all rows are
in float64. What each measure gains is in the documentation, with what it was measured on.

To read: `variables` and `duplicates` (what z is), `conditions` (when it is optimal), `matrix` and
`cache` (K), `state` (z, f and their errors), `pairs` (the innermost loop), `newton`,
`active` (rounds), `decomposition` (the outermost loop).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import ALL_IN_EQUALITIES
from dualgap.solvers.smo.active import MOST_ON_DEMAND
from dualgap.solvers.smo.cache import compile_rows
from dualgap.solvers.smo.decomposition import minimise
from dualgap.solvers.smo.pairs import compile_steps_on_demand, minimise_by_pairs
from dualgap.solvers.smo.small import compile_newton, is_small, minimise_by_matrix


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for any box QP, with or without the equality.

    Attributes
    ----------
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning); without a claim
        if the relative duality gap is still above `gap`, or 1e-2, as it may be where C is huge.
    gap : stop also when the relative duality gap is at or below it; None never does, and a box with
        infinite bounds has no gap to go by.
    max_iter : steps after which it stops without a claim.
    cache_size : megabytes for kernel rows; None for all rows, or half of the memory that is available.
        The counter of the same name says what there was room for.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 10_000_000
    cache_size: float | None = None

    form: ClassVar = BoxQP
    needs: ClassVar = (ALL_IN_EQUALITIES,)
    finest_tol: ClassVar = 0.0  # it ends by its gap
    warm_up_size: ClassVar = MOST_ON_DEMAND + 1
    warm_up_settings: ClassVar = {"tol": 0.1, "gap": 0.1}  # a small gap, or none, ends too late
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile what only some problems of a kind call."""
        if is_small(form, self.cache_size):
            compile_newton()
        else:
            compile_rows(form.gram, form.n, on_demand=True)
            if form.n <= MOST_ON_DEMAND:
                compile_steps_on_demand()
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield every few rounds."""
        limits = self.tolerance, self.gap, int(self.max_iter)
        if is_small(form, self.cache_size):
            yield from Threads().one_at_a_time(minimise_by_matrix(form, *limits))
        else:
            yield from minimise(form, minimise_by_pairs, *limits, self.cache_size)
