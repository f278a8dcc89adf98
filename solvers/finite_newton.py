"""Newton's method for squared losses, which are quadratic in pieces: it ends after finitely many steps.

    min F(w) = ½‖w‖² + Σ Cᵢ·ℓ(yᵢ, xᵢᵀw),   ℓ the squared hinge, the squared tube or the squared loss
    H·p = −∇F   with H = I + XᵀDX, D = diag(Cᵢℓ''(yᵢ, fᵢ)),   w ← w + t·p
t minimises F along p; where the samples that have a loss stay the same it is 1, and w is the optimum.
The loss is ½cᵢ·eᵢ², eᵢ how far fᵢ is outside of the interval without loss: its curvature there is cᵢ.
H (d, d) is formed and factorised, so it is for up to a few thousand features; conjugate gradients take
over above that (`NewtonCG`).

Mangasarian 2002, "A finite Newton method for classification"; Keerthi & DeCoste 2005, "A modified finite
Newton method for fast solution of large scale linear SVMs".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.forms import ERM, FormPoint
from problems.gram.threads import Threads
from problems.kernels import Block
from problems.losses import IntervalLoss
from solvers.base import Solver
from solvers.numerics.claims import FAR
from solvers.numerics.rows import Rows, as_rows, dot
from solvers.smooth_primal import SmoothRisk

MOST_FEATURES = 2000  # whose H takes 32 MB, and a tenth of a second to factorise
_LARGE_PRODUCT = 1e9  # multiplications for H, some 30 ms on one core
_SHARE = 1e-2  # of F's slope along p, at which a step is long enough
_MOST_TRIALS = 60
_RIDGE = 1e-14  # of the curvature, where nothing regularises


@dataclass(frozen=True)
class FiniteNewton(Solver):
    """Newton steps on the weights, with a line search.

    Attributes
    ----------
    tol : stop after a step from which −½∇Fᵀp, its expected gain, is at most that share of F.
    max_iter : steps, after which it makes no claim.
    """

    tol: float | None = None
    max_iter: int = 100

    form: ClassVar = ERM
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Mangasarian 2002; Keerthi & DeCoste 2005"

    def refuses(self, form: ERM) -> str | None:
        """It needs a squared loss, and all weights with coordinates, regularised, and not too many."""
        if not isinstance(form.loss, IntervalLoss) or not form.loss.is_smooth:
            return f"finite Newton needs a squared loss, not the {form.loss.name} loss"
        if not form.gram.is_linear:
            return "finite Newton works on w, which has coordinates only for the linear kernel"
        if form.intercept:
            return "finite Newton has no unregularised intercept: H could be singular"
        if form.gram.X.shape[1] > MOST_FEATURES:
            return f"finite Newton factorises H, of up to {MOST_FEATURES} features"
        return None

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each step."""
        points, (n, d) = self._points(form), form.gram.X.shape
        # waking a second thread for small products takes longer than they do
        return points if n * d * d > _LARGE_PRODUCT else Threads().one_at_a_time(points)

    def _points(self, form: ERM) -> Iterator[FormPoint]:
        X, loss = form.gram.X, form.loss
        assert isinstance(loss, IntervalLoss)
        of_losses = (*loss.ends(form.y), form.C / loss.smoothing)
        rows, regularised = as_rows(X), np.ones(X.shape[1])
        w = np.zeros(X.shape[1]) if form.start is None else X.T @ form.start
        for step in range(1, int(self.max_iter) + 1):
            w, _, done = minimise_squares(rows, *of_losses, regularised, w, self.tolerance, 1)
            ended = "stopped" if done or step == self.max_iter else "none"
            optimal = done and SmoothRisk(form).relative_gap(w) <= FAR
            yield FormPoint(w, b=0.0, iterations=step, claim="optimal" if optimal else ended)
            if done:
                return


@numba.njit(cache=True, nogil=True)
def minimise_squares(
    X: Rows, lower: Vector, upper: Vector, c: Vector, r: Vector, w: Vector, tol: float, max_iter: int
) -> tuple[Vector, int, bool]:  # fmt: skip
    """Minimise ½Σ rⱼwⱼ² + ½Σ cᵢeᵢ² from `w` (d,), until a step is expected to gain at most `tol` of it.

    Shapes: `X` n rows, `r` (d,), the others (n,). Returns w, the steps taken, and whether it got there.
    """
    f = _scores(X, w, lower.size)
    for step in range(1, max_iter + 1):
        e = np.maximum(lower - f, 0.0) + np.minimum(upper - f, 0.0)
        value = 0.5 * np.sum(r * w * w) + 0.5 * np.sum(c * e * e)
        H, g = _normal_equations(X, np.flatnonzero((f <= lower) | (f >= upper)), c, c * e, w.size)
        gradient = r * w - g
        for j in range(w.size):
            H[j, j] += r[j] + _RIDGE * (1.0 + H[j, j])
        p = np.linalg.solve(H, -gradient)
        done = -0.5 * (gradient @ p) <= tol * value
        q = _scores(X, p, lower.size)
        t = _step_length(f, q, lower, upper, c, np.sum(r * w * p), np.sum(r * p * p))
        w, f = w + t * p, f + t * q
        if done:
            return w, step, True
    return w, max_iter, False


@numba.njit(cache=True, nogil=True)
def _scores(X: Rows, w: Vector, n: int) -> Vector:
    """Return X w."""
    if X.dense.size > 0:
        return X.dense @ w
    f = np.empty(n)
    for i in range(n):
        f[i] = dot(X, i, w)
    return f


@numba.njit(cache=True, nogil=True)
def _normal_equations(X: Rows, used: Indices, c: Vector, s: Vector, d: int) -> tuple[Block, Vector]:
    """Return Σ cᵢxᵢxᵢᵀ and Σ sᵢxᵢ over the samples `used`, the only ones with an sᵢ."""
    if X.dense.size > 0:
        rows = np.empty((used.size, d))
        for k, i in enumerate(used):
            rows[k] = np.sqrt(c[i]) * X.dense[i]
        return rows.T @ rows, s @ X.dense
    H, g = np.zeros((d, d)), np.zeros(d)
    for i in used:
        for k in range(X.indptr[i], X.indptr[i + 1]):
            row, value = X.indices[k], c[i] * X.data[k]
            g[row] += s[i] * X.data[k]
            for m in range(X.indptr[i], X.indptr[i + 1]):
                H[row, X.indices[m]] += value * X.data[m]
    return H, g


@numba.njit(cache=True, nogil=True)
def _step_length(
    f: Vector, q: Vector, lower: Vector, upper: Vector, c: Vector, wp: float, pp: float
) -> float:
    """Return a t with a small slope of the objective along p, by Newton's method within a bracket."""
    low, high, t, enough = 0.0, np.inf, 0.0, np.inf
    for trial in range(_MOST_TRIALS):
        slope, curvature = wp + t * pp, pp
        for i in range(f.size):
            here = f[i] + t * q[i]
            if here <= lower[i]:
                slope -= c[i] * (lower[i] - here) * q[i]
                curvature += c[i] * q[i] ** 2
            elif here >= upper[i]:
                slope -= c[i] * (upper[i] - here) * q[i]
                curvature += c[i] * q[i] ** 2
        if trial == 0:
            enough, t = _SHARE * abs(slope), 1.0
            continue
        if abs(slope) <= enough:
            break
        if slope < 0:
            low = t
        else:
            high = t
        t -= slope / curvature
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t
