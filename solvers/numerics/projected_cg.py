"""Projected conjugate gradients: linear systems on a plane, with steps that keep Σd as it is.

    M d + Eν = −r,  Eᵀd = const,   E a column of ones for each group of variables
(Gould, Hribar & Nocedal 2001): the preconditioner leads back onto the plane.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.problems.dataset import Indices, Vector

Apply = Callable[[Vector], Vector]


def on_plane(invert: Apply, groups: Indices) -> tuple[Apply, Apply]:
    """Return v ↦ M⁻¹v brought onto the plane Eᵀv = 0, and v ↦ v brought there.

    Along the directions that cost least: v − M⁻¹E(EᵀM⁻¹E)⁻¹Eᵀv. `groups` (n,) has the number of each
    variable's equality, −1 for none; a group may have no variable that M⁻¹ moves.
    """
    if groups.max() < 0:
        return invert, lambda v: v
    E = np.eye(int(groups.max()) + 1)[groups]
    across = np.column_stack([invert(ones) for ones in E.T])
    inner = np.linalg.pinv(E.T @ across)

    def onto(v: Vector) -> Vector:
        return v - across @ (inner @ (E.T @ v))

    def invert_on_plane(v: Vector) -> Vector:
        """Invert without the part of v that leads across the plane, whose rounding would add up."""
        return onto(invert(v - E @ (inner @ (across.T @ v))))

    return invert_on_plane, onto


def conjugate_gradients(
    product: Apply, precondition: Apply, d: Vector, r: Vector, most: int, accuracy: float
) -> Vector:
    """Return d with the residual r brought down, by steps that `precondition` keeps on the plane.

    Ends after `most` products, or where the residual has fallen to the share `accuracy` of the first,
    in the norm of the preconditioner.
    """
    y = precondition(r)
    p, size = -y, float(r @ y)
    first = size
    for _ in range(most):
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
