"""A feasible dual point to bound the optimum with: the solver's α, projected, or one made from its w."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy

from problems.certificates.box_gap import middle
from problems.certificates.offsets import best_intercept, box_gradient, widest_margin
from problems.dataset import Indices, Vector
from problems.formulations.formulation import Formulation
from problems.kernels import squared_norms
from problems.reductions import (
    box_bounds,
    feasible_alpha,
    from_box_variables,
    to_box_variables,
)

INF = float("inf")
_SOFTNESS = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
_FACTORED = 3e7  # operations of a factorisation, up to which α is fitted to w by least squares;
_PASSED = 1e8  # above, entries passed over by coordinate descent: a quarter of a second
_MOST_PASSES = 300


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible α with what follows from one product with the Gram matrix.

    Attributes
    ----------
    scores : Kβ, shape (n,).
    primal_residual, projection_distance : of the α that was given.
    """

    alpha: Vector
    scores: Vector
    primal_residual: float = 0.0
    projection_distance: float = 0.0


def feasible_dual(problem: Formulation, alpha: Vector) -> DualPoint:
    """Return the projection of `alpha` (n,) onto the dual's feasible set, and how far it was off."""
    feasible = feasible_alpha(problem, alpha)
    C = problem.upper
    outside = np.maximum(alpha - C, (-C if problem.is_regression else 0.0) - alpha)
    off_plane = abs(float(problem.beta(alpha).sum())) if problem.intercept else 0.0
    return DualPoint(
        feasible,
        problem.gram(memory=0).matvec(problem.beta(feasible)),
        max(0.0, float(outside.max()), off_plane),
        float(np.linalg.norm(feasible - alpha)),
    )


def lost_norm2(problem: Formulation, beta: Vector, norm2: float) -> float:
    """Return by how much ‖Σ βᵢφ(xᵢ)‖² may be larger than `norm2`, where that is all rounding error.

    A sum of large entries that cancel may come out as nothing, or below 0, and such a dual objective
    above the optimum. Below the rounding error of the sum nothing is known of its size.
    """
    return max(0.0, rounding_of_norm2(problem, beta) - norm2)


def rounding_of_norm2(problem: Formulation, beta: Vector) -> float:
    """Return the rounding error of ‖Σ βᵢφ(xᵢ)‖², as if all terms had one sign."""
    diagonal = np.sqrt(np.maximum(problem.kernel.diagonal(problem.X), 0.0))
    length2 = float(np.sum(np.square(diagonal @ np.abs(beta))))
    eps = float(np.finfo(float).eps)
    return (eps**2 if problem.is_linear else eps) * length2


def dual_from_weights(problem: Formulation, w: Vector) -> DualPoint:
    """Return a good dual point for weights `w` (d,): the best of several candidates.

    At the optimum αᵢ is Cᵢ inside the margin, 0 outside, anything on it, and w = Σ βᵢxᵢ.
    """
    best, best_value = DualPoint(np.zeros(problem.n), np.zeros(problem.n)), 0.0
    for x in _candidates(problem, w):
        dual, value = _scaled(problem, feasible_dual(problem, from_box_variables(problem, x)))
        if value > best_value:
            best, best_value = dual, value
    return best


def _candidates(problem: Formulation, w: Vector) -> Iterator[Vector]:
    """Yield box variables x that suit w.

    With residuals r, for several δ: softened indicators Cᵢ·clip(½ − rᵢ/δ, 0, 1) (hard margin:
    max(0, δ − rᵢ)); and those with |rᵢ| ≤ δ fitted to w.
    """
    r = _residuals(problem, w)
    _, _, ub = box_bounds(problem)
    for softness in _SOFTNESS:
        if problem.family == "hard_margin":
            yield np.maximum(0.0, softness - r)
            continue
        x = ub * np.clip(0.5 - r / softness, 0.0, 1.0)
        yield x
        near = np.flatnonzero(np.abs(r) <= softness)
        if near.size:
            yield _fitted(problem, w, r, x, near)


def _residuals(problem: Formulation, w: Vector) -> Vector:
    """Return yᵢf(xᵢ) − 1, or for regression both distances to the tube, at the best intercept."""
    scores = problem.X @ w
    if problem.family == "hard_margin":
        b, margin = widest_margin(problem, scores)
        scores, b = (scores / margin, b / margin) if margin > 0 else (scores, b)
    else:
        b = middle(*best_intercept(problem, scores))
    _, a, _ = box_bounds(problem)
    r = box_gradient(problem, scores)
    return r if a is None else r + b * a


def _fitted(problem: Formulation, w: Vector, r: Vector, start: Vector, near: Indices) -> Vector:
    """Return `start` with the variables `near` fitted so that Σ βᵢxᵢ = w (and Σ βᵢ = 0)."""
    _, a, ub = box_bounds(problem)
    n, x = problem.n, start.copy()
    x[near] = 0.0
    sign = np.repeat([1.0, -1.0], n) if problem.is_regression else problem.y
    rows = scipy.sparse.csr_array(problem.X[near % n]).multiply(sign[near, None]).tocsr()
    target = w - problem.X.T @ problem.beta(from_box_variables(problem, x))
    if a is not None:
        weight = float(np.abs(rows.data).max(initial=1.0))
        rows = scipy.sparse.hstack([rows, weight * a[near, None]], format="csr")
        target = np.append(target, -weight * float(a @ x))
    if near.size**2 * (near.size + problem.d) <= _FACTORED:
        from scipy.optimize import lsq_linear  # noqa: PLC0415 - slow to import

        best = lsq_linear(rows.toarray().T, target, (0.0, ub[near])).x
        x[near] = np.clip(best, 0.0, ub[near])
    else:
        x[near] = _descended(rows, target, r[near], start[near], ub[near])
    return x


def _descended(rows: Any, target: Vector, r: Vector, start: Vector, ub: Vector) -> Vector:
    """Return x with little ½‖Σ xᵢ·rowᵢ − target‖² + rᵀx, found by coordinate descent.

    For the exact equality that is the duality gap of w and x, up to a constant.
    """
    norms = squared_norms(rows)
    x, off = start.copy(), rows.T @ start - target
    rng = np.random.default_rng(0)
    for _ in range(int(np.clip(_PASSED / max(1, rows.nnz), 1, _MOST_PASSES))):
        order = rng.permutation(np.flatnonzero(norms))
        _pass(rows.data, rows.indices, rows.indptr, norms, order, r, ub, x, off)
    return x


@numba.njit(cache=True)
def _pass(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    norms: Vector,
    order: Indices,
    r: Vector,
    ub: Vector,
    x: Vector,
    off: Vector,
) -> None:
    """Minimise over one variable at a time, in the given order; off = Σ xᵢ·rowᵢ − target."""
    for i in order:
        slope = r[i]
        for k in range(indptr[i], indptr[i + 1]):
            slope += data[k] * off[indices[k]]
        new = min(max(x[i] - slope / norms[i], 0.0), ub[i])
        change = new - x[i]
        if change != 0.0:
            x[i] = new
            for k in range(indptr[i], indptr[i + 1]):
                off[indices[k]] += change * data[k]


def _scaled(problem: Formulation, dual: DualPoint) -> tuple[DualPoint, float]:
    """Return the best multiple sα within the box, and its dual value −s·pᵀx − ½s²·xᵀQx."""
    p, _, _ = box_bounds(problem)
    x = to_box_variables(problem, dual.alpha)
    linear, quadratic = -float(p @ x), float(problem.beta(dual.alpha) @ dual.scores)
    longest = INF if problem.family == "hard_margin" else 1.0
    s = min(longest, max(0.0, linear / quadratic)) if quadratic > 0 else 0.0
    return DualPoint(s * dual.alpha, s * dual.scores), s * linear - 0.5 * s * s * quadratic
