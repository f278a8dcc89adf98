"""What is asked of each block in a round: pure functions of the block and of what the driver sent.

A round is one question to every block, and its answers are added in the order of the blocks, so that
they do not depend on where or when each was found. Rows of a block are looked at in parts of a fixed
length, each on one thread of linear algebra, and these are added in their order too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import scipy

from dualgap.problems.blocks import Block, DualRule
from dualgap.problems.blocks.rule import curvature, followed, scores, variable_keys
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import Sharded
from dualgap.problems.gram.threads import Threads
from dualgap.problems.losses import Piece
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock, normal_matrix
from dualgap.solvers.numerics.rows import FAST, as_rows, read_only

T = TypeVar("T")
# Where the objective is evaluated between w (0) and w' (1), and beyond.
STEPS = np.concatenate([[0.0, 1 / 64, 1 / 32], np.linspace(1 / 16, 1, 16), [1.25, 1.5, 2.0]])
# |u|, relative to the cost p, below which rows are as near as those on the kink; and how much the
# distances of equal rows may then differ by rounding.
_ALIKE, _ROUNDING = 1e-6, 1e-9
_MORE = 4  # times as many rows are looked at where half of them are equal to others
FEW_STEPS = np.array([0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 1.5, 2.0])  # of smooth losses


class Rows(NamedTuple):
    """Variables near the kink, one for all that are equal: keys (m,), X (m, d), y, ΣC, signs, p, x.

    `reach` is the largest |u| of one of them, with what rounding may add.
    """

    key: Vector
    X: Any
    y: Vector
    C: Vector
    sign: Vector
    cost: Vector
    x: Vector
    reach: Vector

    def rule(self, w: Vector, change: Vector, gamma: float, x: Vector) -> DualRule:
        """Return the rule of dual variables with `x` (m,) of these."""
        rule = DualRule(w, change, gamma, float(self.reach.max()), self.key, x / self.C)
        return rule.sorted()


class Far(NamedTuple):
    """Sums over the variables β₊ and β₋: v (2, d + 1) with Σβ last, and the linear part of D (2,)."""

    v: Vector
    linear: Vector

    def __add__(self, other: Far) -> Far:  # type: ignore[override]
        return Far(self.v + other.v, self.linear + other.linear)

    @classmethod
    def zero(cls, d: int) -> Far:
        """Return the sums over nothing, of d features."""
        return cls(np.zeros((2, d + 1)), np.zeros(2))


def total(parts: list[Far]) -> Far:
    """Return the sums of all parts."""
    return Far(sum(p.v for p in parts), sum(p.linear for p in parts))  # type: ignore[arg-type]


def _map(f: Callable[[slice], T], block: Block, threads: int) -> list[T]:
    """Return f of each part of a block, on so many threads."""
    with Threads().limited(1):
        if threads == 1:
            return [f(rows) for rows in block.pieces()]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(f, block.pieces()))


def drawn(
    form: Sharded, k: int, _threads: int, share: float, seed: int
) -> tuple[Any, Vector, Vector]:
    """Return X, y and C of a share of a block's samples, drawn at random."""
    block = form.blocks.read(k)
    count = min(block.y.size, int(np.ceil(share * block.y.size)))
    rows = np.sort(np.random.default_rng([seed, k]).choice(block.y.size, count, replace=False))
    return block.X[rows], block.y[rows], form.weights(block)[rows]


def nearest(
    form: Sharded, k: int, threads: int, w: Vector, share: float, known: DualRule | None
) -> tuple[Rows, Far, Any, float]:
    """Return a block's share of the variables nearest to their kink at `w`, by |u|/‖x‖.

    And of all others the sums of x = C·[u < 0] and the majoriser's Hessian (d + 1, d + 1); and the loss
    of all.
    """
    block = form.blocks.read(k)
    count, m, d = len(_pieces(form, block)), block.y.size, form.blocks.d
    u, distance = np.empty((count, m)), np.empty((count, m))

    def look(rows: slice) -> float:
        part, loss = block.part(rows), 0.0
        X, C, f = part.X, form.weights(part), scores(part.X, w)
        squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(1)
        for number, piece in enumerate(_pieces(form, part)):
            u[number, rows] = piece.residual(f)
            size = np.abs(u[number, rows]) + _ALIKE * np.abs(piece.cost)
            distance[number, rows] = size / np.sqrt(np.maximum(squares, 1e-300))
            loss += float(C @ np.maximum(-u[number, rows], 0.0))
        return loss

    losses = _map(look, block, threads)
    taken = min(u.size, int(np.ceil(share * u.size)))
    key, one, chosen, kind = _distinct(block, k, distance, taken)
    far = np.ones((count, m), bool)
    far.ravel()[chosen] = False

    def add(rows: slice) -> tuple[Far, Any]:
        part, h = block.part(rows), np.zeros(rows.stop - rows.start)
        C, sides = form.weights(part), Sides(1, h.size)
        for number, piece in enumerate(_pieces(form, part)):
            own, left = u[number, rows], far[number, rows]
            sides.add(0, piece, np.where(left & (own < 0), C, 0.0))
            h += np.where(left, curvature(own, C), 0.0)
        return sides.sums(part.X)[0], (hessian(part.X, h) if h.any() else None)

    sums, H = Far.zero(d), np.zeros((d + 1, d + 1))
    for own, part in _map(add, block, threads):
        sums, H = sums + own, H if part is None else H + part
    pieces, (piece_of, row_of) = _pieces(form, block), np.divmod(one, max(1, m))
    C: Any = np.bincount(kind, form.weights(block)[chosen % max(1, m)], one.size)
    sign, cost = (
        np.array([getattr(p, name) for p in pieces])[piece_of, row_of] for name in ("sign", "cost")
    )
    start = np.where(u.ravel()[one] < 0, C, 0.0)
    if known is not None and known.keys.size:
        at = np.minimum(np.searchsorted(known.keys, key), known.keys.size - 1)
        inside = (known.keys[at] == key) & (known.shares[at] > 0) & (known.shares[at] < 1)
        start = np.where(inside, known.shares[at] * C, start)
    reach = np.abs(u.ravel()[one]).max(initial=0.0) + _ALIKE * np.abs(cost).max(initial=0.0)
    rows = Rows(key, block.X[row_of], block.y[row_of], C, sign, cost, start, np.full(1, reach))
    return rows, sums, H, sum(losses)


def _distinct(
    block: Block, k: int, distance: Any, taken: int
) -> tuple[Vector, Indices, Indices, Indices]:
    """Return the variables nearest to their kink: so many distinct ones, and all that are equal to them.

    The first array has the key of each kind, the second one variable of each, the third all of them,
    the fourth their kinds.
    """
    count, near, first, kind = taken, np.arange(0), np.arange(0), np.arange(0)
    keys = np.zeros(0)
    reach = np.inf
    while near.size < distance.size and 2 * first.size <= taken:
        whole = count >= distance.size
        reach = np.inf if whole else float(np.partition(distance, count, axis=None)[count])
        near = np.flatnonzero(distance <= reach * (1.0 + 2 * _ROUNDING))
        keys, first, kind = np.unique(_keys(block, k, near), return_index=True, return_inverse=True)
        count *= _MORE
    away = distance.ravel()[near[first]]
    complete = int(np.count_nonzero(away <= reach * (1.0 + _ROUNDING)))
    kept = np.argsort(away, kind="stable")[: min(taken, complete)]
    place = np.full(first.size, -1)
    place[kept] = np.arange(kept.size)
    inside = place[kind] >= 0
    return keys[kept], near[first[kept]], near[inside], place[kind[inside]]


def _keys(block: Block, k: int, variables: Indices) -> Vector:
    """Return the keys of variables of block k, of which number p·m + i is piece p of sample i."""
    piece_of, row_of = np.divmod(variables, max(1, block.y.size))
    keys = np.empty(variables.size)
    for piece in np.unique(piece_of):
        own = piece_of == piece
        keys[own] = variable_keys(block, row_of[own], int(piece), k)
    return keys


def compared(
    form: Sharded, k: int, threads: int, w: Vector, ends: list[Vector], rules: list[DualRule]
) -> tuple[Any, list[Far]]:
    """Return the losses at `STEPS` from w to each of `ends`, and the far sums of each rule."""
    block = form.blocks.read(k)
    together = np.column_stack([w, *ends])

    def look(rows: slice) -> tuple[Any, list[Far]]:
        part = block.part(rows)
        C, F = form.weights(part), scores(part.X, together).T
        values, sides = np.zeros((len(ends), STEPS.size)), Sides(len(ends), C.size)
        for number, piece in enumerate(_pieces(form, part)):
            u = piece.residual(F[0])
            given, _ = rules[0].given(u, number, k, part)  # they have the same keys
            for c, rule in enumerate(rules):
                du = piece.sign * (F[c + 1] - F[0])
                values[c] += hinges(u, du, C, STEPS)
                x = followed(u, du, C, rule.gamma)
                x[given] = 0.0
                sides.add(c, piece, x)
        return values, sides.sums(part.X)

    values, sums = np.zeros((len(ends), STEPS.size)), [Far.zero(form.blocks.d)] * len(ends)
    for own, each in _map(look, block, threads):
        values, sums = values + own, [a + b for a, b in zip(sums, each, strict=True)]
    return values, sums


def smooth(
    form: Sharded, k: int, threads: int, w: Vector, end: Vector
) -> tuple[Vector, Vector, Far, Any]:
    """Return the losses at `FEW_STEPS` to `end`; there −gradient (d + 1,), β's sums, the Hessian."""
    block, d = form.blocks.read(k), form.blocks.d
    loss: Any = form.loss

    def look(rows: slice) -> tuple[Vector, Vector, Far, Any]:
        part = block.part(rows)
        C, y = form.weights(part), part.y
        f, g = scores(part.X, w), scores(part.X, end)
        values = np.array([C @ loss.value(y, f + t * (g - f)) for t in FEW_STEPS])
        beta = -C * loss.subgradient(y, g)
        v, linear = np.zeros((2, d + 1)), np.zeros(2)
        for side, own in enumerate((np.maximum(beta, 0.0), np.minimum(beta, 0.0))):
            v[side, :-1], v[side, -1] = part.X.T @ own, own.sum()
            linear[side] = -(C @ loss.conjugate(y, -own / C))
        return values, v.sum(axis=0), Far(v, linear), hessian(part.X, C * loss.curvature(y, g))

    values, gradient, H = np.zeros(FEW_STEPS.size), np.zeros(d + 1), np.zeros((d + 1, d + 1))
    sums = Far.zero(d)
    for own in _map(look, block, threads):
        values, gradient, H = values + own[0], gradient + own[1], H + own[3]
        sums = sums + own[2]
    return values, gradient, sums, H


class Sides:
    """β₊ and β₋ (2·count, m) of several dual variables of the same samples, and their linear parts."""

    def __init__(self, count: int, m: int) -> None:
        self.beta, self.linear = np.zeros((2 * count, m)), np.zeros(2 * count)

    def add(self, c: int, piece: Piece | Rows, x: Vector) -> None:
        """Add variables x (m,) of a piece of the loss, or of rows near, to the c-th."""
        beta, paid = piece.sign * x, piece.cost * x
        for side, own in enumerate((piece.sign > 0, piece.sign < 0), 2 * c):
            self.beta[side] += np.where(own, beta, 0.0)
            self.linear[side] -= np.where(own, paid, 0.0).sum()

    def sums(self, X: Any) -> list[Far]:
        """Return the sums over the samples `X` (m, d) of each."""
        v = np.column_stack([self.beta @ X, self.beta.sum(axis=1)])
        return [Far(v[i : i + 2], self.linear[i : i + 2]) for i in range(0, len(v), 2)]


def _pieces(form: Sharded, block: Block) -> list[Piece]:
    """Return those of a loss that has some."""
    pieces = form.loss.dual_pieces(block.y)
    assert pieces is not None
    return pieces


def hessian(X: Any, h: Any) -> Any:
    """Return Σ hᵢ(xᵢ, 1)(xᵢ, 1)ᵀ, whole."""
    d = X.shape[1]
    H = np.empty((d + 1, d + 1))
    if scipy.sparse.issparse(X):
        used = np.flatnonzero(h)
        empty = read_only(np.empty(0))
        rows = as_rows(X), read_only(used), read_only(np.ones(used.size))
        lower = normal_matrix(VariableBlock(*rows, *(empty,) * 5), h[used], d)
        H[:-1, :-1] = lower + np.tril(lower, -1).T
    else:
        Z = X * np.sqrt(h)[:, None]
        H[:-1, :-1] = Z.T @ Z
    H[-1, :-1] = H[:-1, -1] = X.T @ h
    H[-1, -1] = np.sum(h)
    return H


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def hinges(u: Vector, du: Vector, C: Vector, steps: Vector) -> Vector:
    """Return Σ Cᵢ·max(0, −(uᵢ + t·duᵢ)) for each of the increasing `steps`, the first of which is 0."""
    constant, slope = np.zeros(steps.size + 1), np.zeros(steps.size + 1)
    for i in range(u.size):
        begin, end = 0, steps.size
        if u[i] * du[i] < 0:  # the loss begins or ends at −u/du
            at = np.searchsorted(steps, -u[i] / du[i])
            begin, end = (0, at) if u[i] < 0 else (at, end)
        elif u[i] > 0 or (u[i] == 0 and du[i] >= 0):
            continue
        constant[begin] -= C[i] * u[i]
        slope[begin] -= C[i] * du[i]
        constant[end] += C[i] * u[i]
        slope[end] += C[i] * du[i]
    return np.cumsum(constant)[:-1] + steps * np.cumsum(slope)[:-1]
