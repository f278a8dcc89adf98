"""Newton's method for squared losses, which are piecewise quadratic: it ends after finitely many steps.

    min F(w) = ½‖w‖² + Σ Cᵢ·ℓ(yᵢ, xᵢᵀw),   ℓ the squared hinge, the squared tube or the squared loss
    H·p = −∇F   with H = I + XᵀDX, D = diag(Cᵢℓ''(yᵢ, fᵢ)),   w ← w + t·p
t minimises F along p; once the set of samples with a loss no longer changes it is 1, and w the optimum.
The loss is ½cᵢ·eᵢ² with curvature cᵢ, where eᵢ is the distance of fᵢ from the interval without loss.
H (d, d) is formed and factorised, for up to a few thousand features; use conjugate gradients for more
(`NewtonCG`).

Mangasarian 2002, "A finite Newton method for classification"; Keerthi & DeCoste 2005, "A modified finite
Newton method for fast solution of large scale linear SVMs".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
from scipy.linalg.lapack import dposv

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.losses import IntervalLoss
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import LINEAR, NO_INTERCEPT, Need
from dualgap.solvers.numerics.rows import as_rows
from dualgap.solvers.smooth_primal import SmoothRisk

MAX_FEATURES = 2000  # H then takes 32 MB, and 0.1 s to factorise


@dataclass(frozen=True)
class FiniteNewton(Solver):
    """Newton steps on the weights, with a line search.

    Attributes
    ----------
    tol : expected gain of a step, −½∇Fᵀp, relative to F, after which it stops.
    max_iter : steps after which it stops without a claim.
    """

    tol: float | None = None
    max_iter: int = 100

    form: ClassVar = ERM
    needs: ClassVar = (
        Need(
            "a squared loss",
            lambda form, _: isinstance(form.loss, IntervalLoss) and form.loss.is_smooth,
        ),
        LINEAR,
        NO_INTERCEPT,
        Need(
            f"at most {MAX_FEATURES} features, as it factorises H",
            lambda form, _: form.gram.X.shape[1] <= MAX_FEATURES,
        ),
    )
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Mangasarian 2002; Keerthi & DeCoste 2005"

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each step."""
        points, (n, d) = self._points(form), form.gram.X.shape
        # small products take less time than waking a second thread
        return points if n * d * d > 1e9 else Threads().with_one_blas_thread(points)

    def _points(self, form: ERM) -> Iterator[FormPoint]:
        X, loss = form.gram.X, form.loss
        assert isinstance(loss, IntervalLoss)
        of_losses = (*loss.ends(form.y), form.C / loss.smoothing)
        regularised = np.ones(X.shape[1])
        w = np.zeros(X.shape[1]) if form.start is None else X.T @ form.start
        for step in range(1, int(self.max_iter) + 1):
            w, _, converged = minimise_squares(X, *of_losses, regularised, w, self.tolerance, 1)
            fallback = "stopped" if converged or step == self.max_iter else "none"
            optimal = converged and SmoothRisk(form).relative_gap(w) <= WRONG_GAP
            yield FormPoint(w, b=0.0, iterations=step, claim="optimal" if optimal else fallback)
            if converged:
                return


def minimise_squares(
    X: Matrix, lower: Vector, upper: Vector, c: Vector, r: Vector, w: Vector, tol: float, max_iter: int
) -> tuple[Vector, int, bool]:  # fmt: skip
    """Minimise ½Σ rⱼwⱼ² + ½Σ cᵢeᵢ² from `w` (d,) on, to an expected relative gain of at most `tol`.

    Shapes: `X` (n, d), `r` (d,), the others (n,). Returns w, the number of steps, and convergence.
    """
    f, slopes = X @ w, np.empty(lower.size)
    for step in range(1, max_iter + 1):
        active, losses = _weigh(f, lower, upper, c, slopes)
        value = 0.5 * float(r @ (w * w)) + losses
        H = _curvature(X, active, c)
        gradient = r * w - slopes @ X
        diagonal = np.einsum("jj->j", H)
        # with a ridge for weights without regularisation
        diagonal += r + 1e-14 * (1.0 + diagonal)
        _, p, failed = dposv(H, -gradient)
        if failed:  # H is definite only up to rounding
            p = np.linalg.solve(H, -gradient)
        converged = bool(-0.5 * (gradient @ p) <= tol * value)
        q = X @ p
        t = _step_length(f, q, lower, upper, c, float(r @ (w * p)), float(r @ (p * p)))
        w, f = w + t * p, f + t * q
        if converged:
            return w, step, True
    return w, max_iter, False


def _curvature(X: Matrix, active: Indices, c: Vector) -> Block:
    """Return Σ cᵢxᵢxᵢᵀ over the `active` samples."""
    if isinstance(X, np.ndarray):
        rows = X[active]
        rows *= np.sqrt(c[active])[:, None]
        return rows.T @ rows
    _, data, indices, indptr = as_rows(X)
    H = np.zeros((X.shape[1], X.shape[1]))
    _add_products(data, indices, indptr, active, c, H)
    return H


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_products(
    data: Vector, indices: Indices, indptr: Indices, active: Indices, c: Vector, H: Block
) -> None:
    """Add Σ cᵢxᵢxᵢᵀ over active sparse samples to H."""
    for i in active:
        for k in range(indptr[i], indptr[i + 1]):
            row, value = indices[k], c[i] * data[k]
            for m in range(indptr[i], indptr[i + 1]):
                H[row, indices[m]] += value * data[m]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _weigh(
    f: Vector, lower: Vector, upper: Vector, c: Vector, slopes: Vector
) -> tuple[Indices, float]:
    """Write cᵢeᵢ to `slopes`; return the samples not inside their intervals, and Σ ½cᵢeᵢ²."""
    active, count, losses = np.empty(f.size, np.int64), 0, 0.0
    for i in range(f.size):
        e = lower[i] - f[i] if f[i] <= lower[i] else upper[i] - f[i] if f[i] >= upper[i] else 0.0
        slopes[i] = c[i] * e
        losses += 0.5 * slopes[i] * e
        if f[i] <= lower[i] or f[i] >= upper[i]:
            active[count] = i
            count += 1
    return active[:count], losses


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _step_length(
    f: Vector, q: Vector, lower: Vector, upper: Vector, c: Vector, wp: float, pp: float
) -> float:
    """Return a t at which the slope along p is small, by Newton's method within a bracket."""
    low, high, t, slope_limit = 0.0, np.inf, 0.0, np.inf
    for trial in range(60):
        slope, curvature = wp + t * pp, pp
        for i in range(f.size):
            score = f[i] + t * q[i]
            if score <= lower[i]:
                slope -= c[i] * (lower[i] - score) * q[i]
                curvature += c[i] * q[i] ** 2
            elif score >= upper[i]:
                slope -= c[i] * (upper[i] - score) * q[i]
                curvature += c[i] * q[i] ** 2
        if trial == 0:
            # relative to the slope at t = 0
            slope_limit, t = 1e-2 * abs(slope), 1.0
            continue
        if abs(slope) <= slope_limit:
            break
        if slope < 0:
            low = t
        else:
            high = t
        t -= slope / curvature
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t
