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
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from problems.dataset import Indices, Vector
from problems.kernels import Block
from problems.projection import project
from solvers.smo.state import FreeBlock

_FACTORED = 3000
_RIDGE = 1e-12  # relative to the mean curvature: K is singular where samples are dependent
_LANDMARKS = 512  # columns of K behind the preconditioner
_ITERATIONS = 25  # of conjugate gradients
_RESIDUAL = 3e-2  # relative, in the norm of the preconditioner
Apply = Callable[[Vector], Vector]


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
    total = z.sum(keepdims=True) if groups is None else np.bincount(groups, z).astype(np.float64)
    ones = np.ones(z.size) if equality else None
    end = project(np.clip(z + d, lo, hi), lo, hi, ones, total, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ K.product(s))
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

    return _on_plane(invert, g.size, equality, groups)(-g)


def _shifted_factor(matrix: Block, ridge: float) -> tuple[Block, bool]:
    shifted = matrix.copy()
    shifted[np.diag_indices(len(matrix))] += ridge
    return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)


def _on_plane(invert: Apply, size: int, equality: bool, groups: Indices | None) -> Apply:
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


def _by_conjugate_gradients(
    K: FreeBlock, g: Vector, equality: bool, groups: Indices | None
) -> Vector | None:
    """Return an approximate solution: each iterate is a descent direction on the plane."""
    precondition = _on_plane(_preconditioner(K, g.size), g.size, equality, groups)
    d, r = np.zeros(g.size), g.copy()
    y = precondition(r)
    p, size = -y, float(r @ y)
    first = size
    for _ in range(_ITERATIONS):
        if size <= _RESIDUAL**2 * first:
            break
        Kp = K.product(p)
        curvature = float(p @ Kp)
        if curvature <= 0:
            break
        step = size / curvature
        d, r = d + step * p, r + step * Kp
        y = precondition(r)
        size, last = float(r @ y), size
        p = -y + size / last * p
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
