"""A Newton step on the free variables, all of them at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5), with a row
of ones for every group where there are several equalities. Pair steps find out quickly which variables
are free, but converge only linearly on them.

It is solved by conjugate gradients on the plane (Gould, Hribar & Nocedal 2001), which need products
with K, and an approximate inverse: from half of K, and what some of its columns say of the others
(`half`); where the last digits are left, from all of K in float64 and its factor (`exact_system`).
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

MOST_FACTORED = 3000  # variables: above, rounds take less time than K and its factor
MOST_PRODUCTS = 60  # with K in a step
_COARSE = 0.1  # relative residual that says which variables leave the box


def newton_step(
    product: Apply, invert: Apply, g: Vector, z: Vector, lo: Vector, hi: Vector, groups: Indices,
    residual: float,
) -> Vector | None:  # fmt: skip
    """Return where the free variables are best moved within the box, or None where no step leads down.

    Where Newton's step leads some variables out of the box, they are fixed at the bound that they
    pass, and the step is solved again for the others: a step clipped afterwards is short where many
    leave. The end is brought back onto the equality; on the way there, s, the objective is least at the
    share −gᵀs/sᵀKs.

    Parameters
    ----------
    product, invert : v ↦ Kv, and v ↦ K⁻¹v, which need not be exact.
    g, z, lo, hi : gradient, place and bounds of the free variables, shape (k,).
    groups : the equality that each variable is in, from 0; −1 throughout for none.
    residual : to which the system is solved: relative to the first, in the norm of `invert`.
    """
    d, inside, products = np.zeros(z.size), np.ones(z.size, np.bool_), 0
    first, wanted = 0.0, max(residual, _COARSE)

    def masked_product(v: Vector) -> Vector:
        nonlocal products
        products += 1
        return np.where(inside, product(v), 0.0)

    def masked_inverse(v: Vector) -> Vector:
        return np.where(inside, invert(np.where(inside, v, 0.0)), 0.0)

    while products < MOST_PRODUCTS:
        precondition, onto = on_plane(masked_inverse, groups)
        d = onto(d)  # those inside make up for those that are fixed
        r = np.where(inside, g, 0.0) + (masked_product(d) if d.any() else 0.0)
        size = float(np.sqrt(max(0.0, r @ precondition(r))))
        first = first or size
        if size > wanted * first:
            most, share = MOST_PRODUCTS - products, wanted * first / size
            d = conjugate_gradients(masked_product, precondition, d, r, most, share)
        end = z + d
        if not np.isfinite(end).all():
            return None
        leaving = inside & ((end < lo) | (end > hi))
        d[leaving] = (np.clip(end, lo, hi) - z)[leaving]
        inside &= ~leaving
        if not inside.any() or (wanted == residual and not leaving.any()):
            break
        if not leaving.any():
            wanted = residual
    totals = np.array([z[groups == group].sum() for group in range(groups.max() + 1)])
    end = project(np.clip(z + d, lo, hi), lo, hi, np.ones(z.size), totals, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ product(s))
    if slope >= 0 or curvature <= 0:
        return None
    share = min(1.0, -slope / curvature)
    return end if share == 1.0 else np.clip(z + share * s, lo, hi)


def exact_system(matrix: Matrix, members: Indices) -> tuple[Apply, Apply]:
    """Return products with K among some variables, and with its inverse, in float64.

    Raises
    ------
    LinAlgError
        If rounding makes K indefinite.
    """
    K = matrix.block(members, members, matrix.columns(members, np.float64))
    factor = factor_with_ridge(K, 1e-12 * float(np.trace(K)) / members.size)
    return K.__matmul__, partial(cho_solve, factor, check_finite=False)


def factor_with_ridge(K: Block, ridge: float) -> tuple[Block, bool]:
    """Return a Cholesky factor of K + ridge·I, or of a hundred times the ridge where rounding asks."""
    for attempt in range(4):
        shifted = K.copy()
        shifted[np.diag_indices(len(K))] += ridge * 100**attempt
        try:
            return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError("K has no Cholesky factor")
