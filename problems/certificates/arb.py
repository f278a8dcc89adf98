"""What bounds ask of an arithmetic, in balls of any precision, with which they are theorems.

A ball [m ± r] holds every value its operands allow (Johansson 2017, "Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic"). The stored float64 samples enter exactly; the precision of
`flint.ctx` only decides how wide the balls are. Their order in a sum does not matter.

Cost: for each kernel value some 0.8 µs, and 2 to 6 ns for each feature of its inner product; K is
symmetric, so that each pair of support vectors counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from problems.dataset import Indices, Matrix, Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.recovery import Weights
from problems.kernels import as_dense

_BITS = 106  # to distinguish a ball's end from its neighbours in float64
_ROUNDED = 2.0**-50  # of a limit, that float64 may have it wrong by
_BLOCK = 512  # rows and columns of kernel values held as balls at a time
_ENTRIES = 2**17  # numbers held as balls at a time, of some 100 bytes each
# An array of balls, from one of rationals or float64 numbers.
balls: Any = np.frompyfunc(arb, 1, 1)


class Arb:
    """Arithmetic of balls, in NumPy's arrays of them, at the precision that it is made at.

    Attributes
    ----------
    y, C, costs : a problem's targets, weights (1 where there is no bound) and costs of the offsets.
    worth : of the primal value, that another norm of w has to gain.
    """

    worth = 0.0

    def __init__(self, problem: DualProblem) -> None:
        targets = problem.ball_targets()
        self.y: Any = balls(problem.y) if targets is None else targets
        if not problem.is_regression:
            self.y = problem.y
        weights = [Fraction(1) if c is None else c for c in problem.exact_weights()]
        self.C: Any = np.array([arb(fmpq(*c.as_integer_ratio())) for c in weights], object)
        self.costs = balls(problem.costs)

    def number(self, value: float) -> Any:
        """Return a number to reckon with."""
        return arb(value)

    def array(self, values: Any) -> Any:
        """Return exact numbers as an array."""
        return balls(values)

    def joined(self, values: Sequence[Any]) -> Any:
        """Return several values as an array."""
        return np.array(values, object)

    def replaced(self, values: Any, at: Indices, new: Any) -> Any:
        """Return values with others at some indices."""
        values = values.copy()
        values[at] = new
        return values

    def coefficients(self, problem: DualProblem, alpha: Vector) -> Any:
        """Return β for `alpha`, within exact limits: float64 has rounded them, and C = 1/(n·lam)."""
        beta = problem.beta(alpha)
        values = balls(beta)
        for end, share in zip(
            map(problem.beta, problem.limits), problem.loss.dual_range, strict=True
        ):
            at_end = (beta * np.sign(end) >= (1.0 - _ROUNDED) * np.abs(end)) & (end != 0)
            for at in zip(*np.nonzero(at_end), strict=True):
                most = self.C[at[0]] * abs(share)
                values[at] = float(np.sign(end[at])) * abs(values[at]).min(most.lower())
        return values

    def lacking(self, terms: Any, total: Any) -> Any:
        """Return what exact numbers lack of their sum."""
        return total - terms.sum()

    def from_zero_to(self, value: float) -> Any:
        """Return what holds all numbers from 0 to `value`."""
        return arb(0).union(arb(value))

    def middles(self, values: Any) -> Any:
        """Return the midpoints, as exact as they are."""
        return np.frompyfunc(arb.mid, 1, 1)(values)

    def minimum(self, values: Any) -> Any:
        """Return the smallest value."""
        return np.frompyfunc(arb.min, 2, 1).reduce(values)

    def nearest(self, values: Any) -> Any:
        """Return the nearest float64 numbers."""
        return _floats(float, values)

    def smallest(self, values: Any) -> Any:
        """Return float64 numbers that are no more than the values."""
        return _floats(below, values)

    def largest(self, values: Any) -> Any:
        """Return float64 numbers that are no less than the values."""
        return _floats(above, values)


def _floats(function: Callable[[Any], float], values: Any) -> Any:
    return np.asarray(np.frompyfunc(function, 1, 1)(values), np.float64)


def combination(problem: DualProblem, beta: Any) -> Weights:
    """Return what a bound takes of w = Σ βᵢφ(xᵢ) for balls β."""

    def scores(column: Any) -> Any:
        if problem.is_linear:
            support = np.flatnonzero(column != 0)
            return linear_scores(problem.X, weighted_rows(problem.X[support], column[support]))
        return gram_scores(problem.kernel.bind(problem.X).balls, column, _BLOCK)

    found = _each_output(scores, beta)
    return Weights(found, (beta * found).sum())


def weights_of(problem: DualProblem, w: Vector) -> Weights:
    """Return what a primal bound takes of float64 weights of the features."""
    exact = balls(w.reshape(problem.d, -1) if problem.outputs > 1 else w.ravel())
    scores = _each_output(lambda column: linear_scores(problem.X, column), exact)
    return Weights(scores, (exact * exact).sum(), w)


def _each_output(function: Callable[[Any], Any], columns: Any) -> Any:
    """Return `function` of a vector, or of each column of a matrix."""
    if columns.ndim == 1:
        return function(columns)
    return np.stack([function(column) for column in columns.T], axis=1)


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
