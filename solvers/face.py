"""A Newton step on the face of a box QP: the free variables, with the equality, all at once.

With F the variables strictly inside their bounds, the minimum on their affine hull satisfies
    [Q_FF  a_F] [d]     [−g_F]
    [a_Fᵀ   0 ] [ν]  =  [ ρ  ]
with ρ = delta − aᵀx, what rounding has left of the equality (Nocedal & Wright 2006, section 16.5).
The step goes as far along d as the box allows. Pair steps identify the face quickly but converge on
it only linearly; this takes over there.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from problems.dataset import Vector
from problems.kernels import Block

_RIDGE = 1e-12  # relative to the mean curvature: Q_FF is singular where samples are dependent


def newton_step(
    Q: Block,
    g: Vector,
    a: Vector | None,
    residual: float,
    x: Vector,
    lb: Vector,
    ub: Vector,
) -> Vector | None:
    """Return the new values of the free variables, or None where no step can be computed.

    Shapes: `Q` (k, k), the others (k,); lb < x < ub; `residual` is ρ. One variable may end exactly at
    its bound.
    """
    d = _direction(Q, g, a, residual) if g.size > 1 else None
    if d is None or not np.isfinite(d).all():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(d > 0, (ub - x) / d, np.where(d < 0, (lb - x) / d, np.inf))
    blocking = int(np.argmin(room))
    moved = np.clip(x + min(1.0, room[blocking]) * d, lb, ub)
    if room[blocking] <= 1.0:
        moved[blocking] = ub[blocking] if d[blocking] > 0 else lb[blocking]
    return moved


def _direction(Q: Block, g: Vector, a: Vector | None, residual: float) -> Vector | None:
    ridge = _RIDGE * float(np.trace(Q)) / g.size
    for _ in range(4):
        try:
            factor = cho_factor(Q + ridge * np.eye(g.size), lower=True, check_finite=False)
            break
        except LinAlgError:  # rounding made it indefinite
            ridge *= 100
    else:
        return None
    step = -cho_solve(factor, g, check_finite=False)
    if a is None:
        return step
    across = cho_solve(factor, a, check_finite=False)
    return step + (residual - a @ step) / (a @ across) * across
