"""Products with a Gram matrix, with error bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dualgap.problems.arithmetic.rounding import (
    SPARE,
    gamma,
    leading_digits,
    lost_to_underflow,
    split,
)
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block, uses_gram_matrix
from dualgap.problems.kernels.samples import distinct

# the latest products with a stored matrix, which are kept for repeated requests
_CACHED_PRODUCTS = 16
_CHUNK_VALUES = 2**19  # values of K per chunk: large enough for BLAS, small enough for a cache


def gram_products(gram: Gram, v: Vector) -> tuple[Vector, Vector]:
    """Return Kv for `v` (n,) and a bound on each entry's error, including errors of the kernel values.

    K and v are split into leading and remaining digits. The leading digits are few enough that their
    products are summed without rounding, in any order; the remainders are smaller by that many digits
    (Ozaki, Ogita, Oishi & Rump 2012, "Error-free transformations of matrix multiplication"). Equal
    samples share one row and one column. A stored matrix is split once, and products with a part of a
    matrix are computed with, and cached for, its parent.
    """
    support = np.flatnonzero(v)
    if not support.size:
        return np.zeros(v.size), np.zeros(v.size)
    if gram.is_stored:
        full, rows = gram.parent or (gram, slice(None))
        beta = np.zeros(full.n)
        beta[rows] = v
        samples = np.arange(full.n)
        cache, key = full.get_or_compute("products", dict), beta.tobytes()
        result = cache.get(key)
        if result is None:
            if len(cache) >= _CACHED_PRODUCTS:
                del cache[next(iter(cache))]
            result = cache[key] = _products_of_distinct_rows(full, beta, *[samples] * 3)
        return result[0][rows], result[1][rows]
    samples = np.arange(v.size)
    groups = (samples, samples) if uses_gram_matrix(gram.kernel) else distinct(gram.X)
    scores, errors = _products_of_distinct_rows(gram, v, support, *groups)
    return scores[groups[1]], errors[groups[1]]


def gram_scores(gram: Gram, v: Vector) -> Vector:
    """Return Kv for `v` (n,) or (n, K), as accurately as `gram_products`, or X(Xᵀv) if K is linear."""
    if gram.is_linear:
        return gram.matvec(v)
    outputs = [gram_products(gram, column)[0] for column in v.reshape(gram.n, -1).T]
    return np.column_stack(outputs).reshape(v.shape)


def _products_of_distinct_rows(
    gram: Gram, v: Vector, support: Indices, rows: Indices, group: Indices
) -> tuple[Vector, Vector]:
    """Return (Kv)[rows] with error bounds; `rows` has one sample of each group of equal samples."""
    digits = leading_digits(support.size)
    high, low = split(v[support], digits, float(np.abs(v).max()))
    used, column = np.unique(group[support], return_inverse=True)
    parts = high, low, np.abs(v[support]), np.abs(low), v[support]
    weights = np.column_stack([np.bincount(column, part) for part in parts])
    sizes, scores, lost = (np.zeros(rows.size) for _ in range(3))
    total_weight, operations = float(weights[:, 2].sum()), support.size + 3

    def multiply(part: slice, upper: Block, lower: Block, minimum: float, largest: float) -> None:
        exact, inexact, *sums = (upper @ weights[:, :4]).T
        if minimum < 0:
            sums = (np.abs(upper) @ weights[:, 2:4]).T
        inexact += lower @ weights[:, 4]
        of_lower = 2.0 ** (1 - digits) * largest * total_weight
        sizes[part] = sums[0] + of_lower
        lost[part] = gamma(operations) * (sums[1] + 2 * of_lower) + gamma(2) * np.abs(inexact)
        scores[part] = exact + inexact

    if gram.is_stored:
        relative, absolute = gram.radius
        values = gram.dense().__getitem__
    else:
        values, relative, absolute = gram.bound.precise_columns(rows[used])
    if gram.is_stored and gram.solver_cache is not None and 24 * gram.n**2 <= gram.memory:
        key = "halves", digits
        halves = gram.get_or_compute(key, lambda: _halves(gram.dense().copy(), digits))
        multiply(slice(None), *halves)
    else:

        def compute(start: int) -> None:
            part = slice(start, start + step)
            multiply(part, *_halves(values(rows[part]), digits))

        step = max(1, _CHUNK_VALUES // used.size)
        starts = range(0, rows.size, step)
        if len(starts) == 1:
            compute(0)
        else:
            threads = Threads()
            with threads.limited(1), ThreadPoolExecutor(threads.count) as pool:
                list(pool.map(compute, starts))
    lost += gamma(2) * np.abs(scores) + lost_to_underflow(v, v.size)
    values_lost = relative * sizes + absolute[rows] * float(absolute[rows[used]] @ weights[:, 2])
    return scores, SPARE * (lost + values_lost)


def _halves(K: Block, digits: int) -> tuple[Block, Block, float, float]:
    """Return both parts of K, see `split`, its minimum and its largest modulus; K is overwritten."""
    minimum = float(K.min())
    largest = max(float(K.max()), -minimum)
    return *split(K, digits, largest, out=K), minimum, largest
