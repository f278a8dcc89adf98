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

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.problems.losses import IntervalLoss
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.claims import FAR
from dualgap.solvers.numerics.rows import as_rows
from dualgap.solvers.smooth_primal import SmoothRisk

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
        regularised = np.ones(X.shape[1])
        w = np.zeros(X.shape[1]) if form.start is None else X.T @ form.start
        for step in range(1, int(self.max_iter) + 1):
            w, _, done = minimise_squares(X, *of_losses, regularised, w, self.tolerance, 1)
            ended = "stopped" if done or step == self.max_iter else "none"
            optimal = done and SmoothRisk(form).relative_gap(w) <= FAR
            yield FormPoint(w, b=0.0, iterations=step, claim="optimal" if optimal else ended)
            if done:
                return


def minimise_squares(
    X: Matrix, lower: Vector, upper: Vector, c: Vector, r: Vector, w: Vector, tol: float, max_iter: int
) -> tuple[Vector, int, bool]:  # fmt: skip
    """Minimise ½Σ rⱼwⱼ² + ½Σ cᵢeᵢ² from `w` (d,), until a step is expected to gain at most `tol` of it.

    Shapes: `X` (n, d), `r` (d,), the others (n,). Returns w, the steps taken, and whether it got there.
    """
    f, slopes = X @ w, np.empty(lower.size)
    for step in range(1, max_iter + 1):
        used, losses = _weigh(f, lower, upper, c, slopes)
        value = 0.5 * float(r @ (w * w)) + losses
        H = _curvature(X, used, c)
        gradient = r * w - slopes @ X
        diagonal = np.einsum("jj->j", H)
        diagonal += r + _RIDGE * (1.0 + diagonal)
        p = np.linalg.solve(H, -gradient)
        done = bool(-0.5 * (gradient @ p) <= tol * value)
        q = X @ p
        t = _step_length(f, q, lower, upper, c, float(r @ (w * p)), float(r @ (p * p)))
        w, f = w + t * p, f + t * q
        if done:
            return w, step, True
    return w, max_iter, False


def _curvature(X: Matrix, used: Indices, c: Vector) -> Block:
    """Return Σ cᵢxᵢxᵢᵀ over the samples `used`."""
    if isinstance(X, np.ndarray):
        rows = X[used]
        rows *= np.sqrt(c[used])[:, None]
        return rows.T @ rows
    _, data, indices, indptr = as_rows(X)
    H = np.zeros((X.shape[1], X.shape[1]))
    _add_products(data, indices, indptr, used, c, H)
    return H


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_products(
    data: Vector, indices: Indices, indptr: Indices, used: Indices, c: Vector, H: Block
) -> None:
    """Add Σ cᵢxᵢxᵢᵀ over sparse samples to H."""
    for i in used:
        for k in range(indptr[i], indptr[i + 1]):
            row, value = indices[k], c[i] * data[k]
            for m in range(indptr[i], indptr[i + 1]):
                H[row, indices[m]] += value * data[m]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _weigh(
    f: Vector, lower: Vector, upper: Vector, c: Vector, slopes: Vector
) -> tuple[Indices, float]:
    """Write cᵢeᵢ to `slopes`; return the samples that are not inside their interval, and Σ ½cᵢeᵢ²."""
    used, count, losses = np.empty(f.size, np.int64), 0, 0.0
    for i in range(f.size):
        e = lower[i] - f[i] if f[i] <= lower[i] else upper[i] - f[i] if f[i] >= upper[i] else 0.0
        slopes[i] = c[i] * e
        losses += 0.5 * slopes[i] * e
        if f[i] <= lower[i] or f[i] >= upper[i]:
            used[count] = i
            count += 1
    return used[:count], losses


@numba.njit(cache=True, nogil=True, error_model="numpy")
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
