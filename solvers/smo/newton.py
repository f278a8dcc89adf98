"""A Newton step on the free variables, all of them at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5), with a row
of ones for every group where there are several equalities. Pair steps find out quickly which variables
are free, but converge only linearly on them.

Up to 3000 variables the system is factored. Above, it is solved to two digits by conjugate gradients
on the plane, which need products with K only (Gould, Hribar & Nocedal 2001), preconditioned by what
some of its columns C say of it: P = σI + C·W⁻¹·Cᵀ (Williams & Seeger 2001).

Where the rows of all free variables are kept, products compute no kernel values, and one factor in
float32 serves as preconditioner for several steps (`newton_in_box`, `FreeFactor`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, blas, cho_factor, cho_solve, lapack

from problems.dataset import Indices, Vector
from problems.gram.tiles import Tile
from problems.kernels import Block
from problems.projection import project
from solvers.numerics.planes import Apply, conjugate_gradients, on_plane
from solvers.smo.matrix import FreeBlock

_FACTORED = 3000
_RIDGE = 1e-12  # relative to the mean curvature: K is singular where samples are dependent
_LANDMARKS = 512  # columns of K behind the preconditioner
_ITERATIONS = 25  # of conjugate gradients, each with a product
_RESIDUAL = 3e-2  # relative, in the norm of the preconditioner
_TURNOVER = (
    16  # variables that may come or go before a factor is made anew: each costs an iteration
)
_RIDGE_SINGLE = 1e-5  # relative to the mean curvature: what float32 needs where K is singular


def newton_step(
    K: FreeBlock,
    g: Vector,
    z: Vector,
    lo: Vector,
    hi: Vector,
    equality: bool,
    groups: Indices | None = None,
) -> Vector | None:
    """Return where the free variables are best moved, or None where no step leads down.

    The end of Newton's step is clipped to the box and brought back onto the equality; on the way
    there, s, the objective is least at the share −gᵀs/sᵀKs. Shapes: (k,); `groups` says which of
    several equalities each variable is in.
    """
    if groups is not None:  # numbered without gaps
        groups = np.unique(groups, return_inverse=True)[1]
    solve = _by_factor if g.size <= _FACTORED else _by_conjugate_gradients
    d = solve(K, g, equality, groups)
    if d is None or not np.isfinite(d).all():
        return None
    return _end_in_box(K.product, g, z, d, lo, hi, equality, groups)


def newton_in_box(
    product: Apply, invert: Apply, g: Vector, z: Vector, lo: Vector, hi: Vector, equality: bool
) -> Vector | None:
    """Return where the free variables are best moved within the box, or None for nowhere.

    Where Newton's step leads some variables out of the box, they are fixed at the bound that they
    pass, and the step is solved again for the others: a step clipped afterwards is short where many
    leave. `product` is v ↦ Kv; `invert`, near to its inverse, preconditions conjugate gradients.
    """
    d, inside = np.zeros(z.size), np.ones(z.size, np.bool_)
    products = 0

    def counted(v: Vector) -> Vector:
        nonlocal products
        products += 1
        return product(v)

    while products < _ITERATIONS:
        d = _step_inside(counted, invert, g, d, inside, equality, _ITERATIONS - products)
        end = z + d
        if not np.isfinite(end).all():
            return None
        leaving = inside & ((end < lo) | (end > hi))
        d[leaving] = (np.clip(end, lo, hi) - z)[leaving]
        inside &= ~leaving
        if not leaving.any() or not inside.any():
            break
    return _end_in_box(product, g, z, d, lo, hi, equality, None)


def _step_inside(
    product: Apply, invert: Apply, g: Vector, d: Vector, inside: Any, equality: bool, most: int
) -> Vector:
    """Return the best step of the variables inside, the others' entries of d being given."""

    def masked(v: Vector) -> Vector:
        return np.where(inside, invert(np.where(inside, v, 0.0)), 0.0)

    precondition = on_plane(masked, d.size, equality, None)
    if equality:  # meet Σd = 0, along the direction that costs least
        across = masked(np.ones(d.size))
        d = d - d.sum() / across.sum() * across
    r = np.where(inside, g + product(d), 0.0)
    return conjugate_gradients(
        lambda v: np.where(inside, product(v), 0.0), precondition, d, r, most, _RESIDUAL
    )


class FreeFactor:
    """A Cholesky factor of K among variables that were free, which serves while most still are.

    In float32: as a preconditioner it need not be exact.
    """

    def __init__(self, variables: Indices, K: Tile) -> None:
        """Factor K (k, k), of which the lower half counts, in its own memory.

        Raises
        ------
        LinAlgError
            If rounding makes K indefinite.
        """
        self.variables, self.mean = variables, float(K.diagonal().mean())
        K[np.diag_indices(len(K))] += _RIDGE_SINGLE * self.mean
        self._upper, failed = lapack.spotrf(K.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            raise LinAlgError("K has no Cholesky factor in float32")

    def serves(self, variables: Indices) -> bool:
        """Whether few of these came, and few others went, since it was made."""
        return np.setxor1d(self.variables, variables, assume_unique=True).size <= _TURNOVER

    def inverse(self, variables: Indices) -> Apply:
        """Return v ↦ K⁻¹v among these, with a diagonal in place of K for newcomers."""
        order = np.argsort(self.variables)
        found = np.searchsorted(self.variables, variables, sorter=order)
        place = order[np.minimum(found, order.size - 1)]
        known = self.variables[place] == variables
        place = place[known]

        def invert(v: Vector) -> Vector:
            size = float(np.abs(v).max()) or 1.0  # float32 has a short range
            t = np.zeros(self.variables.size, np.float32)
            t[place] = v[known] / size
            t = blas.strsv(self._upper, t, lower=0, trans=1, overwrite_x=1)
            t = blas.strsv(self._upper, t, lower=0, overwrite_x=1)
            result = v / self.mean
            result[known] = size * t[place].astype(np.float64)
            return result

        return invert


def _end_in_box(
    product: Apply, g: Vector, z: Vector, d: Vector, lo: Vector, hi: Vector, equality: bool,
    groups: Indices | None,
) -> Vector | None:  # fmt: skip
    """Return the best point on the way to z + d brought back into the box and onto the equality."""
    total = z.sum(keepdims=True) if groups is None else np.bincount(groups, z).astype(np.float64)
    ones = np.ones(z.size) if equality else None
    end = project(np.clip(z + d, lo, hi), lo, hi, ones, total, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ product(s))
    if slope >= 0 or curvature <= 0:
        return None
    share = min(1.0, -slope / curvature)
    return end if share == 1.0 else np.clip(z + share * s, lo, hi)


def _by_factor(K: FreeBlock, g: Vector, equality: bool, groups: Indices | None) -> Vector | None:
    matrix = K.columns(None)
    ridge = _RIDGE * float(np.trace(matrix)) / g.size
    for _ in range(4):
        try:
            factor = _shifted_factor(matrix, ridge)
            break
        except LinAlgError:  # rounding made it indefinite
            ridge *= 100
    else:
        return None

    def invert(v: Vector) -> Vector:
        return cho_solve(factor, v, check_finite=False)

    return on_plane(invert, g.size, equality, groups)(-g)


def _shifted_factor(matrix: Block, ridge: float) -> tuple[Block, bool]:
    shifted = matrix.copy()
    shifted[np.diag_indices(len(matrix))] += ridge
    return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)


def _by_conjugate_gradients(
    K: FreeBlock, g: Vector, equality: bool, groups: Indices | None
) -> Vector | None:
    """Return an approximate solution: each iterate is a descent direction on the plane."""
    precondition = on_plane(_preconditioner(K, g.size), g.size, equality, groups)
    d = conjugate_gradients(K.product, precondition, np.zeros(g.size), g, _ITERATIONS, _RESIDUAL)
    return d if d.any() else None


def _preconditioner(K: FreeBlock, size: int) -> Apply:
    """Return v ↦ P⁻¹v = (v − C(σW + CᵀC)⁻¹Cᵀv)/σ, with σ what is left of K's diagonal on average."""
    chosen = np.linspace(0, size - 1, min(_LANDMARKS, size // 4)).astype(np.int64)
    C = K.columns(chosen)
    W = C[chosen]
    scale = float(np.trace(W)) / W.shape[0]
    factor = _shifted_factor(W, 1e-6 * scale)
    half = cho_solve(factor, C.T, check_finite=False)
    sigma = max(scale - float(np.einsum("ij,ji->", C, half)) / size, 1e-3 * scale)
    inner = _shifted_factor(sigma * W + C.T @ C, 1e-6 * sigma * scale)

    def precondition(v: Vector) -> Vector:
        return (v - C @ cho_solve(inner, C.T @ v, check_finite=False)) / sigma

    return precondition
