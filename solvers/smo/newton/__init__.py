"""A Newton step on all free variables at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5), with one row
of ones per group if there are several equalities. Pair steps soon find which variables are free, but
converge only linearly on them.

The system is solved by conjugate gradients on the plane (Gould, Hribar & Nocedal 2001), which need
products with K and with an approximate inverse: from the lower triangle of K and a low-rank
approximation (`triangle`), or for the last digits from all of K in float64 and its Cholesky factor
(`exact_system`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Block
from dualgap.problems.projection import project
from dualgap.solvers.numerics.projected_cg import Apply, conjugate_gradients, on_plane
from dualgap.solvers.smo.matrix import Matrix
from dualgap.solvers.smo.tuning import TUNING


def newton_step(
    product: Apply, invert: Apply, g: Vector, z: Vector, lo: Vector, hi: Vector, groups: Indices,
    residual: float,
) -> Vector | None:  # fmt: skip
    """Return the free variables after a Newton step within the box, or None if it is no descent step.

    Variables that the step moves out of the box are fixed at the bound they cross, and the step is
    solved again for the others: clipping it at the end would make it short if many leave. The end point
    is projected onto the equality; along the step s to it, the objective is smallest at −gᵀs/sᵀKs.

    Parameters
    ----------
    product, invert : v ↦ Kv, and v ↦ K⁻¹v, which need not be exact.
    g, z, lo, hi : gradient, value and bounds of the free variables, shape (k,).
    groups : index of each variable's equality; −1 throughout for none.
    residual : target residual, relative to the first, in the norm of `invert`.
    """
    d, inside, products = np.zeros(z.size), np.ones(z.size, np.bool_), 0
    # a coarse solution suffices to see which variables leave the box
    first, target_residual = 0.0, max(residual, 0.1)

    def masked_product(v: Vector) -> Vector:
        nonlocal products
        products += 1
        return np.where(inside, product(v), 0.0)

    def masked_inverse(v: Vector) -> Vector:
        return np.where(inside, invert(np.where(inside, v, 0.0)), 0.0)

    while products < TUNING.max_products:
        precondition, onto = on_plane(masked_inverse, groups)
        d = onto(d)  # the inner variables compensate for the fixed ones
        r = np.where(inside, g, 0.0) + (masked_product(d) if d.any() else 0.0)
        size = float(np.sqrt(max(0.0, r @ precondition(r))))
        first = first or size
        if size > target_residual * first:
            limit, reduction = TUNING.max_products - products, target_residual * first / size
            d = conjugate_gradients(masked_product, precondition, d, r, limit, reduction)
        end = z + d
        if not np.isfinite(end).all():
            return None
        leaving = inside & ((end < lo) | (end > hi))
        d[leaving] = (np.clip(end, lo, hi) - z)[leaving]
        inside &= ~leaving
        if not inside.any() or (target_residual == residual and not leaving.any()):
            break
        if not leaving.any():
            target_residual = residual
    totals = np.array([z[groups == group].sum() for group in range(groups.max() + 1)])
    end = project(np.clip(z + d, lo, hi), lo, hi, np.ones(z.size), totals, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ product(s))
    if slope >= 0 or curvature <= 0:
        return None
    step_length = min(1.0, -slope / curvature)
    return end if step_length == 1.0 else np.clip(z + step_length * s, lo, hi)


def exact_system(matrix: Matrix, members: Indices) -> tuple[Apply, Apply]:
    """Return v ↦ Kv and v ↦ K⁻¹v, for K among some variables in float64.

    Raises
    ------
    LinAlgError
        If rounding makes K indefinite.
    """
    K = matrix.block(members, members, matrix.columns(members, np.float64))
    factor = factor_with_ridge(K, 1e-12 * float(np.trace(K)) / members.size)
    return K.__matmul__, partial(cho_solve, factor, check_finite=False)


def factor_with_ridge(K: Block, ridge: float) -> tuple[Block, bool]:
    """Return a Cholesky factor of K + ridge·I; the ridge grows by 100 each time rounding defeats it."""
    for attempt in range(4):
        shifted = K.copy()
        shifted[np.diag_indices(len(K))] += ridge * 100**attempt
        try:
            return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError("K has no Cholesky factor")
