"""A Newton step on a face of the box: all free variables at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5). Pair steps
identify the face quickly but converge on it only linearly.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from problems.dataset import Vector
from problems.kernels import Block
from problems.projection import project

_RIDGE = 1e-12  # relative to the mean curvature: K is singular where samples are dependent


def newton_step(
    K: Block, g: Vector, z: Vector, lo: Vector, hi: Vector, equality: bool
) -> Vector | None:
    """Return where the free variables are best moved, or None where no step leads down.

    The end of Newton's step is clipped to the box and brought back onto the equality; on the way
    there, s, the objective is least at the share −gᵀs/sᵀKs. Shapes: `K` (k, k), the others (k,).
    """
    d = _direction(K, g, equality)
    if d is None or not np.isfinite(d).all():
        return None
    total = float(z.sum())
    end = project(np.clip(z + d, lo, hi), lo, hi, np.ones(z.size) if equality else None, total)
    s = end - z
    slope, curvature = float(g @ s), float(s @ K @ s)
    if slope >= 0 or curvature <= 0:
        return None
    share = min(1.0, -slope / curvature)
    return end if share == 1.0 else np.clip(z + share * s, lo, hi)


def _direction(K: Block, g: Vector, equality: bool) -> Vector | None:
    ridge = _RIDGE * float(np.trace(K)) / g.size
    for _ in range(4):
        try:
            shifted = K.copy()
            shifted[np.diag_indices(g.size)] += ridge
            factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            break
        except LinAlgError:  # rounding made it indefinite
            ridge *= 100
    else:
        return None
    step = -cho_solve(factor, g, check_finite=False)
    if not equality:
        return step
    across = cho_solve(factor, np.ones(g.size), check_finite=False)
    return step - step.sum() / across.sum() * across
