"""Proofs that a QP has no optimum, sought in every iterate: the method diverges along them.

Scaled to a descent of one, x tends to a ray along which the objective falls without end; scaled to
hᵀz + b_eqᵀy = −1, the multipliers tend to those that no feasible x allows (Farkas).
"""

from __future__ import annotations

import numpy as np

from problems.dataset import Vector
from problems.gram.gram import SignedGram
from solvers.interior_point.kkt import Bounds
from solvers.numerics.quadratic import ScaledQP

_ROUNDING = 100 * float(np.finfo(float).eps)


def is_ray(qp: ScaledQP, x: Vector, tol: float) -> bool:
    """Whether the objective falls without end along x: P x = 0, A x = 0, and no bound is met.

    For a dual scaled so, xᵀPx is the square of a margin, which is what tol is compared with.
    """
    descent = -float(qp.q @ x)
    if not descent > 0:
        return False
    u = x / descent
    violations = [u[np.isfinite(qp.lb) & (u < 0) | np.isfinite(qp.ub) & (u > 0)]]
    if qp.A is not None:
        violations.append(qp.A @ u)
    if qp.G is not None:
        violations.append(np.maximum(qp.G @ u, 0.0))
    # for a dual ‖u‖₁ is 1; with costs of 1e11 all of u is small, and small is not zero
    least = tol * min(1.0, float(np.abs(u).sum()))
    if any(float(np.abs(v).max(initial=0.0)) > least for v in violations):
        return False
    P = qp.operator
    product = qp.of_P * (P.matvec(u) if isinstance(P, SignedGram) else P @ u)
    return float(u @ product) <= max(tol**2, _ROUNDING) * qp.largest


def is_farkas(qp: ScaledQP, z: Vector, y: Vector, tol: float) -> bool:
    """Whether Gᵀz + Aᵀy vanishes beside hᵀz + b_eqᵀy < 0, for z ≥ 0 (the bounds' rows come last).

    Beside the terms of its sum too, or data of size 1e-10 would make any margin infeasible.
    """
    if qp.G is None or qp.h is None:
        return False
    m = qp.h.size
    bounds = Bounds(qp.lb, qp.ub)
    columns = qp.G.T @ z[:m] + bounds.columns(z[m:])
    terms = abs(qp.G).T @ z[:m] + bounds.diagonal(z[m:])
    side = float(qp.h @ z[:m] + bounds.sides @ z[m:])
    if qp.A is not None and qp.b_eq is not None:
        columns, terms = columns + qp.A.T @ y, terms + abs(qp.A).T @ np.abs(y)
        side += float(qp.b_eq @ y)
    vanishes = float(np.linalg.norm(columns)) <= -tol * side
    return side < 0 and vanishes and bool((np.abs(columns) <= tol * terms).all())
