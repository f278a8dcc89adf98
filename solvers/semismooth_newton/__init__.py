"""Semismooth Newton on a sparse K, for narrow kernels whose support vectors are nearly all free.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = total (or none), lo ≤ z ≤ hi

One pass over half of K stores the entries that are not negligible (`storage`); the proximal point
method with semismooth Newton steps (`method`) then needs a few dozen products with them, whose time is
negligible. Equal samples, which make K singular, are merged, even those with opposite labels
(`contradictions`). A few rows of K predict whether the method is worthwhile (`diagnosis`); if so,
`solve` chooses it by default.

On w8a with C = 64 and gamma = 7.8, where 34,678 of 34,704 distinct samples are support vectors between
their bounds, 65 products reach a relative gap of 1e-10: half a second after a pass of two to four. There
SMO takes 3.4 to 6.4 times as long, on the first 10,000 samples 18 to 23 times, and on svmguide1 with
gamma = 2 about 4 times (`bench_choice`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import Claim, FormPoint, KernelQP
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
from dualgap.solvers.semismooth_newton.tuning import TUNING
from dualgap.solvers.smo.variables import JoinedForm, divide, joined

_STORAGE = Need(
    "a cache_size that holds all entries of K that count; smo needs less",
    lambda form, solver: diagnose(form, solver.tolerance).fits(solver.cache_size),
)


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """Semismooth Newton for duals with at most one equality, whose K has few non-negligible entries.

    Attributes
    ----------
    tol : stop when the violation of the maximal violating pair is at most `tol` (as in LIBSVM); nothing
        is claimed if the relative duality gap still exceeds `gap`, or 1e-2.
    gap : stop also when the relative duality gap is at most `gap`; None disables this.
    max_iter : number of Newton steps after which to stop without a claim.
    cache_size : megabytes for the entries of K.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 1000
    cache_size: float = 1000.0

    form: ClassVar = KernelQP
    needs: ClassVar = (ONE_EQUALITY, ALL_IN_EQUALITIES, FINITE_BOUNDS, _STORAGE, CONVEX)
    finest_tol: ClassVar = 0.0  # the gap stops it
    warm_up_size: ClassVar = 32
    warm_up_settings: ClassVar = {"tol": 1e-3, "gap": None}
    source: ClassVar[str] = "Hintermüller, Ito & Kunisch 2002; Niu et al. 2019"

    def state_if_default(self, form: KernelQP) -> JoinedForm | None:
        """Return the form's variables if the solver is supported and worthwhile, else None.

        This takes a small fraction of the time to solve.
        """
        sparsity = diagnose_at_a_glance(form, self.tolerance)
        if sparsity is None or not sparsity.pays or not sparsity.fits(self.cache_size):
            return None
        conditions = [need for need in self.needs if need is not _STORAGE]
        return sparsity.problem if refusal(form, self, conditions) is None else None

    def prepare(self, form: KernelQP | JoinedForm) -> KernelQP | JoinedForm:
        """Compile functions that small problems do not use: both precisions of the pass, and merging."""
        compile_pass()
        divide(np.zeros(1), np.zeros(1, np.int64), np.zeros(1), np.zeros(1))
        return form

    def iterates(self, form: KernelQP | JoinedForm) -> Iterator[FormPoint]:
        """Yield after every centre; accepts a form, or the joined one if already available."""
        threads = Threads()
        problem = form if isinstance(form, JoinedForm) else joined(form)
        with Tiles(problem.form.gram, threads.count) as tiles:
            yield from threads.with_one_blas_thread(self._points(problem, tiles))

    def _points(self, problem: JoinedForm, tiles: Tiles) -> Iterator[FormPoint]:
        n, sample = problem.form.n, problem.form.samples
        form, box = problem.original, problem.original.box
        largest = float(form.gram.diagonal().max())
        threshold = negligible(problem, largest, self.tolerance)
        single = (
            self.tolerance >= 1e-4
            and n >= TUNING.min_float32_variables
            and tiles.precise(np.float32)
        )
        K = LargeEntries(tiles, sample, threshold, np.float32 if single else np.float64)
        method = Method(problem, K)
        # stalled: centres without halving the violation
        best, stalled, max_stalled = np.inf, 0, 8
        while True:
            beta = problem.to_original(method.z)
            x, g = form.split_point(beta), form.split_gradient(method.scores)
            value = 0.5 * abs(float(x @ (g + box.p)))
            relative = float(box.gap_terms(g, x).sum()) / value if value else np.inf
            solved = method.violation <= self.tolerance or (
                self.gap is not None and relative <= self.gap
            )
            stalled = stalled + 1 if method.violation > 0.5 * best else 0
            best = min(best, method.violation)
            coarse = stalled > max_stalled or (solved and method.error > 0.5 * self.tolerance)
            if coarse and K.dtype == np.float32:
                K = LargeEntries(tiles, sample, threshold, np.float64)
                method.take(K)
                stalled = 0
                continue
            if solved or stalled > max_stalled or method.steps >= self.max_iter:
                break
            yield FormPoint(beta, iterations=method.steps)
            method.advance(int(self.max_iter) - method.steps)
        solved = solved and may_claim(form, beta, relative, self.gap)
        claim: Claim = "optimal" if solved else "stopped"
        counters = {"products": K.products, "entries": K.matrix.nnz, "bits": 8 * K.dtype.itemsize}
        yield FormPoint(beta, iterations=method.steps, claim=claim, counters=counters)
