"""Scores f = Kβ in ball arithmetic: numbers that carry a proven bound on their own error.

A ball [m ± r] holds every value its operands allow (Johansson 2017, "Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic"). The stored float64 samples and the rational β enter exactly; the
precision of `flint.ctx` only decides how wide the balls are. Their order in a sum does not matter.

Cost: for each kernel value some 0.8 µs, and 2 to 6 ns for each feature of its inner product; K is
symmetric, so that each pair of support vectors counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
import scipy
from flint import arb, arb_mat, ctx

from problems.dataset import Indices, Matrix
from problems.kernels import (
    RBF,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
    as_dense,
)

_BITS = 106  # to distinguish a ball's end from its neighbours in float64
_ENTRIES = 2**17  # numbers held as balls at a time, of some 100 bytes each ...
_ROWS = 512  # ... or rows and columns of kernel values


class Unprovable(Exception):
    """No proof is known for this problem; the message says why."""


def below(value: Any) -> float:
    """Return a float64 that is at most every number in a ball, and next to its lower end."""
    with ctx.workprec(_BITS):
        end = value.lower()
        rounded = float(end)
        return rounded if arb(rounded) <= end else nextafter(rounded, -inf)


def above(value: Any) -> float:
    """Return a float64 that is at least every number in a ball, and next to its upper end."""
    with ctx.workprec(_BITS):
        return -below(-value)


def dot(left: list[Any], right: list[Any]) -> Any:
    """Return Σ leftᵢ·rightᵢ as a ball."""
    return sum((arb(u) * v for u, v in zip(left, right, strict=True)), arb(0))


def ball_scores(X: Matrix, kernel: Kernel, beta: list[Any]) -> list[Any]:
    """Return balls around fᵢ = Σⱼ k(xᵢ, xⱼ)βⱼ for rationals β (n,).

    Raises
    ------
    Unprovable
        If the kernel has no ball arithmetic here.
    """
    support = np.array([j for j, value in enumerate(beta) if value != 0], dtype=np.intp)
    if isinstance(kernel, Linear):
        return linear_scores(X, _weighted_rows(X[support], [arb(beta[j]) for j in support]))
    rest = np.setdiff1d(np.arange(len(beta)), support)
    parts = [*_parts(support), *_parts(rest)]
    columns = [arb_mat([[arb(beta[j])] for j in part]) for part in _parts(support)]
    totals = [arb_mat(part.size, 1) for part in parts]
    squares = np.array([] if isinstance(kernel, Precomputed) else _squared_norms(X), dtype=object)
    for i, rows in enumerate(parts):
        # K is symmetric: a block among the support stands for its mirror image too
        for j in range(i if i < len(columns) else 0, len(columns)):
            block = _block(X, kernel, squares, rows, parts[j])
            totals[i] += block * columns[j]
            if i < j:
                totals[j] += block.transpose() * columns[i]
    scores = [arb(0)] * len(beta)
    for part, total in zip(parts, totals, strict=True):
        for k, value in zip(part, total.entries(), strict=True):
            scores[k] = value
    return scores


def _parts(indices: Indices) -> list[Indices]:
    return [indices[k : k + _ROWS] for k in range(0, indices.size, _ROWS)]


def linear_scores(X: Matrix, w: list[Any]) -> list[Any]:
    """Return balls around Xw for floats or balls w (d,)."""
    if not isinstance(X, np.ndarray):
        w = [arb(v) for v in w]
        data, indices, ends = X.data.tolist(), X.indices.tolist(), X.indptr.tolist()
        return [dot(data[i:j], [w[k] for k in indices[i:j]]) for i, j in pairwise(ends)]
    column = arb_mat([[v] for v in w])
    return [v for part in _row_parts(X) for v in (_balls(X[part]) * column).entries()]


def _weighted_rows(X: Matrix, weights: list[Any]) -> list[Any]:
    """Return Xᵀ·weights."""
    if not isinstance(X, np.ndarray):
        return linear_scores(X.T.tocsr(), weights)
    total = arb_mat(1, X.shape[1])
    for part in _row_parts(X):
        total += arb_mat([weights[part]]) * _balls(X[part])
    return total.entries()


def _row_parts(X: Matrix) -> Iterator[slice]:
    size = max(1, _ENTRIES // X.shape[1])
    return (slice(k, k + size) for k in range(0, X.shape[0], size))


def _balls(X: Matrix) -> Any:
    return arb_mat(as_dense(X).tolist())


def _block(X: Matrix, kernel: Kernel, squares: Any, rows: Indices, cols: Indices) -> Any:
    """Return the Gram matrix restricted to `rows` and `cols`."""
    if isinstance(kernel, Precomputed):  # αᵀKα knows only of the symmetric part
        mirrored = _balls(X[cols][:, rows]).transpose()
        return (_balls(X[rows][:, cols]) + mirrored) * arb(0.5)
    left, right = _balls(X[rows]), _balls(X[cols])
    x2, z2 = squares[rows].tolist(), squares[cols].tolist()
    if isinstance(kernel, RBF):
        exponents = _exponents(left, right, x2, z2, arb(kernel.gamma))
        return arb_mat(rows.size, cols.size, [v.exp() for v in exponents.entries()])
    inner = (left * right.transpose()).tolist()
    return arb_mat([_values(kernel, g, n2, z2) for g, n2 in zip(inner, x2, strict=True)])


def _exponents(left: Any, right: Any, x2: list[Any], z2: list[Any], gamma: Any) -> Any:
    """Return −gamma·‖x − z‖² = [x, ‖x‖², 1]·[2gamma·z, −gamma, −gamma·‖z‖²] in one product."""
    one, scaled = arb(1), (right * (2 * gamma)).tolist()
    A = arb_mat([[*x, n2, one] for x, n2 in zip(left.tolist(), x2, strict=True)])
    B = arb_mat([[*z, -gamma, -gamma * n2] for z, n2 in zip(scaled, z2, strict=True)])
    return A * B.transpose()


def _squared_norms(X: Matrix) -> list[Any]:
    """Return ‖xᵢ‖² of every row."""
    rows = scipy.sparse.csr_array(X)
    data = rows.data.tolist()
    return [dot(data[i:j], data[i:j]) for i, j in pairwise(rows.indptr.tolist())]


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
