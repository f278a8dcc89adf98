"""The arithmetic of `bounds` in balls of any precision, which turns the bounds into theorems.

The stored float64 samples enter exactly; the precision of `flint.ctx` affects only the radii of the
balls. The order of a sum does not matter.

Cost: about 0.8 µs per kernel value, plus 2 to 6 ns per feature of its inner product; K is symmetric, so
each pair of support vectors counts once.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import isqrt

import numpy as np
from flint import arb, arb_mat, fmpq

from dualgap.problems.arithmetic import Balls
from dualgap.problems.arithmetic.intervals import WEIGHT_RTOL
from dualgap.problems.certificates.bounds import Arithmetic, Positions, targets
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.risk.dual_point import Weights
from dualgap.problems.risk.risk import Risk

_BATCH_ENTRIES = 2**18  # held as balls at a time: about 100 bytes each


class Arb(Arithmetic[Balls]):
    """Arithmetic of balls at the precision it is created with."""

    array = Balls
    min_improvement = 0.0

    def __init__(self, risk: Risk) -> None:
        self.y = targets(risk, Balls)
        finite = np.where(np.isinf(risk.C), 1.0, risk.C).tolist()
        weights = finite if risk.exact_C is None else [risk.exact_C] * risk.n
        self.C = Balls([arb(fmpq(*c.as_integer_ratio())) for c in weights])
        self.costs = Balls(risk.costs)

    def coefficients(self, risk: Risk, alpha: Vector) -> Balls:
        """Return β for `alpha`, clipped to exact limits, which float64 has rounded, as C = 1/(n·lam)."""
        beta = risk.beta(alpha)
        values = Balls(beta).entries
        ends = map(risk.beta, risk.loss.limits(risk.y, risk.C))
        for end, factor in zip(ends, risk.loss.dual_range, strict=True):
            at_end = (beta * np.sign(end) >= (1.0 - WEIGHT_RTOL) * np.abs(end)) & (end != 0)
            for at in zip(*np.nonzero(at_end), strict=True):
                limit = self.C.entries[at[0]] * abs(factor)
                values[at] = float(np.sign(end[at])) * abs(values[at]).min(limit.lower())
        return Balls(values)

    def norm2(self, risk: Risk, at: Positions, moves: Balls) -> Balls:
        """Return ‖Σ movesᵢφ(xᵢ)‖²."""
        shape = (risk.n, risk.loss.outputs) if isinstance(at, tuple) else risk.n
        return combination(risk, Balls(np.zeros(shape)).replaced(at, moves)).norm2


def combination(risk: Risk, beta: Balls) -> Weights[Balls]:
    """Return the weights w = Σ βᵢφ(xᵢ) for balls β."""

    def scores(column: Balls) -> Balls:
        if not risk.samples.is_linear:
            kernel, X = risk.samples.kernel, risk.samples.X
            return gram_scores(partial(kernel.balls, X), column, isqrt(_BATCH_ENTRIES))
        support = column.nonzero()
        columns = risk.samples.X[support].T
        rows = columns if isinstance(columns, np.ndarray) else columns.tocsr()
        return linear_scores(risk.samples.X, linear_scores(rows, column[support]))

    f = _each_output(scores, beta)
    return Weights(f, (beta * f).sum())


def weights_of(risk: Risk, w: Vector) -> Weights[Balls]:
    """Return the weights of a linear kernel for float64 `w` (d,) or (d, K)."""
    exact = Balls(w.reshape(risk.samples.d, -1) if risk.loss.outputs > 1 else w.ravel())
    scores = _each_output(lambda column: linear_scores(risk.samples.X, column), exact)
    return Weights(scores, (exact * exact).sum(), w)


def _each_output(function: Callable[[Balls], Balls], columns: Balls) -> Balls:
    """Return `function` of a vector, or of each column of a matrix."""
    if columns.ndim == 1:
        return function(columns)
    return Balls(np.stack([function(column).entries for column in columns.T], axis=1))


def linear_scores(X: Matrix, w: Balls) -> Balls:
    """Return balls (n,) around Xw for balls w (d,)."""
    if not isinstance(X, np.ndarray):
        terms = Balls(X.data).entries * w.entries[X.indices]
        return Balls([sum(terms[i:j], arb(0)) for i, j in pairwise(X.indptr.tolist())])
    size, column = max(1, _BATCH_ENTRIES // max(1, w.size)), w.reshape(-1, 1)
    starts = range(0, X.shape[0], size)
    return Balls(np.concatenate([(Balls(X[k : k + size]) @ column).entries[:, 0] for k in starts]))


def gram_scores(values: Callable[[Indices, Indices], Balls], beta: Balls, size: int) -> Balls:
    """Return balls (n,) around fᵢ = Σⱼ k(xᵢ, xⱼ)βⱼ.

    Parameters
    ----------
    values : (rows, cols) ↦ the Gram matrix restricted to them, in balls.
    size : the number of rows and columns held at a time.
    """
    support = beta.nonzero()
    with_beta = _parts(support, size)
    parts = with_beta + _parts(np.setdiff1d(np.arange(beta.size), support), size)
    columns = [beta[part].reshape(-1, 1).matrix() for part in with_beta]
    totals = [arb_mat(part.size, 1) for part in parts]
    for i, rows in enumerate(parts):
        # K is symmetric: a tile of the support also serves as its mirror image
        for j in range(i if i < len(with_beta) else 0, len(with_beta)):
            tile = values(rows, parts[j]).matrix()
            totals[i] += tile * columns[j]
            if i < j:
                totals[j] += tile.transpose() * columns[i]
    scores = np.array([arb(0)] * beta.size, object)
    for part, total in zip(parts, totals, strict=True):
        scores[part] = total.entries()
    return Balls(scores)


def _parts(indices: Indices, size: int) -> list[Indices]:
    return [indices[k : k + size] for k in range(0, indices.size, size)]
