"""Projected conjugate gradients: linear systems on a plane, with steps that preserve Σd.

    M d + Eν = −r,  Eᵀd = const,   E with one column of ones per group of variables
(Gould, Hribar & Nocedal 2001): the preconditioner projects onto the plane.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.problems.dataset import Indices, Vector

Apply = Callable[[Vector], Vector]


def on_plane(invert: Apply, groups: Indices) -> tuple[Apply, Apply]:
    """Return v ↦ M⁻¹v projected onto the plane Eᵀv = 0, and the projection v ↦ v − M⁻¹E(EᵀM⁻¹E)⁻¹Eᵀv.

    `groups` (n,) is the index of each variable's equality, −1 for none. M⁻¹ may be 0 on a whole group.
    """
    if groups.max() < 0:
        return invert, lambda v: v
    E = np.eye(int(groups.max()) + 1)[groups]
    across = np.column_stack([invert(ones) for ones in E.T])
    inner = np.linalg.pinv(E.T @ across)

    def onto(v: Vector) -> Vector:
        return v - across @ (inner @ (E.T @ v))

    def invert_on_plane(v: Vector) -> Vector:
        """Invert without the component of v across the plane, whose rounding would accumulate."""
        return onto(invert(v - E @ (inner @ (across.T @ v))))

    return invert_on_plane, onto


def conjugate_gradients(
    product: Apply, precondition: Apply, d: Vector, r: Vector, max_products: int, accuracy: float
) -> Vector:
    """Return d after conjugate gradient steps from residual r; `precondition` keeps them on the plane.

    Stops after `max_products` products, or once the residual is at most `accuracy` times the first, in
    the norm of the preconditioner.
    """
    y = precondition(r)
    p, size = -y, float(r @ y)
    first = size
    for _ in range(max_products):
        if size <= accuracy**2 * first:
            break
        Kp = product(p)
        curvature = float(p @ Kp)
        if curvature <= 0:
            break
        step = size / curvature
        d, r = d + step * p, r + step * Kp
        y = precondition(r)
        size, last = float(r @ y), size
        p = -y + size / last * p
    return d
