"""Products with a Gram matrix, with error bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import ceil, sqrt

import numpy as np

from dualgap.problems.arithmetic.rounding import SPARE, lost_to_underflow
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.kernels import uses_gram_matrix
from dualgap.problems.kernels.samples import distinct


def gram_products(gram: Gram, v: Vector) -> tuple[Vector, Vector]:
    """Return Kv for `v` (n,) and a bound on each entry's error, including errors of the kernel values.

    Columns are added in about √n chunks of √n, so that sums of n values are as accurate as those of 2√n.
    Equal samples share one row and one column. Products with a part of a stored matrix are computed
    with, and cached for, its parent.
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
            if len(cache) >= 16:  # the latest are kept for repeated requests
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
    """Return (Kv)[rows] with error bounds; `rows` has one sample of each group of equal samples.

    A sum of m values sᵢsⱼ(1 + γₐ)vⱼ has an error of at most γₐ₊ₘ·sᵢ·Σ sⱼ|vⱼ|.
    """
    used, column = np.unique(group[support], return_inverse=True)
    weight, size = (np.bincount(column, part) for part in (v[support], np.abs(v[support])))
    width = max(64, ceil(sqrt(used.size)))  # fewer columns would be slow, not more accurate
    height = max(1, TUNING.product_values // width)
    columns, starts = rows[used], range(0, used.size, width)
    scores = np.zeros(rows.size)

    def add(first: int) -> None:
        chosen = slice(first, first + height)
        for start in starts:
            part = slice(start, start + width)
            K = (
                gram.dense()[chosen, part]
                if gram.is_stored
                else gram.bound.block(rows[chosen], columns[part])
            )
            scores[chosen] += K @ weight[part]

    chunks = range(0, rows.size, height)
    if len(chunks) == 1:
        add(0)
    else:
        threads = Threads()
        with threads.limited(1), ThreadPoolExecutor(threads.count) as pool:
            list(pool.map(add, chunks))
    additions = min(width, used.size) + len(starts) + int(np.bincount(column).max())
    radius = gram.radius(additions)
    errors = SPARE * radius[rows] * float(radius[columns] @ size)
    return scores, errors + lost_to_underflow(v, v.size)
