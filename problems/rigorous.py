"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The dual point is made exactly feasible in rationals; any float64 (w, b) is a primal point as it
stands. Both objectives are then evaluated in ball arithmetic (Johansson 2017, "Arb"), which carries a
proven error bound through every operation, and rounded outwards: lower ≤ optimum ≤ upper.

Cost: about 1.5 µs for each kernel value between a sample and a support vector, and d·106 bits for
each of their inner products: some seconds for n = 2000 with an RBF kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from problems.dataset import Matrix, Vector
from problems.erm import HingeERM
from problems.formulation import Formulation
from problems.kernels import RBF, Kernel, Linear, Polynomial, Product, Scaled, Sum, as_dense

_BITS = 106  # twice float64's precision: inner products keep all their digits
_CHUNK = 128  # rows of the Gram matrix in ball arithmetic at a time


class Unprovable(Exception):
    """No proof is known for this problem; the message says why."""


@dataclass(frozen=True)
class Bounds:
    """Proven bounds: lower ≤ optimum ≤ upper."""

    lower: float
    upper: float


def proven_bounds(
    problem: Formulation, alpha: Vector, w: Vector | None, b: float, length: float = 1.0
) -> Bounds:
    """Return proven bounds from a dual point `alpha` (n,) and, for a linear kernel, weights `w`.

    Without `w` the primal point is w = `length`·Σ βᵢφ(xᵢ) for the exactly feasible α. `b` is used as
    it is for the soft margin and regression; for the hard margin the best one is taken anew.

    Raises
    ------
    Unprovable
        If the kernel is not known to be positive semidefinite, or has no ball arithmetic here.
    """
    if not problem.kernel.is_psd:
        raise Unprovable("the kernel is not known to be positive semidefinite on all samples")
    precision, ctx.prec = ctx.prec, _BITS
    try:
        beta = _exact_beta(problem, alpha)
        scores = _scores(problem, beta)
        lower = _dual_value(problem, beta, scores)
        if w is None:
            norm2, scores = _lengthened(_dot(beta, scores), scores, length)
        else:
            norm2, scores = _square(w), _linear_scores(problem.X, [arb(v) for v in w.tolist()])
        upper = _primal_value(problem, scores, norm2, b)
        return Bounds(_outward(lower.lower(), -np.inf), _outward(upper.upper(), np.inf))
    finally:
        ctx.prec = precision


def _lengthened(norm2: Any, scores: list[Any], length: float) -> tuple[Any, list[Any]]:
    return norm2 * length * length, [length * f for f in scores]


def _exact(value: float) -> Any:
    return fmpq(*float(value).as_integer_ratio())


def _exact_bounds(problem: Formulation) -> list[Any]:
    """Return Cᵢ as rationals (None for no bound); of hinge ERM 1/(n·lam), which need not be a float."""
    if isinstance(problem, HingeERM):
        return [1 / (problem.n * _exact(problem.lam))] * problem.n
    return [None if np.isinf(c) else _exact(c) for c in problem.upper.tolist()]


def _exact_beta(problem: Formulation, alpha: Vector) -> list[Any]:
    """Return βᵢ as rationals that satisfy the box and, with an intercept, Σ βᵢ = 0 exactly."""
    C = _exact_bounds(problem)
    sign = [1] * problem.n if problem.is_regression else [int(s) for s in problem.y]
    x = [_exact(v) for v in alpha.tolist()]
    for i, c in enumerate(C):
        low = (-c if c is not None else None) if problem.is_regression else fmpq(0)
        x[i] = _clip(x[i], low, c)
    if problem.intercept:
        _cancel(x, sign, C, problem.is_regression)
    return [s * v for s, v in zip(sign, x, strict=True)]


def _clip(value: Any, low: Any, high: Any) -> Any:
    value = value if low is None or value >= low else low
    return value if high is None or value <= high else high


def _cancel(x: list[Any], sign: list[int], C: list[Any], regression: bool) -> None:
    """Move the entries of largest size, in place, until Σ signᵢxᵢ = 0 exactly."""
    excess = sum((s * v for s, v in zip(sign, x, strict=True)), fmpq(0))
    for i in sorted(range(len(x)), key=lambda k: -abs(Fraction(int(x[k].p), int(x[k].q)))):
        if excess == 0:
            return
        low = (None if C[i] is None else -C[i]) if regression else fmpq(0)
        moved = _clip(x[i] - sign[i] * excess, low, C[i])
        excess += sign[i] * (moved - x[i])
        x[i] = moved
    if excess != 0:
        raise Unprovable("no exactly feasible dual point was found near the solver's")


def _scores(problem: Formulation, beta: list[Any]) -> list[Any]:
    """Return balls around fᵢ = Σⱼ k(xᵢ, xⱼ)βⱼ."""
    support = [j for j, value in enumerate(beta) if value != 0]
    if not support:
        return [arb(0)] * problem.n
    weights = arb_mat([[arb(beta[j])] for j in support])
    if problem.is_linear:
        rows = arb_mat(as_dense(problem.X[support]).T.tolist())
        return _linear_scores(problem.X, (rows * weights).entries())
    return [v for block in _kernel_rows(problem, support) for v in (block * weights).entries()]


def _linear_scores(X: Matrix, w: list[Any]) -> list[Any]:
    column = arb_mat([[v] for v in w])
    scores: list[Any] = []
    for start in range(0, X.shape[0], _CHUNK):
        scores += (arb_mat(as_dense(X[start : start + _CHUNK]).tolist()) * column).entries()
    return scores


def _kernel_rows(problem: Formulation, support: list[int]) -> Iterator[Any]:
    """Yield blocks of rows of the Gram matrix, restricted to the support, in ball arithmetic."""
    Z = arb_mat(as_dense(problem.X[support]).tolist())
    Zt, z2 = Z.transpose(), _row_squares(Z)
    for start in range(0, problem.n, _CHUNK):
        X = arb_mat(as_dense(problem.X[start : start + _CHUNK]).tolist())
        inner, x2 = (X * Zt).tolist(), _row_squares(X)
        yield arb_mat([_values(problem.kernel, g, n2, z2) for g, n2 in zip(inner, x2, strict=True)])


def _row_squares(M: Any) -> list[Any]:
    return [sum((v * v for v in row), arb(0)) for row in M.tolist()]


def _values(kernel: Kernel, inner: list[Any], x2: Any, z2: list[Any]) -> list[Any]:
    """Return k(x, zⱼ) from the inner products xᵀzⱼ and the squared norms."""
    match kernel:
        case Linear():
            return inner
        case Polynomial(degree, gamma, coef0):
            return [(gamma * g + coef0) ** int(degree) for g in inner]
        case RBF(gamma):
            scale = arb(-gamma)
            return [(scale * (x2 + n2 - 2 * g)).exp() for g, n2 in zip(inner, z2, strict=True)]
        case Sum(left, right) | Product(left, right):
            pairs = zip(_values(left, inner, x2, z2), _values(right, inner, x2, z2), strict=True)
            return [u + v if isinstance(kernel, Sum) else u * v for u, v in pairs]
        case Scaled(inside, factor):
            return [factor * v for v in _values(inside, inner, x2, z2)]
        case _:
            raise Unprovable(f"{type(kernel).__name__} has no ball arithmetic")


def _dual_value(problem: Formulation, beta: list[Any], scores: list[Any]) -> Any:
    """Return the dual objective; of the hard margin the best over the length of α."""
    quadratic = _dot(beta, scores)
    if problem.is_regression:
        targets = [_exact(v) for v in problem.y.tolist()]
        linear = sum((t * v for t, v in zip(targets, beta, strict=True)), fmpq(0))
        linear -= _exact(problem.tube) * sum((abs(v) for v in beta), fmpq(0))
    else:
        linear = sum((abs(v) for v in beta), fmpq(0))
    if problem.family != "hard_margin":
        return arb(linear) - quadratic / 2
    if linear == 0:
        return arb(0)
    if not quadratic > 0:
        raise Unprovable("αᵀQα cannot be told from 0")
    return arb(linear) ** 2 / (2 * quadratic)


def _primal_value(problem: Formulation, scores: list[Any], norm2: Any, b: float) -> Any:
    labels = problem.y.tolist()
    if problem.family == "hard_margin":
        b = _hard_intercept(problem, np.array([float(f) for f in scores]))
        margin = min((y * (f + arb(b))).lower() for y, f in zip(labels, scores, strict=True))
        return norm2 / (2 * margin**2) if margin > 0 else arb("inf")
    total = norm2 / 2
    for c, y, f in zip(_exact_bounds(problem), labels, scores, strict=True):
        residual = f + arb(b)
        excess = (
            abs(arb(y) - residual) - problem.tube if problem.is_regression else 1 - y * residual
        )
        total += arb(c) * excess.max(arb(0))
    return total


def _hard_intercept(problem: Formulation, scores: Vector) -> float:
    y = problem.y
    if not problem.intercept:
        return 0.0
    if (y == y[0]).all():
        return float(y[0] * (1.0 - (y * scores).min()))
    return -0.5 * float(scores[y < 0].max() + scores[y > 0].min())


def _dot(left: list[Any], right: list[Any]) -> Any:
    return sum((u * v for u, v in zip(map(arb, left), right, strict=True)), arb(0))


def _square(w: Vector) -> Any:
    return sum((arb(v) * arb(v) for v in w.tolist()), arb(0))


def _outward(value: Any, direction: float) -> float:
    return float(np.nextafter(float(value), direction))
