"""Newton's method for squared losses in one compiled call, for dense samples of few features.

    min ½Σⱼ rⱼwⱼ² + ½Σ cᵢeᵢ²,   eᵢ the distance of fᵢ = xᵢᵀw to [lowerᵢ, upperᵢ], signed
rⱼ is 1, or 0 for the feature of an intercept that is not regularised. The steps are those of
`solvers.finite_newton`, which takes sparse samples and many features too, and ten times as long for a
few hundred samples, where its calls of NumPy take longer than what they compute.
"""

from __future__ import annotations

import numba
import numpy as np

from problems.dataset import Vector
from problems.kernels import Block

_SHARE = 1e-2  # of the slope along the step, at which the step is long enough
_MOST_TRIALS = 60
_RIDGE = 1e-14  # of the curvature, where nothing regularises


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
        t = _step_length(f, q, lower, upper, c, np.sum(r * w * p), np.sum(r * p * p))
        w, f = w + t * p, f + t * q
        if done:
            return w, step, True
    return w, max_iter, False


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
