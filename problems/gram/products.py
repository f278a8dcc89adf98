"""Products with a Gram matrix, and how far they may be off."""

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

_LATEST = 16  # products of a known matrix that are kept
_VALUES = 2**19  # of K at a time: large enough for BLAS, small enough for a cache


def gram_products(gram: Gram, v: Vector) -> tuple[Vector, Vector]:
    """Return Kv for `v` (n,), and by how much each entry may be wrong, kernel values included.

    The leading digits of K and of v are so few that their products are added without rounding, in any
    order; what is left of both is smaller by their number (Ozaki, Ogita, Oishi & Rump 2012,
    "Error-free transformations of matrix multiplication"). Equal samples have one row and one column.
    Of a matrix that is known both are split once, and a product is that of the whole that it is part of.
    """
    support = np.flatnonzero(v)
    if not support.size:
        return np.zeros(v.size), np.zeros(v.size)
    if gram.is_known:
        whole, rows = gram.parent or (gram, slice(None))
        beta = np.zeros(whole.n)
        beta[rows] = v
        everything = np.arange(whole.n)
        latest, key = whole.remembered("products", dict), beta.tobytes()
        found = latest.get(key)
        if found is None:
            if len(latest) >= _LATEST:
                del latest[next(iter(latest))]
            found = latest[key] = _products_of_kinds(whole, beta, *[everything] * 3)
        return found[0][rows], found[1][rows]
    everything = np.arange(v.size)
    kinds = (everything, everything) if uses_gram_matrix(gram.kernel) else distinct(gram.X)
    scores, errors = _products_of_kinds(gram, v, support, *kinds)
    return scores[kinds[1]], errors[kinds[1]]


def gram_scores(gram: Gram, v: Vector) -> Vector:
    """Return Kv for `v` (n,) or (n, K), to as many digits as `gram_products` and as fast."""
    if gram.is_linear:
        return gram.matvec(v)
    outputs = [gram_products(gram, column)[0] for column in v.reshape(gram.n, -1).T]
    return np.column_stack(outputs).reshape(v.shape)


def _products_of_kinds(
    gram: Gram, v: Vector, support: Indices, rows: Indices, kind: Indices
) -> tuple[Vector, Vector]:
    """Return the entries of Kv at `rows`, one of each kind, and by how much they may be wrong."""
    digits = leading_digits(support.size)
    high, low = split(v[support], digits, float(np.abs(v).max()))
    used, column = np.unique(kind[support], return_inverse=True)
    parts = high, low, np.abs(v[support]), np.abs(low), v[support]
    weights = np.column_stack([np.bincount(column, part) for part in parts])
    sizes, scores, lost = (np.zeros(rows.size) for _ in range(3))
    everything, operations = float(weights[:, 2].sum()), support.size + 3

    def multiply(part: slice, upper: Block, lower: Block, least: float, largest: float) -> None:
        exact, rest, *absolute = (upper @ weights[:, :4]).T
        if least < 0:
            absolute = (np.abs(upper) @ weights[:, 2:4]).T
        rest += lower @ weights[:, 4]
        of_lower = 2.0 ** (1 - digits) * largest * everything
        sizes[part] = absolute[0] + of_lower
        lost[part] = gamma(operations) * (absolute[1] + 2 * of_lower) + gamma(2) * np.abs(rest)
        scores[part] = exact + rest

    if gram.is_known:
        relative, spread = gram.radius
        values = gram.dense().__getitem__
    else:
        values, relative, spread = gram.bound.precise_columns(rows[used])
    if gram.is_known and gram.kept is not None and 24 * gram.n**2 <= gram.memory:
        key = "halves", digits
        parted = gram.remembered(key, lambda: _halves(gram.dense().copy(), digits))
        multiply(slice(None), *parted)
    else:

        def compute(start: int) -> None:
            part = slice(start, start + step)
            multiply(part, *_halves(values(rows[part]), digits))

        step = max(1, _VALUES // used.size)
        starts = range(0, rows.size, step)
        if len(starts) == 1:
            compute(0)
        else:
            threads = Threads()
            with threads.limited(1), ThreadPoolExecutor(threads.count) as pool:
                list(pool.map(compute, starts))
    lost += gamma(2) * np.abs(scores) + lost_to_underflow(v, v.size)
    values_lost = relative * sizes + spread[rows] * float(spread[rows[used]] @ weights[:, 2])
    return scores, SPARE * (lost + values_lost)


def _halves(K: Block, digits: int) -> tuple[Block, Block, float, float]:
    """Return K in two, see `split`, its least value and its largest in size; K itself is overwritten."""
    least = float(K.min())
    largest = max(float(K.max()), -least)
    return *split(K, digits, largest, out=K), least, largest
