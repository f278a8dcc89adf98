"""Dual variables that match given weights w of a linear kernel."""

from collections.abc import Iterator

import numpy as np
import scipy

from dualgap.problems.box import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.risk.offsets import best_offsets, root_offsets, widest_margin
from dualgap.problems.risk.risk import Risk, decision_exponent, from_box_point, shifts


def candidates(risk: Risk, w: Vector) -> Iterator[Vector]:
    """Yield dual variables that match w: at the optimum βᵢ = −Cᵢℓ'(yᵢ, fᵢ) and w = Σ βᵢxᵢ.

    For a piecewise linear loss αᵢ is Cᵢ inside the margin, 0 outside, arbitrary on it. With residuals r
    (yᵢfᵢ − 1 for labels, else the distances to both sides of the tube) and several δ, the candidates are
    smoothed indicators Cᵢ·clip(½ − rᵢ/δ, 0, 1) (hard margin: max(0, δ − rᵢ)), and the same with the αᵢ
    of |rᵢ| ≤ δ fitted to w.
    """
    scores = risk.samples.X @ w
    if risk.terms is None:
        b = shifts(risk, np.array(root_offsets(risk, scores)))
        C = risk.C.reshape(-1, *(1 for _ in scores.shape[1:]))
        yield risk.alpha(-C * risk.loss.subgradient(risk.y, scores + b))
        return
    if not risk.is_hard:
        offsets = [middle(*interval) for interval in best_offsets(risk, scores)]
    else:
        b, margin = widest_margin(risk, scores)
        scores, b = (scores / margin, b / margin) if margin > 0 else (scores, b)
        offsets = [b] if risk.costs.size else []
    box = risk.form.box
    r = box.lagrangian_gradient(box.gradient(scores), offsets)
    smoothings = np.array([1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5])
    for smoothing in 2.0 ** decision_exponent(risk) * smoothings:
        if risk.is_hard:
            yield from_box_point(risk, np.maximum(0.0, smoothing - r))
            continue
        x = box.lb + (box.ub - box.lb) * np.clip(0.5 - r / smoothing, 0.0, 1.0)
        yield from_box_point(risk, x)
        free = np.flatnonzero(np.abs(r) <= smoothing)
        if free.size:
            yield from_box_point(risk, _fit(risk, w, r, x, free))


def _fit(risk: Risk, w: Vector, r: Vector, start: Vector, free: Indices) -> Vector:
    """Return `start` with the `free` variables fitted so that Σ βᵢxᵢ = w (and Σ_{i∈g} βᵢ = c_g).

    SciPy's tolerances are absolute, so samples are divided by 2ᵐ, r by 2ᵏ and β by 2ᵏ⁻²ᵐ.
    """
    box, x = risk.form.box, start.copy()
    x[free] = 0.0
    samples, sign = risk.samples.X[box.Q.index[free]], box.Q.sign[free, None]
    rows = scipy.sparse.csr_array(samples).multiply(sign).tocsr()
    k, m = decision_exponent(risk), int(np.frexp(np.abs(rows.data).max(initial=0.0))[1])
    if max(abs(k), abs(m)) > 200:  # scaled numbers could under- or overflow
        k = m = 0
    unit, rows = float(np.ldexp(1.0, k - 2 * m)), rows * np.ldexp(1.0, -m)
    target = np.ldexp(w - risk.samples.X.T @ risk.beta(from_box_point(risk, x)), m - k)
    for i, a, delta in box.equalities:
        column = np.zeros(box.n)
        column[i] = a
        rows = scipy.sparse.hstack([rows, column[free, None]], format="csr")
        target = np.append(target, (delta - float(a @ x[i])) / unit)
    lb, ub, origin = (v[free] / unit for v in (box.lb, box.ub, start))
    r = np.ldexp(r[free], -k)
    if free.size**2 * (free.size + risk.samples.d) <= 3e7:  # multiplications of a factorisation
        from scipy.optimize import lsq_linear  # noqa: PLC0415 - slow to import

        # BVLS, as the line search of the other method may not terminate (SciPy 1.17). Of many optimal
        # changes it takes one near 0, so the result is near `start`.
        A = rows.toarray().T
        residual, bounds = target - A @ origin, (lb - origin, ub - origin)
        change = lsq_linear(A, residual, bounds, method="bvls", max_iter=100).x
        x[free] = unit * np.clip(origin + change, lb, ub)
    else:
        from scipy.optimize import Bounds, minimize  # noqa: PLC0415 - slow to import

        def gap(x: Vector) -> tuple[float, Vector]:
            """Return the duality gap of w and x up to a constant, and its gradient."""
            residual = rows.T @ x - target
            return 0.5 * float(residual @ residual) + float(r @ x), rows @ residual + r

        options = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": 100}}
        x[free] = unit * minimize(gap, origin, bounds=Bounds(lb, ub), **options).x
    return x
