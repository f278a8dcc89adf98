"""A Newton step on the free variables, all of them at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5), with a row
of ones for every group where there are several equalities. Pair steps find out quickly which variables
are free, but converge only linearly on them.

It is solved to two digits by conjugate gradients on the plane (Gould, Hribar & Nocedal 2001), which need
products with K, and an approximate inverse. In float64 (`exact_system`) that is a factor of K, up to
3000 variables; above, what some of its columns C say of it: P = σI + C·W⁻¹·Cᵀ (Williams & Seeger 2001).
Where the rows of all free variables are kept (`kept_system`), products compute no kernel values, and the
factor is in float32.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from problems.dataset import Indices, Vector
from problems.kernels import Block
from problems.projection import project
from solvers.numerics.projected_cg import Apply, conjugate_gradients, on_plane
from solvers.numerics.shifted import inverse_in_place
from solvers.smo.cache import RowCache
from solvers.smo.matrix import Matrix

MOST_FACTORED = 3000  # variables: above, rounds take less time than K and its factor
_LANDMARKS = 512  # columns of K behind the approximate inverse
_PRODUCTS = 25  # with K in a step, at most
_RESIDUAL = 3e-2  # relative, in the norm of the approximate inverse


def newton_step(
    product: Apply, invert: Apply, g: Vector, z: Vector, lo: Vector, hi: Vector, groups: Indices
) -> Vector | None:
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
    """
    d, inside, products = np.zeros(z.size), np.ones(z.size, np.bool_), 0

    def masked_product(v: Vector) -> Vector:
        nonlocal products
        products += 1
        return np.where(inside, product(v), 0.0)

    def masked_inverse(v: Vector) -> Vector:
        return np.where(inside, invert(np.where(inside, v, 0.0)), 0.0)

    while products < _PRODUCTS:
        precondition, onto = on_plane(masked_inverse, groups)
        d = onto(d)  # those inside make up for those that are fixed
        r = np.where(inside, g, 0.0) + (masked_product(d) if d.any() else 0.0)
        most = _PRODUCTS - products
        d = conjugate_gradients(masked_product, precondition, d, r, most, _RESIDUAL)
        end = z + d
        if not np.isfinite(end).all():
            return None
        leaving = inside & ((end < lo) | (end > hi))
        d[leaving] = (np.clip(end, lo, hi) - z)[leaving]
        inside &= ~leaving
        if not leaving.any() or not inside.any():
            break
    totals = np.array([z[groups == g].sum() for g in range(groups.max() + 1)])
    end = project(np.clip(z + d, lo, hi), lo, hi, np.ones(z.size), totals, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ product(s))
    if slope >= 0 or curvature <= 0:
        return None
    share = min(1.0, -slope / curvature)
    return end if share == 1.0 else np.clip(z + share * s, lo, hi)


def exact_system(matrix: Matrix, members: Indices) -> tuple[Apply, Apply]:
    """Return products with K among some variables, and with nearly its inverse, in float64.

    Raises
    ------
    LinAlgError
        If rounding makes K indefinite.
    """
    few = members.size <= MOST_FACTORED
    some = np.linspace(0, members.size - 1, min(_LANDMARKS, members.size // 4)).astype(np.int64)
    some = np.arange(members.size) if few else some
    C = matrix.block(members, members[some], matrix.columns(members[some], np.float64))
    if few:
        factor = factor_with_ridge(C, 1e-12 * float(np.trace(C)) / members.size)
        return C.__matmul__, partial(cho_solve, factor, check_finite=False)
    ready, W = matrix.columns(members), C[some]
    scale = float(np.trace(W)) / W.shape[0]
    half = cho_solve(factor_with_ridge(W, 1e-6 * scale), C.T, check_finite=False)
    # what is left of K's diagonal on average; P⁻¹v = (v − C(σW + CᵀC)⁻¹Cᵀv)/σ
    sigma = max(scale - float(np.einsum("ij,ji->", C, half)) / members.size, 1e-3 * scale)
    inner = factor_with_ridge(sigma * W + C.T @ C, 1e-6 * sigma * scale)

    def invert(v: Vector) -> Vector:
        return (v - C @ cho_solve(inner, C.T @ v, check_finite=False)) / sigma

    return lambda v: matrix.products(members, members, v, ready), invert


def kept_system(rows: RowCache, free: Indices) -> tuple[Apply, Apply]:
    """Return products with K among members that have a row, and with nearly its inverse.

    Raises
    ------
    LinAlgError
        If rounding makes K indefinite.
    """
    K = rows.lower_half(free, np.float32)
    K[np.diag_indices(free.size)] += 1e-5 * K.diagonal().mean()  # a singular K has a factor then

    def product(v: Vector) -> Vector:
        result = np.zeros(rows.members.size)
        rows.add_to(result, free, v)
        return result[free]

    return product, inverse_in_place(K)


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
