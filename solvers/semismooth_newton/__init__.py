"""Semismooth Newton on a sparse K, for narrow kernels whose support vectors are nearly all free.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

One pass over half of K keeps the entries that count (`storage`); the proximal point method with
semismooth Newton steps (`method`) then needs some tens of products with them, which take no time beside
that pass. Equal samples are one variable, also those of opposite labels (`smo.duplicates`): they make K
singular. Some rows of K say before whether this pays (`diagnosis`), and `solve` picks it where it does.

On w8a with C = 64 and gamma = 7.8, where 34,678 of 34,704 distinct samples are support vectors between
their bounds, 65 products lead to a relative gap of 1e-10: half a second after the pass of two to four.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import (
    ALL_IN_EQUALITIES,
    CONVEX,
    FINITE_BOUNDS,
    ONE_EQUALITY,
    Need,
    refusal,
)
from dualgap.solvers.numerics.claims import may_claim
from dualgap.solvers.semismooth_newton.diagnosis import (
    diagnose,
    diagnose_at_a_glance,
    negligible,
)
from dualgap.solvers.semismooth_newton.method import Method
from dualgap.solvers.semismooth_newton.storage import LargeEntries, compile_pass
from dualgap.solvers.smo.duplicates import Merged, merge
from dualgap.solvers.smo.variables import from_form

_MANY = 5000  # variables from which the first pass is in float32
_PATIENCE = 8  # centres without halving the violation


_STORAGE = Need(
    "a larger cache_size, as too many entries of K count; or use smo",
    lambda form, solver: diagnose(form, solver.tolerance).fits(solver.cache_size),
)


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """Semismooth Newton for box QPs with at most one equality, whose K has few entries that count.

    Attributes
    ----------
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning); without a claim
        if the relative duality gap is still above `gap`, or 1e-2.
    gap : stop also when the relative duality gap is at or below it; None never does.
    max_iter : Newton steps after which it stops without a claim.
    cache_size : megabytes for the entries of K.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 1000
    cache_size: float = 1000.0

    form: ClassVar = BoxQP
    needs: ClassVar = (ONE_EQUALITY, ALL_IN_EQUALITIES, FINITE_BOUNDS, _STORAGE, CONVEX)
    finest_tol: ClassVar = 0.0  # it ends by its gap
    warm_up_size: ClassVar = 32
    warm_up_settings: ClassVar = {"tol": 1e-3, "gap": None}
    source: ClassVar[str] = "Hintermüller, Ito & Kunisch 2002; Niu et al. 2019"

    def suits(self, form: BoxQP) -> Merged | None:
        """Return the form's variables if it takes the form and pays there, else None.

        That is seen in a small share of the time to solve.
        """
        found = diagnose_at_a_glance(form, self.tolerance)
        if found is None or not found.pays or not found.fits(self.cache_size):
            return None
        others = [need for need in self.needs if need is not _STORAGE]
        return found.merged if refusal(form, self, others) is None else None

    def prepare(self, form: BoxQP | Merged) -> BoxQP | Merged:
        """Compile the pass for both precisions: small problems have one."""
        compile_pass()
        return form

    def iterates(self, form: BoxQP | Merged) -> Iterator[FormPoint]:
        """Yield after every centre; from the variables of a form if it was looked at before."""
        threads = Threads()
        gram = form.original.form.gram if isinstance(form, Merged) else form.gram
        with Tiles(gram, threads.count) as tiles:
            yield from threads.one_at_a_time(self._points(form, tiles))

    def _points(self, given: BoxQP | Merged, tiles: Tiles) -> Iterator[FormPoint]:
        merged = given if isinstance(given, Merged) else merge(from_form(given))
        v, form = merged.variables, merged.original.form
        largest = float(form.gram.diagonal().max())
        least = negligible(merged, largest, self.tolerance)
        single = self.tolerance >= 1e-4 and v.n >= _MANY and tiles.precise(np.float32)
        K = LargeEntries(tiles, v.sample, v.scale, least, np.float32 if single else np.float64)
        method = Method(merged, K)
        best, slow = np.inf, 0
        while True:
            x, f = merged.spread(method.z), method.scores
            doubled = merged.original.doubled
            Qx = np.concatenate([f, -f]) if doubled else merged.original.multiplier * f
            g = Qx + form.p
            value = 0.5 * abs(float(x @ (g + form.p)))
            relative = float(form.gap_terms(g, x).sum()) / value if value else np.inf
            solved = method.violation <= self.tolerance or (
                self.gap is not None and relative <= self.gap
            )
            slow = slow + 1 if method.violation > 0.5 * best else 0
            best = min(best, method.violation)
            coarse = slow > _PATIENCE or (solved and method.error > 0.5 * self.tolerance)
            if coarse and K.dtype == np.float32:
                K = LargeEntries(tiles, v.sample, v.scale, least, np.float64)
                method.take(K)
                slow = 0
                continue
            if solved or slow > _PATIENCE or method.steps >= self.max_iter:
                break
            yield FormPoint(x, iterations=method.steps)
            method.advance(int(self.max_iter) - method.steps)
        claim: Claim = "optimal" if solved and may_claim(form, x, relative, self.gap) else "stopped"
        counters = {"products": K.products, "entries": K.matrix.nnz, "bits": 8 * K.dtype.itemsize}
        yield FormPoint(x, iterations=method.steps, claim=claim, counters=counters)
