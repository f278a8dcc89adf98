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

from problems.blocks import Block, DualRule
from problems.blocks.rule import curvature, followed, scores
from problems.dataset import Indices, Vector
from problems.forms import Sharded
from problems.gram.threads import Threads
from solvers.dual_coordinate_descent.blocks import VariableBlock, normal_matrix
from solvers.numerics.rows import FAST, as_rows, read_only

T = TypeVar("T")
# Where the objective is evaluated between w (0) and w' (1), and beyond.
STEPS = np.concatenate([[0.0, 1 / 64, 1 / 32], np.linspace(1 / 16, 1, 16), [1.25, 1.5, 2.0]])
FEW_STEPS = np.array([0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 1.5, 2.0])  # of smooth losses


class Rows(NamedTuple):
    """Some samples: their numbers among all variables (m,), X (m, d), y (m,), C (m,), signs, p, x."""

    number: Indices
    X: Any
    y: Vector
    C: Vector
    sign: Vector
    cost: Vector
    x: Vector


class Far(NamedTuple):
    """Sums over the variables β₊ and β₋: v (2, d + 1) with Σβ last, and the linear part of D (2,)."""

    v: Vector
    linear: Vector

    def __add__(self, other: Far) -> Far:  # type: ignore[override]
        return Far(self.v + other.v, self.linear + other.linear)


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
    block, n, first = form.blocks.read(k), form.n, form.blocks.firsts[k]
    pieces: Any = form.loss.dual_pieces(block.y)
    C = form.weights(block)
    m, d = block.y.size, form.blocks.d
    u, distance = np.empty((len(pieces), m)), np.empty((len(pieces), m))

    def look(rows: slice) -> float:
        X, loss = block.X[rows], 0.0
        f = scores(X, w)
        squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(1)
        for number, piece in enumerate(pieces):
            part = piece.sign[rows] * f + piece.cost[rows]
            u[number, rows] = part
            distance[number, rows] = np.abs(part) / np.sqrt(np.maximum(squares, 1e-300))
            loss += float(C[rows] @ np.maximum(-part, 0.0))
        return loss

    losses = _map(look, block, threads)
    count = min(u.size, int(np.ceil(share * u.size)))
    chosen = np.arange(u.size)
    if count < u.size:
        chosen = np.sort(np.argpartition(distance, count, axis=None)[:count])
    piece_of, row_of = np.divmod(chosen, m) if m else (chosen, chosen)
    number = piece_of * n + first + row_of
    far = np.ones((len(pieces), m), bool)
    far.ravel()[chosen] = False

    def add(rows: slice) -> tuple[Far, Any]:
        X, v, linear, h = block.X[rows], np.zeros((2, d + 1)), np.zeros(2), 0.0
        for number, piece in enumerate(pieces):
            x = np.where(far[number, rows] & (u[number, rows] < 0), C[rows], 0.0)
            _add_signed(X, piece.sign[rows], piece.cost[rows], x, v, linear)
            own = curvature(u[number, rows], C[rows])
            h = h + np.where(far[number, rows], own, 0.0)
        return Far(v, linear), (None if count == u.size else hessian(X, h))

    sums, H = Far(np.zeros((2, d + 1)), np.zeros(2)), np.zeros((d + 1, d + 1))
    for own, part in _map(add, block, threads):
        sums, H = sums + own, H if part is None else H + part
    sign = np.concatenate([p.sign for p in pieces])[chosen]
    cost = np.concatenate([p.cost for p in pieces])[chosen]
    start = np.where(u.ravel()[chosen] < 0, C[row_of], 0.0)
    if known is not None and known.rows.size:
        at = np.minimum(np.searchsorted(known.rows, number), known.rows.size - 1)
        inside = (known.rows[at] == number) & (known.x[at] > 0) & (known.x[at] < C[row_of])
        start = np.where(inside, known.x[at], start)
    rows = Rows(number, block.X[row_of], block.y[row_of], C[row_of], sign, cost, start)
    return rows, sums, H, sum(losses)


def compared(
    form: Sharded, k: int, threads: int, w: Vector, ends: list[Vector], rules: list[DualRule]
) -> tuple[Any, list[Far]]:
    """Return the losses at `STEPS` from w to each of `ends`, and the far sums of each rule."""
    block, first = form.blocks.read(k), form.blocks.firsts[k]
    together = np.column_stack([w, *ends])

    def look(rows: slice) -> tuple[Any, list[Far]]:
        part = block.part(rows)
        C, F = form.weights(part), scores(part.X, together)
        pieces: Any = form.loss.dual_pieces(part.y)
        values, sums = np.zeros((len(ends), STEPS.size)), list[Far]()
        for c in range(len(ends)):
            v, linear = np.zeros((2, form.blocks.d + 1)), np.zeros(2)
            df = F[:, c + 1] - F[:, 0]
            for number, piece in enumerate(pieces):
                u, du = piece.sign * F[:, 0] + piece.cost, piece.sign * df
                values[c] += hinges(u, du, C, STEPS)
                if rules:
                    x = followed(u, du, C, rules[c].gamma)
                    begin = number * form.n + first + rows.start
                    here = slice(*np.searchsorted(rules[c].rows, (begin, begin + u.size)))
                    x[rules[c].rows[here] - begin] = 0.0
                    _add_signed(part.X, piece.sign, piece.cost, x, v, linear)
            sums.append(Far(v, linear))
        return values, sums

    return _added(_map(look, block, threads), len(ends), form.blocks.d)


def _added(parts: list[tuple[Any, list[Far]]], count: int, d: int) -> tuple[Any, list[Far]]:
    values = np.zeros((count, STEPS.size))
    sums = [Far(np.zeros((2, d + 1)), np.zeros(2)) for _ in range(count)]
    for own, each in parts:
        values = values + own
        sums = [a + b for a, b in zip(sums, each, strict=True)]
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
    sums = Far(np.zeros((2, d + 1)), np.zeros(2))
    for own in _map(look, block, threads):
        values, gradient, H = values + own[0], gradient + own[1], H + own[3]
        sums = sums + own[2]
    return values, gradient, sums, H


def _add_signed(X: Any, sign: Vector, cost: Vector, x: Vector, v: Vector, linear: Vector) -> None:
    """Add the sums of dual variables x (m,) to those of β₊ and β₋."""
    beta = sign * x
    both = np.column_stack([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    v[:, :-1] += (X.T @ both).T
    v[:, -1] += both.sum(axis=0)
    paid = cost * x
    above = float(paid[sign > 0].sum())
    linear -= (above, float(paid.sum()) - above)


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
