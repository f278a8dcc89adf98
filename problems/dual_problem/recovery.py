"""A feasible dual point to bound the optimum with: the solver's α, projected, or one made from its w."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy

from problems.arithmetic import Intervals
from problems.arithmetic.rounding import products, transposed_products
from problems.box_gap import middle
from problems.dataset import Indices, Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.offsets import best_offsets, root_offset, widest_margin
from problems.forms import Point
from problems.gram.products import gram_products
from problems.kernels import squared_norms

INF = float("inf")
_SMOOTHINGS = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
# Operations of a factorisation up to which α is fitted to w by least squares, with so many exchanges
# between variables at a bound and others; above, entries read by coordinate descent, in a quarter of a
# second.
_FACTORED, _EXCHANGES, _PASSED = 3e7, 100, 1e8
_MOST_PASSES = 300


class Weights(NamedTuple):
    """What a bound takes of weights, as numbers that know their rounding.

    Attributes
    ----------
    scores : wᵀφ(xᵢ), shape (n,) or (n, K). norm2 : ‖w‖².
    w : (d,) or (d, K), rounded to float64; None with a kernel.
    """

    scores: Any
    norm2: Any
    w: Vector | None = None


def weights_of(problem: DualProblem, w: Vector) -> Weights:
    """Return what a primal bound takes of weights of the features."""
    exact = Intervals(w)
    return Weights(products(problem.X, w), (exact * exact).sum(), w)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible α with what follows from one product with the Gram matrix.

    Attributes
    ----------
    exact : w = Σ βᵢφ(xᵢ). rounded : for a linear kernel w rounded to float64.
    primal_residual, projection_distance : of the α that was given.
    """

    alpha: Vector
    exact: Weights
    rounded: Weights
    primal_residual: float = 0.0
    projection_distance: float = 0.0

    @property
    def scores(self) -> Vector:
        """Kβ, shape (n,)."""
        return self.exact.scores.mid


def feasible_dual(problem: DualProblem, alpha: Vector) -> DualPoint:
    """Return the projection of `alpha` onto the dual's feasible set, and how far it was off."""
    feasible, residual = problem.feasible(alpha), problem.infeasibility(alpha)
    off = float(np.linalg.norm(feasible - alpha.reshape(feasible.shape)))
    beta = problem.beta(feasible)
    if problem.is_linear:
        sums = transposed_products(problem.X, beta)
        rounded = weights_of(problem, sums.mid)
        exact = Weights(products(problem.X, sums), (sums * sums).sum(), sums.mid)
    else:
        scores = Intervals(*gram_products(problem.gram(memory=0), beta))
        exact = rounded = Weights(scores, (scores * beta).sum())
    return DualPoint(feasible, exact, rounded, residual, off)


def dual_point(problem: DualProblem, point: Point) -> tuple[DualPoint, str]:
    """Return the dual point of an answer, and what bounds are from: of weights alone it is recovered."""
    own_w = point.w if problem.is_linear else None
    if point.alpha is not None:
        return feasible_dual(problem, point.alpha), "alpha" if own_w is None else "alpha and w"
    assert own_w is not None
    return dual_from_weights(problem, own_w), "recovered from w"


def dual_from_weights(problem: DualProblem, w: Vector) -> DualPoint:
    """Return a good dual point for weights `w` (d,): the best of several candidates.

    At the optimum βᵢ = −Cᵢℓ'(yᵢ, fᵢ). For a loss with pieces αᵢ is Cᵢ inside the margin, 0 outside,
    anything on it, and w = Σ βᵢxᵢ.
    """
    if problem.pieces is None:
        return _dual_of_slopes(problem, w)
    best, best_value = _scaled(problem, feasible_dual(problem, np.zeros(problem.n)))
    for x in _candidates(problem, w):
        if not np.isfinite(x).all():  # fitted beyond float64's range
            continue
        alpha, value = _scaled(problem, feasible_dual(problem, problem.from_box_variables(x)))
        if value > best_value:
            best, best_value = alpha, value
    return made_dual(problem, best)


def _dual_of_slopes(problem: DualProblem, w: Vector) -> DualPoint:
    """Return the better one of −Cᵢℓ'(yᵢ, fᵢ) at f = Xw + b, and of 0, whose dual value is 0."""
    scores = problem.X @ w
    b = root_offset(problem, scores) if problem.intercept else 0.0
    C = problem.weight.reshape(-1, *(1 for _ in scores.shape[1:]))
    beta = -C * problem.loss.subgradient(problem.y, scores + b)
    if np.isfinite(beta).all():
        dual = made_dual(problem, problem.alpha(beta))
        conjugates = problem.weight * problem.loss.conjugate(
            problem.y, -problem.beta(dual.alpha) / C
        )
        if -0.5 * dual.exact.norm2.mid >= float(conjugates.sum()):
            return dual
    return made_dual(problem, np.zeros_like(scores))


def made_dual(problem: DualProblem, alpha: Vector) -> DualPoint:
    """Return the dual point of an `alpha` that was not given but made, feasible but for rounding."""
    return replace(feasible_dual(problem, alpha), primal_residual=0.0, projection_distance=0.0)


def _candidates(problem: DualProblem, w: Vector) -> Iterator[Vector]:
    """Yield box variables x that suit w.

    With residuals r, for several δ: softened indicators Cᵢ·clip(½ − rᵢ/δ, 0, 1) (hard margin:
    max(0, δ − rᵢ)); and those with |rᵢ| ≤ δ fitted to w.
    """
    r, box = _residuals(problem, w), problem.box
    for smoothing in _SMOOTHINGS:
        if not problem.is_bounded:
            yield np.maximum(0.0, smoothing - r)
            continue
        x = box.lb + (box.ub - box.lb) * np.clip(0.5 - r / smoothing, 0.0, 1.0)
        yield x
        near = np.flatnonzero(np.abs(r) <= smoothing)
        if near.size:
            yield _fitted(problem, w, r, x, near)


def _residuals(problem: DualProblem, w: Vector) -> Vector:
    """Return yᵢf(xᵢ) − 1, or for regression both distances to the tube, at the best offsets."""
    scores = problem.X @ w
    if problem.is_bounded:
        offsets = [middle(*interval) for interval in best_offsets(problem, scores)]
    else:
        b, margin = widest_margin(problem, scores)
        scores, b = (scores / margin, b / margin) if margin > 0 else (scores, b)
        offsets = [b] if problem.intercept else []
    return problem.box.lagrangian_gradient(problem.box_gradient(scores), offsets)


def _fitted(problem: DualProblem, w: Vector, r: Vector, start: Vector, near: Indices) -> Vector:
    """Return `start` with the variables `near` fitted so that Σ βᵢxᵢ = w (and Σ_{i∈g} βᵢ = c_g)."""
    box, x = problem.box, start.copy()
    x[near] = 0.0
    samples, sign = problem.X[box.Q.index[near]], box.Q.sign[near, None]
    rows = scipy.sparse.csr_array(samples).multiply(sign).tocsr()
    target = w - problem.X.T @ problem.beta(problem.from_box_variables(x))
    weight = float(np.abs(rows.data).max(initial=1.0))
    for i, a, delta in box.equalities:
        column = np.zeros(box.n)
        column[i] = a
        rows = scipy.sparse.hstack([rows, weight * column[near, None]], format="csr")
        target = np.append(target, weight * (delta - float(a @ x[i])))
    lb, ub = box.lb[near], box.ub[near]
    if near.size**2 * (near.size + problem.d) <= _FACTORED:
        from scipy.optimize import lsq_linear  # noqa: PLC0415 - slow to import

        # By active sets: the line search of the other method need not end (scipy 1.17). Of many best
        # points it takes one near 0, and so near `start`.
        A, begun = rows.toarray().T / weight, start[near]
        off, bounds = target / weight - A @ begun, (lb - begun, ub - begun)
        change = lsq_linear(A, off, bounds, method="bvls", max_iter=_EXCHANGES).x
        x[near] = np.clip(begun + change, lb, ub)
    else:
        x[near] = _descended(rows, target, r[near], start[near], lb, ub)
    return x


def _descended(
    rows: Any, target: Vector, r: Vector, start: Vector, lb: Vector, ub: Vector
) -> Vector:
    """Return x with little ½‖Σ xᵢ·rowᵢ − target‖² + rᵀx, found by coordinate descent.

    For the exact equality that is the duality gap of w and x, up to a constant.
    """
    norms = squared_norms(rows)
    x, off = start.copy(), rows.T @ start - target
    rng = np.random.default_rng(0)
    for _ in range(int(np.clip(_PASSED / max(1, rows.nnz), 1, _MOST_PASSES))):
        order = rng.permutation(np.flatnonzero(norms))
        _pass(rows.data, rows.indices, rows.indptr, norms, order, r, lb, ub, x, off)
    return x


@numba.njit(cache=True)
def _pass(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    norms: Vector,
    order: Indices,
    r: Vector,
    lb: Vector,
    ub: Vector,
    x: Vector,
    off: Vector,
) -> None:
    """Minimise over one variable at a time, in the given order; off = Σ xᵢ·rowᵢ − target."""
    for i in order:
        slope = r[i]
        for k in range(indptr[i], indptr[i + 1]):
            slope += data[k] * off[indices[k]]
        new = min(max(x[i] - slope / norms[i], lb[i]), ub[i])
        change = new - x[i]
        if change != 0.0:
            x[i] = new
            for k in range(indptr[i], indptr[i + 1]):
                off[indices[k]] += change * data[k]


def _scaled(problem: DualProblem, dual: DualPoint) -> tuple[Vector, float]:
    """Return the best multiple sα within the feasible set, and its dual value −s·pᵀx − ½s²·xᵀQx."""
    x = problem.to_box_variables(dual.alpha)
    linear, quadratic = -float(problem.box.p @ x), float(dual.exact.norm2.mid)
    longest = 1.0 if problem.is_bounded else INF
    s = min(longest, max(0.0, linear / quadratic)) if quadratic > 0 else 0.0
    s = 1.0 if problem.costs.any() else s  # no other multiple is feasible
    return s * dual.alpha, s * linear - 0.5 * s * s * quadratic
