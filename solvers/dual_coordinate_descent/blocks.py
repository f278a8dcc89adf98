"""A block of variables of a box QP over a linear Gram matrix: products, and an epoch on it.

Variable k is the coefficient of mₖ = signₖ·x_row(k), a signed sample, so Q = MMᵀ is never formed: with
w = Mᵀx the gradient is Mw + p. A block holds all variables, a random sample of them, or those that may
still move. Each loop is compiled once for dense rows and for CSR rows alike.

An epoch is one of dual coordinate descent with shrinking (Hsieh et al. 2008, algorithm 3): each
variable in turn moves to its minimum in the box, x ← clip(x − g/h, lb, ub), and w = Mᵀx is updated. The
equality is treated by an augmented Lagrangian (Hestenes 1969): with t = aᵀx − delta,
    g = mᵀw + p + a·(ν + ρt),   h = mᵀm + ρa²,   and ν ← ν + ρt after each epoch,
as if the samples had an additional feature √ρ·a. With ρ a sixteenth of the mean of mᵀm this takes
hardly more epochs than the problem without the equality; if epochs are few, a larger ρ finds ν sooner.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP
from dualgap.problems.gram.threads import READ_COST, Pool
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.solvers.numerics.rows import SampleRows, add, as_rows, dot, read_only

ALONE = Pool(1)


class VariableBlock(NamedTuple):
    """Some variables: their rows, and their entries of p, a, lb, ub and the diagonal of Q."""

    rows: SampleRows
    row_of: Indices
    sign: Vector
    p: Vector
    a: Vector
    lb: Vector
    ub: Vector
    diagonal: Vector

    @property
    def reading(self) -> int:
        """The cost of reading the variables' rows, in multiplications."""
        samples = max(1, self.rows.dense.shape[0], self.rows.indptr.size - 1)
        return int(READ_COST * self.rows.size / samples * self.sign.size)

    def take(self, chosen: Indices, weight: float = 1.0) -> VariableBlock:
        """Return the chosen variables, with their boxes multiplied by `weight`."""
        row_of, sign, p, a, lb, ub, diagonal = (v[chosen] for v in self[1:])
        vectors = (row_of, sign, p, a, weight * lb, weight * ub, diagonal)
        return VariableBlock(self.rows, *(read_only(v) for v in vectors))

    def gathered(self) -> VariableBlock:
        """Return the same variables, with CSR rows copied one behind the other.

        An epoch on some of the rows of w8a, a9a or 50,000 x 20,000 entries takes 0.4 to 0.7 of the time.
        Indices keep their type, unlike in SciPy, so that no loop is compiled a second time.
        """
        rows = self.rows
        if rows.dense.size > 0:
            return self
        indptr = np.zeros(self.sign.size + 1, rows.indptr.dtype)
        np.cumsum(rows.indptr[self.row_of + 1] - rows.indptr[self.row_of], out=indptr[1:])
        size = int(indptr[-1])
        data, indices = np.empty(size, rows.data.dtype), np.empty(size, rows.indices.dtype)
        _copy_rows(rows, self.row_of, indptr, data, indices)
        copied = (read_only(v) for v in (data, indices, indptr))
        numbers = np.arange(self.sign.size, dtype=self.row_of.dtype)
        return self._replace(rows=SampleRows(rows.dense, *copied), row_of=read_only(numbers))


@numba.njit(cache=True)
def _copy_rows(
    rows: SampleRows, row_of: Indices, indptr: Indices, data: Vector, indices: Indices
) -> None:
    for k in range(row_of.size):
        first, start = rows.indptr[row_of[k]], indptr[k]
        for j in range(indptr[k + 1] - start):
            data[start + j] = rows.data[first + j]
            indices[start + j] = rows.indices[first + j]


def compile_sparse_systems(X: Any) -> None:
    """Compile `gathered`, `normal_matrix` and `row_products` for CSR samples of the type of `X`."""
    one = np.ones(1)
    numbers = (read_only(v) for v in (np.zeros(1, np.int64), *[one] * 6))
    block = VariableBlock(as_rows(X[:1, :1]), *numbers)
    block.gathered()
    normal_matrix(block, one, 1)
    row_products(block, one, 1)


def whole_block(form: BoxQP) -> VariableBlock:
    """Return all variables of `form`; `a` is 0 if it has no equality."""
    rows = as_rows(form.gram.X)
    a = np.zeros(form.n) if form.a is None else form.a
    index, sign = form.Q.index, form.Q.sign
    vectors = (index, sign, form.p, a, form.lb, form.ub, form.Q.diagonal())
    return VariableBlock(rows, *(read_only(v) for v in vectors))


@numba.njit(cache=True, fastmath=FASTMATH)
def epoch(
    block: VariableBlock,
    order: Indices,
    x: Vector,
    w: Vector,
    t: float,
    nu: float,
    rho: float,
    high: float,
    low: float,
) -> tuple[int, float, float, float]:
    """Visit the variables in `order`; return how many stay, the extreme projected gradients, and t.

    x, w and `order` are updated in place: those that stay come first. A variable at a bound is dropped
    if its gradient holds it there by more than the last epoch's extremes `high` and `low`.
    """
    stay, highest, lowest = 0, 0.0, 0.0
    for k in range(order.size):
        i = order[k]
        row, sign, a = int(block.row_of[i]), float(block.sign[i]), float(block.a[i])
        lb, ub, old = float(block.lb[i]), float(block.ub[i]), float(x[i])
        g = sign * dot(block.rows, row, w) + float(block.p[i]) + a * (nu + rho * t)
        h = float(block.diagonal[i]) + rho * a * a
        if (old <= lb and g > high) or (old >= ub and g < low):
            continue
        order[stay] = i
        stay += 1
        projected = 0.0 if (old <= lb and g > 0.0) or (old >= ub and g < 0.0) else g
        highest = projected if projected > highest else highest
        lowest = projected if projected < lowest else lowest
        if projected != 0.0:
            goal = old - g / h if h > 0.0 else ub if g < 0.0 else lb
            goal = lb if goal < lb else ub if goal > ub else goal
            x[i] = goal
            change = goal - old
            if change != 0.0:
                t += a * change
                add(block.rows, row, sign * change, w)
    return stay, highest, lowest, t


def scores(block: VariableBlock, w: Vector, bias: float, pool: Pool = ALONE) -> Vector:
    """Return Mw + bias·a."""
    result = np.empty(block.sign.size)

    def write(first: int, last: int) -> None:
        _write_scores(block, w, bias, result, first, last)

    pool.run(write, result.size, block.reading)
    return result


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _write_scores(
    block: VariableBlock, w: Vector, bias: float, out: Vector, first: int, last: int
) -> None:
    for k in range(first, last):
        out[k] = block.sign[k] * dot(block.rows, block.row_of[k], w) + bias * block.a[k]


def combine(block: VariableBlock, x: Vector, w: Vector, pool: Pool = ALONE) -> float:
    """Add Mᵀx to w in place and return aᵀx; most entries of x are 0."""
    parts = dict[int, tuple[Vector, float]]()

    def add_part(first: int, last: int) -> None:
        partial = np.zeros(w.size)
        parts[first] = partial, _combine(block, x, partial, first, last)

    pool.run(add_part, x.size, block.reading)
    total = 0.0
    for first in sorted(parts):  # a fixed order makes rounding reproducible
        w += parts[first][0]
        total += parts[first][1]
    return total


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _combine(block: VariableBlock, x: Vector, w: Vector, first: int, last: int) -> float:
    total = 0.0
    for k in range(first, last):
        if x[k] != 0.0:
            add(block.rows, block.row_of[k], block.sign[k] * x[k], w)
            total += block.a[k] * x[k]
    return total


def dense_normal_matrix(block: VariableBlock, root: Vector, extra: Vector, pool: Pool) -> Block:
    """Return ZᵀZ for dense rows, with Z = [diag(root)·M, extra], in cache-sized batches of rows."""
    dense, scale, d = block.rows.dense, block.sign * root, block.rows.features
    parts = dict[int, Block]()

    def add_part(first: int, last: int) -> None:
        size = 1024  # rows whose matrix Z stays in the second-level cache
        total, Z = np.zeros((d + 1, d + 1)), np.empty((size, d + 1))
        for low in range(first, last, size):
            batch = slice(low, min(low + size, last))
            Z = Z[: batch.stop - low]
            np.multiply(dense[block.row_of[batch]], scale[batch, None], out=Z[:, :d])
            Z[:, d] = extra[batch]
            total += Z.T @ Z
        parts[first] = total

    pool.run(add_part, scale.size, block.reading * (1 + d // READ_COST))
    return np.sum([parts[first] for first in sorted(parts)], axis=0)


def normal_matrix(block: VariableBlock, weight: Vector, size: int) -> Block:
    """Return the lower triangle of Σ weightⱼ·mⱼmⱼᵀ for CSR rows, as leading block of (size, size)."""
    H: Block = np.zeros((size, size))
    _add_squares(block, weight, H)
    return H


@numba.njit(cache=True, fastmath=FASTMATH)
def _add_squares(block: VariableBlock, weight: Vector, H: Block) -> None:
    rows = block.rows
    for j in range(weight.size):
        i, scale = block.row_of[j], weight[j] * block.sign[j] * block.sign[j]
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            value, row = scale * rows.data[k], H[rows.indices[k]]
            for m in range(rows.indptr[i], k):  # indices are sorted
                row[rows.indices[m]] += value * rows.data[m]
            row[rows.indices[k]] += value * rows.data[k]


def row_products(block: VariableBlock, weight: Vector, d: int) -> Block:
    """Return the lower triangle of [weightᵢ·weightⱼ·mᵢᵀmⱼ] for CSR rows in d features.

    Rows are looked up in lists per feature, so that a pair of samples costs only their common features:
    a fifth of the time of SciPy's product on text.
    """
    K, scale = np.zeros((weight.size, weight.size)), weight * block.sign
    sizes = np.diff(block.rows.indptr.astype(np.int64))
    entries = int(sizes[block.row_of].sum())
    lists = np.empty(entries, np.int32), np.empty(entries)
    _add_products(block, scale, np.zeros(d, np.int64), np.zeros(d, np.int64), *lists, K)
    return K


@numba.njit(cache=True, fastmath=FASTMATH)
def _add_products(
    block: VariableBlock, scale: Vector, start: Indices, end: Indices, sample: Any, entry: Vector,
    K: Block,
) -> None:  # fmt: skip
    """Add the products to K; `start` and `end`, 0 at first, delimit the entries of each feature."""
    rows, total = block.rows, 0
    for j in range(scale.size):
        i = block.row_of[j]
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            end[rows.indices[k]] += 1
    for feature in range(end.size):
        count = end[feature]
        start[feature] = end[feature] = total
        total += count
    for j in range(scale.size):
        i = block.row_of[j]
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            feature, value = rows.indices[k], scale[j] * rows.data[k]
            sample[end[feature]], entry[end[feature]] = j, value
            end[feature] += 1
            for m in range(start[feature], end[feature]):
                K[j, sample[m]] += value * entry[m]
