"""Newton's method for squared losses, which are quadratic in pieces: it ends after finitely many steps.

    min F(w) = ½‖w‖² + Σ Cᵢ·ℓ(yᵢ, xᵢᵀw),   ℓ the squared hinge, the squared tube or the squared loss
    H·p = −∇F   with H = I + XᵀDX, D = diag(Cᵢℓ''(yᵢ, fᵢ)),   w ← w + t·p
t minimises F along p; where the samples that have a loss stay the same it is 1, and w is the optimum.
H (d, d) is formed and factorised, so it is for up to a few thousand features; conjugate gradients take
over above that (`NewtonCG`).

Mangasarian 2002, "A finite Newton method for classification"; Keerthi & DeCoste 2005, "A modified finite
Newton method for fast solution of large scale linear SVMs".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
import scipy

from problems.dataset import Vector
from problems.forms import ERM, FormPoint
from problems.gram.threads import Threads
from problems.kernels import Block, as_dense
from problems.losses import IntervalLoss
from solvers.base import Solver

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

    tol: float = 1e-12
    max_iter: int = 100

    form: ClassVar = ERM
    source: ClassVar[str] = "Mangasarian 2002; Keerthi & DeCoste 2005"
    needs: ClassVar = (("scipy.linalg", "scipy"),)

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

    def prepare(self, form: ERM) -> ERM:
        """Import SciPy's solver of positive definite systems, and find the threads."""
        Threads()
        return super().prepare(form)

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each step."""
        points, (n, d) = self._points(form), form.gram.X.shape
        # waking a second thread for small products takes longer than they do
        return points if n * d * d > _LARGE_PRODUCT else Threads().one_at_a_time(points)

    def _points(self, form: ERM) -> Iterator[FormPoint]:
        from scipy.linalg import solve  # noqa: PLC0415 - slow to import

        X, y, C, loss = form.gram.X, form.y, form.C, form.loss
        w = np.zeros(X.shape[1]) if form.start is None else X.T @ form.start
        f = X @ w
        for step in range(1, int(self.max_iter) + 1):
            gradient = w + X.T @ (C * loss.subgradient(y, f))
            value = 0.5 * float(w @ w) + float(C @ loss.value(y, f))
            H = _hessian(X, C * loss.curvature_times(y, f, np.ones(y.size)))
            p = -solve(H, gradient, assume_a="pos", overwrite_a=True)
            done = -0.5 * float(gradient @ p) <= self.tol * value
            w = w + _step_length(form, w, f, p, X @ p) * p
            f = X @ w
            ended = "stopped" if step == self.max_iter else "none"
            yield FormPoint(w, b=0.0, iterations=step, claim="optimal" if done else ended)
            if done:
                return


def _hessian(X: Any, weight: Vector) -> Block:
    """Return I + Xᵀ·diag(weight)·X, from the samples with a weight."""
    used = np.flatnonzero(weight)
    root = np.sqrt(weight[used])
    rows = (
        scipy.sparse.diags_array(root) @ X[used]
        if scipy.sparse.issparse(X)
        else root[:, None] * X[used]
    )
    H = as_dense(rows.T @ rows)
    H[np.diag_indices_from(H)] += 1.0
    return H


def _step_length(form: ERM, w: Vector, f: Vector, p: Vector, q: Vector) -> float:
    """Return a t with a small slope of F(w + t·p), by Newton's method kept within a bracket.

    `q` is Xp, and the slope (w + t·p)ᵀp + Σ Cᵢℓ'(yᵢ, fᵢ + t·qᵢ)·qᵢ never falls.
    """
    y, C, loss = form.y, form.C, form.loss
    wp, pp = float(w @ p), float(p @ p)

    def slope(t: float) -> float:
        return wp + t * pp + float((C * loss.subgradient(y, f + t * q)) @ q)

    enough = _SHARE * abs(slope(0.0))
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(_MOST_TRIALS):
        here = slope(t)
        if abs(here) <= enough:
            break
        low, high = (t, high) if here < 0 else (low, t)
        t -= here / (pp + float(C @ loss.curvature_times(y, f + t * q, q**2)))
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t


@numba.njit(cache=True, nogil=True)
def minimise_squares(
    X: Block, lower: Vector, upper: Vector, c: Vector, r: Vector, w: Vector, tol: float, max_iter: int
) -> tuple[Vector, int, bool]:  # fmt: skip
    """Minimise from `w` (d,) until a step is expected to gain at most the share `tol`.

    Shapes: `X` (n, d), `r` (d,), the others (n,). Returns w, the steps taken, and whether it got there.
    """
    f = X @ w
    for step in range(1, max_iter + 1):
        e = np.maximum(lower - f, 0.0) + np.minimum(upper - f, 0.0)
        gradient = r * w - (c * e) @ X
        value = 0.5 * np.sum(r * w * w) + 0.5 * np.sum(c * e * e)
        used = np.flatnonzero((f <= lower) | (f >= upper))
        rows = X[used]
        H = rows.T @ (rows * c[used].reshape(-1, 1))
        for j in range(w.size):
            H[j, j] += r[j] + _RIDGE * (1.0 + H[j, j])
        p = np.linalg.solve(H, -gradient)
        done = -0.5 * (gradient @ p) <= tol * value
        q = X @ p
        t = _small_step_length(f, q, lower, upper, c, np.sum(r * w * p), np.sum(r * p * p))
        w, f = w + t * p, f + t * q
        if done:
            return w, step, True
    return w, max_iter, False


@numba.njit(cache=True, nogil=True)
def _small_step_length(
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
