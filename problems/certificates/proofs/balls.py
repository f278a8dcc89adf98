"""Scores f = Kβ in ball arithmetic: numbers that carry a proven bound on their own error.

A ball [m ± r] holds every value its operands allow (Johansson 2017, "Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic"). The stored float64 samples and the rational β enter exactly; the
precision of `flint.ctx` only decides how wide the balls are. Their order in a sum does not matter.

Cost: for each kernel value some 0.8 µs, and 2 to 6 ns for each feature of its inner product; K is
symmetric, so that each pair of support vectors counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from problems.dataset import Indices, Matrix
from problems.kernels import as_dense

_BITS = 106  # to distinguish a ball's end from its neighbours in float64
_ENTRIES = 2**17  # numbers held as balls at a time, of some 100 bytes each
# An array of balls, from one of rationals or float64 numbers.
balls: Any = np.frompyfunc(arb, 1, 1)


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
        return 0.0 - below(-value)  # never −0.0


def dot(left: Iterable[Any], right: Iterable[Any]) -> Any:
    """Return Σ leftᵢ·rightᵢ as a ball."""
    return sum((arb(u) * v for u, v in zip(left, right, strict=True)), arb(0))


def linear_scores(X: Matrix, w: Any) -> Any:
    """Return balls (n,) around Xw for floats or balls w (d,)."""
    if not isinstance(X, np.ndarray):
        w = [arb(v) for v in w]
        data, indices, ends = X.data.tolist(), X.indices.tolist(), X.indptr.tolist()
        rows = [dot(data[i:j], [w[k] for k in indices[i:j]]) for i, j in pairwise(ends)]
    else:
        column = arb_mat([[v] for v in w])
        rows = [v for part in _row_parts(X) for v in (ball_matrix(X[part]) * column).entries()]
    return np.array(rows, object)


def weighted_rows(X: Matrix, weights: Any) -> Any:
    """Return balls (d,) around Xᵀ·weights."""
    if not isinstance(X, np.ndarray):
        return linear_scores(X.T.tocsr(), weights)
    total = arb_mat(1, X.shape[1])
    for part in _row_parts(X):
        total += arb_mat([[arb(v) for v in weights[part]]]) * ball_matrix(X[part])
    return np.array(total.entries(), object)


def gram_scores(values: Any, beta: Any, size: int) -> Any:
    """Return balls (n,) around fᵢ = Σⱼ k(xᵢ, xⱼ)βⱼ.

    Parameters
    ----------
    values : (rows, cols) ↦ the Gram matrix restricted to them, in balls.
    beta : (n,) rationals.
    size : rows and columns of kernel values that are held at a time.
    """
    support = np.flatnonzero(beta != 0)
    rest = np.setdiff1d(np.arange(beta.size), support)
    own = _parts(support, size)
    parts = own + _parts(rest, size)
    columns = [arb_mat([[arb(beta[j])] for j in part]) for part in own]
    totals = [arb_mat(part.size, 1) for part in parts]
    for i, rows in enumerate(parts):
        # K is symmetric: a block among the support stands for its mirror image too
        for j in range(i if i < len(own) else 0, len(own)):
            block = values(rows, parts[j])
            totals[i] += block * columns[j]
            if i < j:
                totals[j] += block.transpose() * columns[i]
    scores = np.array([arb(0)] * beta.size, object)
    for part, total in zip(parts, totals, strict=True):
        scores[part] = total.entries()
    return scores


def ball_matrix(X: Matrix) -> Any:
    """Return a matrix of float64 numbers as one of balls, which hold them exactly."""
    return arb_mat(as_dense(X).tolist())


def _parts(indices: Indices, size: int) -> list[Indices]:
    return [indices[k : k + size] for k in range(0, indices.size, size)]


def _row_parts(X: Matrix) -> Iterator[slice]:
    size = max(1, _ENTRIES // X.shape[1])
    return (slice(k, k + size) for k in range(0, X.shape[0], size))
