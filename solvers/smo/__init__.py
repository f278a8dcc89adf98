"""Sequential minimal optimisation, in three nested levels.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = sums in each group (or none), lo ≤ z ≤ hi

Up to 500 variables, all of K is computed and compiled code solves the problem (`small`). Above, there
are three levels. All variables: their scores f = Kz show which may still have to move. Active
variables, a few thousand: the problem is solved on these, with their rows of K in memory, before the
other scores are updated (Joachims 1999). Working set, 512 active variables: pairs move along the
equality to the exact minimum in the box (Platt 1998), the pair with the largest second-order gain first
(Fan, Chen & Lin 2005), on a block of K that stays in the processor's cache.

Each level saves work for the one above it, since kernel values dominate the time. They are in float32.
When the violation approaches their rounding errors, and before optimality is claimed, the scores near
the margin are recomputed in float64, and the remaining problem is solved with the same rows. Once the
free variables are few and no longer change, Newton steps in float64 finish; once refreshes stop
helping, all rows are recomputed in float64. The documentation says what each optimisation gains, and on
which data.

Reading order: `problem` and `contradictions` (the variables z), `conditions` (optimality), `matrix` (K),
`scores` (f and its errors), `pairs` (the innermost loop), `newton` (steps on all free variables),
`active` (rounds), `state` and `decomposition` (the outermost loop).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dualgap.problems.forms import FormPoint, KernelQP
from dualgap.problems.gram.threads import Threads
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import ALL_IN_EQUALITIES
from dualgap.solvers.smo.decomposition import minimise
from dualgap.solvers.smo.pairs import minimise_by_pairs
from dualgap.solvers.smo.small import compile_newton, is_small, minimise_by_matrix
from dualgap.solvers.smo.tuning import TUNING


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for the dual of any piecewise linear loss, with or without equalities.

    Attributes
    ----------
    tol : stop when the violation of the maximal violating pair is at most `tol` (as in LIBSVM); nothing
        is claimed if the relative duality gap still exceeds `gap`, or 1e-2, as it may if C is huge.
    gap : stop also when the relative duality gap is at most `gap`; None disables this. A box with
        infinite bounds has no gap.
    max_iter : number of steps after which to stop without a claim.
    cache_size : megabytes for kernel rows; None for all rows, or half of the available memory. The
        counter of the same name reports the size used.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 10_000_000
    cache_size: float | None = None

    form: ClassVar = KernelQP
    needs: ClassVar = (ALL_IN_EQUALITIES,)
    finest_tol: ClassVar = 0.0  # the gap stops it
    warm_up_size: ClassVar = TUNING.max_one_set + 1
    warm_up_settings: ClassVar = {"tol": 0.1, "gap": 0.1}  # a smaller gap, or None, takes too long
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def prepare(self, form: KernelQP) -> KernelQP:
        """Compile the functions that only some problems of a kind need."""
        if is_small(form, self.cache_size):
            compile_newton()
        return form

    def iterates(self, form: KernelQP) -> Iterator[FormPoint]:
        """Yield a point every few rounds."""
        limits = self.tolerance, self.gap, int(self.max_iter)
        if is_small(form, self.cache_size):
            yield from Threads().with_one_blas_thread(minimise_by_matrix(form, *limits))
        else:
            yield from minimise(form, minimise_by_pairs, *limits, self.cache_size)
