"""Estimate from a few rows whether K has few non-negligible entries and is nearly diagonal.

If C is large and the kernel narrow, nearly every sample is a support vector between its bounds, and SMO
needs millions of pair steps; but K has few entries, and a few products solve Newton's system.
"""

from typing import NamedTuple

import numpy as np

from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.semismooth_newton.tuning import TUNING
from dualgap.solvers.smo.variables import JoinedForm, joined


class SparsityDiagnosis(NamedTuple):
    """Sparsity of a form's K, estimated from a few rows.

    Attributes
    ----------
    threshold : entries up to this size change no score by more than a tenth of `tol`, for any z in the
        box, or by more than float64's rounding.
    problem : with equal samples merged. density : the fraction of larger entries of K.
    off_diagonal : median over rows of Σ|k(xᵢ, xⱼ)| over j ≠ i, relative to the diagonal.
    """

    problem: JoinedForm
    threshold: float
    density: float
    off_diagonal: float

    @property
    def entries(self) -> float:
        """Estimated number of larger entries of K."""
        return self.density * self.problem.form.n**2

    def fits(self, megabytes: float) -> bool:
        """Whether the larger entries fit in memory: 32 bytes each while the matrix is built."""
        return 32 * self.entries <= 1e6 * megabytes

    @property
    def pays(self) -> bool:
        """Whether Newton steps on the sparse matrix are faster than pair steps (`bench_choice`)."""
        return (
            self.problem.form.n >= TUNING.min_variables
            and self.density <= 0.01
            and self.off_diagonal <= 0.5
        )


def diagnose_at_a_glance(form: KernelQP, tol: float) -> SparsityDiagnosis | None:
    """Return the diagnosis, or None: usually a millisecond rules out Newton steps."""
    n, gram = form.n, form.gram
    if n < TUNING.min_variables:
        return None
    sampled = form.samples[np.random.default_rng(0).permutation(n)[: TUNING.sampled_rows + 512]]
    with Threads().limited(1):  # small products
        K = np.abs(gram.bound.block(sampled[: TUNING.sampled_rows], sampled[TUNING.sampled_rows :]))
    largest = float(gram.diagonal()[sampled].max())
    if np.count_nonzero(TUNING.max_negligible * largest < K) > 0.04 * K.size:  # too dense by far
        return None
    return diagnose(form, tol)


def diagnose(form: KernelQP, tol: float) -> SparsityDiagnosis:
    """Return the diagnosis from a few rows of K, with equal samples merged; takes about 0.03 s.

    A separate Gram matrix is used, so that these evaluations are not counted as the solver's.
    """
    problem = joined(form)
    sample = problem.form.samples
    rows = np.random.default_rng(0).permutation(sample.size)[: TUNING.sampled_rows]
    gram = form.gram
    with Tiles(Gram(gram.X, gram.kernel, gram.memory), 1) as tiles:
        dtype = np.float32 if tiles.precise(np.float32) else np.float64
        K = np.abs(tiles.block(sample, tiles.columns(sample[rows], dtype)))
    diagonal = K[rows, np.arange(rows.size)].astype(np.float64)
    threshold = negligible(problem, float(diagonal.max()), tol)
    off_diagonal = (K.sum(axis=0) - diagonal) / np.maximum(
        diagonal, TUNING.max_negligible * diagonal.max() or 1.0
    )
    density = float(np.count_nonzero(np.greater(K, threshold)) / K.size)
    return SparsityDiagnosis(problem, threshold, density, float(np.median(off_diagonal)))


def negligible(problem: JoinedForm, largest: float, tol: float) -> float:
    """Return the size up to which entries of K are negligible; `largest` is that of the diagonal.

    See `SparsityDiagnosis`.
    """
    form, centre = problem.form, problem.centre
    total_width = float(np.maximum(np.abs(form.lo + centre), np.abs(form.hi + centre)).sum())
    size = 0.1 * tol / max(total_width, np.finfo(float).tiny)
    return min(max(size, 1e-16 * largest), TUNING.max_negligible * largest)  # 1e-16: rounding
