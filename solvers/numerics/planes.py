"""Linear systems on a plane: conjugate gradients whose steps keep Σd as it is.

    M d + ν1 = −r,  1ᵀd = const
(Gould, Hribar & Nocedal 2001): the preconditioner leads back onto the plane.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from problems.dataset import Indices, Vector

Apply = Callable[[Vector], Vector]


def on_plane(invert: Apply, size: int, equality: bool, groups: Indices | None) -> Apply:
    """Return v ↦ M⁻¹v − (multiple of M⁻¹1 that brings it onto the plane Σ = 0), or group by group."""
    if not equality:
        return invert
    if groups is not None:
        return _on_planes(invert, groups)
    across = invert(np.ones(size))

    def solve(v: Vector) -> Vector:
        step = invert(v)
        return step - step.sum() / across.sum() * across

    return solve


def _on_planes(invert: Apply, groups: Indices) -> Apply:
    E = np.eye(int(groups.max()) + 1)[groups]
    across = np.column_stack([invert(ones) for ones in E.T])
    inner = E.T @ across

    def solve(v: Vector) -> Vector:
        step = invert(v)
        return step - across @ np.linalg.solve(inner, E.T @ step)

    return solve


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
