"""The computations on each block in a round: pure functions of the block and the driver's arguments.

The results are added in the order of the blocks, so that sums do not depend on where or when each was
computed. Within a block, parts of a fixed number of rows are processed, each with one thread of linear
algebra, and added in their order too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import scipy

from dualgap.problems.blocks import Block, DualRule
from dualgap.problems.blocks.rule import curvature, scores, variable_keys
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.problems.losses.base import Side
from dualgap.problems.risk.risk import Risk, blocks_of
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock, normal_matrix
from dualgap.solvers.numerics.rows import as_rows, read_only

Result = TypeVar("Result")
# where the objective is evaluated from w (0) to w' (1), and beyond
STEP_LENGTHS = np.concatenate([[0.0, 1 / 64, 1 / 32], np.linspace(1 / 16, 1, 16), [1.25, 1.5, 2.0]])


class NearVariables(NamedTuple):
    """Variables near the kink, equal ones merged: keys (m,), X (m, d), y, ΣC, signs, p, x.

    `reach` is an upper bound on their |u| that allows for rounding.
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
        """Return the rule of dual variables with the values `x` (m,) for these."""
        rule = DualRule(w, change, gamma, float(self.reach.max()), self.key, x / self.C)
        return rule.sorted()


class FarSums(NamedTuple):
    """Sums over far variables β₊ and β₋: v (2, d + 1), with Σβ last, and the linear term of D (2,)."""

    v: Vector
    linear: Vector

    def __add__(self, other: FarSums) -> FarSums:  # type: ignore[override]
        return FarSums(self.v + other.v, self.linear + other.linear)

    @classmethod
    def zero(cls, d: int) -> FarSums:
        """Return empty sums, for d features."""
        return cls(np.zeros((2, d + 1)), np.zeros(2))


def total(parts: list[FarSums]) -> FarSums:
    """Return the sums of all parts."""
    return FarSums(sum(p.v for p in parts), sum(p.linear for p in parts))  # type: ignore[arg-type]


def map_parts(f: Callable[[slice], Result], block: Block, threads: int) -> list[Result]:
    """Return f of each part of a block, on the given number of threads."""
    with Threads().limited(1):
        if threads == 1:
            return [f(rows) for rows in block.slices()]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(f, block.slices()))


def stack(parts: list[Any]) -> list[Any]:
    """Concatenate the blocks' answers, column by column."""
    return [
        scipy.sparse.vstack(column, format="csr")
        if scipy.sparse.issparse(column[0])
        else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]


def draw_samples(
    risk: Risk, k: int, _threads: int, fraction: float, seed: int
) -> tuple[Any, Vector, Vector]:
    """Return X, y and C of a random fraction of the block's samples."""
    block = blocks_of(risk).read(k)
    count = min(block.y.size, int(np.ceil(fraction * block.y.size)))
    rows = np.sort(np.random.default_rng([seed, k]).choice(block.y.size, count, replace=False))
    return block.X[rows], block.y[rows], block.C[rows]


def find_nearest(
    risk: Risk, k: int, threads: int, w: Vector, fraction: float, rule: DualRule | None
) -> tuple[NearVariables, FarSums, Any, float]:
    """Return the `fraction` of the block's variables nearest to their kink at `w`, by |u|/‖x‖.

    Also the sums of x = C·[u < 0] and the majoriser's Hessian (d + 1, d + 1) over all others, and the
    loss of all.
    """
    block = blocks_of(risk).read(k)
    count, m, d = len(_sides(risk, block)), block.y.size, risk.samples.d
    u, distance = np.empty((count, m)), np.empty((count, m))
    kink_rtol = 1e-6  # rows with a smaller |u|, relative to the cost p, count as being on the kink

    def evaluate(rows: slice) -> float:
        part, loss = block.part(rows), 0.0
        X, C, f = part.X, part.C, scores(part.X, w)
        squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(1)
        for number, side in enumerate(_sides(risk, part)):
            u[number, rows] = side.residual(f)
            size = np.abs(u[number, rows]) + kink_rtol * np.abs(side.cost)
            distance[number, rows] = size / np.sqrt(np.maximum(squares, 1e-300))
            loss += float(C @ np.maximum(-u[number, rows], 0.0))
        return loss

    losses = map_parts(evaluate, block, threads)
    count_needed = min(u.size, int(np.ceil(fraction * u.size)))
    key, first, chosen, kind = _distinct(block, k, distance, count_needed)
    far = np.ones((count, m), bool)
    far.ravel()[chosen] = False
    sides, (side_of, row_of) = _sides(risk, block), np.divmod(first, max(1, m))
    sign, cost = (
        np.array([getattr(p, name) for p in sides])[side_of, row_of] for name in ("sign", "cost")
    )
    reach = np.abs(u.ravel()[first]).max(initial=0.0) + kink_rtol * np.abs(cost).max(initial=0.0)

    def add(rows: slice) -> tuple[FarSums, Any]:
        part, h = block.part(rows), np.zeros(rows.stop - rows.start)
        C, sums = part.C, SideSums(1, h.size)
        for number, side in enumerate(_sides(risk, part)):
            residuals, is_far = u[number, rows], far[number, rows]
            sums.add(0, side, np.where(is_far & (residuals < 0), C, 0.0))
            h += np.where(is_far, curvature(residuals, C, reach), 0.0)
        return sums.sums(part.X)[0], (hessian(part.X, h) if h.any() else None)

    sums, H = FarSums.zero(d), np.zeros((d + 1, d + 1))
    for part_sums, part_H in map_parts(add, block, threads):
        sums, H = sums + part_sums, H if part_H is None else H + part_H
    C: Any = np.bincount(kind, block.C[chosen % max(1, m)], first.size)
    start = np.where(u.ravel()[first] < 0, C, 0.0)
    if rule is not None and rule.keys.size:
        index = np.minimum(np.searchsorted(rule.keys, key), rule.keys.size - 1)
        inside = (rule.keys[index] == key) & (rule.shares[index] > 0) & (rule.shares[index] < 1)
        start = np.where(inside, rule.shares[index] * C, start)
    X, y = block.X[row_of], block.y[row_of]
    nearest = NearVariables(key, X, y, C, sign, cost, start, np.full(1, reach))
    return nearest, sums, H, sum(losses)


def _distinct(
    block: Block, k: int, distance: Any, count_needed: int
) -> tuple[Vector, Indices, Indices, Indices]:
    """Return the given number of distinct variables nearest to their kink, and all equal to them.

    Returns the key of each distinct variable, its index, the indices of all variables equal to one of
    them, and the position of that one.
    """
    count, candidates, first, kind = count_needed, np.arange(0), np.arange(0), np.arange(0)
    keys = np.zeros(0)
    reach, rtol = np.inf, 1e-9  # rounding in the distances of equal rows
    while candidates.size < distance.size and 2 * first.size <= count_needed:
        all_included = count >= distance.size
        reach = np.inf if all_included else float(np.partition(distance, count, axis=None)[count])
        candidates = np.flatnonzero(distance <= reach * (1.0 + 2 * rtol))
        keys = _keys(block, k, candidates)
        keys, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        count *= 16  # as long as half of the candidates equal others
    distances = distance.ravel()[candidates[first]]
    complete = int(np.count_nonzero(distances <= reach * (1.0 + rtol)))
    order = np.argsort(distances, kind="stable")[: min(count_needed, complete)]
    rank = np.full(first.size, -1)
    rank[order] = np.arange(order.size)
    is_kept = rank[kind] >= 0
    return keys[order], candidates[first[order]], candidates[is_kept], rank[kind[is_kept]]


def _keys(block: Block, k: int, variables: Indices) -> Vector:
    """Return the keys of variables of block k; index s·m + i means side s of sample i."""
    side_of, row_of = np.divmod(variables, max(1, block.y.size))
    keys = np.empty(variables.size)
    for side in np.unique(side_of):
        is_on_side = side_of == side
        keys[is_on_side] = variable_keys(block, row_of[is_on_side], int(side), k)
    return keys


def compare_models(
    risk: Risk, k: int, threads: int, w: Vector, ends: list[Vector], rules: list[DualRule]
) -> tuple[Any, list[FarSums]]:
    """Return the losses at `STEP_LENGTHS` from w to each of `ends`, and the far sums of each rule."""
    block = blocks_of(risk).read(k)
    columns = np.column_stack([w, *ends])

    def evaluate(rows: slice) -> tuple[Any, list[FarSums]]:
        part = block.part(rows)
        C, F = part.C, scores(part.X, columns).T
        values, sums = np.zeros((len(ends), STEP_LENGTHS.size)), SideSums(len(ends), C.size)
        for number, side in enumerate(_sides(risk, part)):
            u = side.residual(F[0])
            rows_of_rule, _ = rules[0].rows_with_share(
                u, number, k, part
            )  # all rules have the same keys
            for c, rule in enumerate(rules):
                du = side.sign * (F[c + 1] - F[0])
                values[c] += hinge_sums(u, du, C, STEP_LENGTHS)
                x = rule.update_duals(u, du, C)
                x[rows_of_rule] = 0.0
                sums.add(c, side, x)
        return values, sums.sums(part.X)

    values = np.zeros((len(ends), STEP_LENGTHS.size))
    sums = [FarSums.zero(risk.samples.d)] * len(ends)
    for part_values, part_sums in map_parts(evaluate, block, threads):
        values, sums = values + part_values, [a + b for a, b in zip(sums, part_sums, strict=True)]
    return values, sums


class SideSums:
    """β₊ and β₋ (2·count, m) of several dual points of the same samples, and their linear terms."""

    def __init__(self, count: int, m: int) -> None:
        self.beta, self.linear = np.zeros((2 * count, m)), np.zeros(2 * count)

    def add(self, c: int, side: Side | NearVariables, x: Vector) -> None:
        """Add the variables x (m,) of a side of the loss, or near ones, to the c-th point."""
        beta, costs = side.sign * x, side.cost * x
        for row, on_side in enumerate((side.sign > 0, side.sign < 0), 2 * c):
            self.beta[row] += np.where(on_side, beta, 0.0)
            self.linear[row] -= np.where(on_side, costs, 0.0).sum()

    def sums(self, X: Any) -> list[FarSums]:
        """Return the sums of each point over the samples `X` (m, d)."""
        v = np.column_stack([self.beta @ X, self.beta.sum(axis=1)])
        return [FarSums(v[i : i + 2], self.linear[i : i + 2]) for i in range(0, len(v), 2)]


def _sides(risk: Risk, block: Block) -> list[Side]:
    """Return the sides of a piecewise linear loss."""
    terms = risk.loss.terms(block.y)
    assert terms is not None
    return terms.unit_sides()


def hessian(X: Any, h: Any) -> Any:
    """Return Σ hᵢ(xᵢ, 1)(xᵢ, 1)ᵀ, both triangles."""
    d = X.shape[1]
    H = np.empty((d + 1, d + 1))
    if scipy.sparse.issparse(X):
        nonzero = np.flatnonzero(h)
        empty = read_only(np.empty(0))
        rows = as_rows(X), read_only(nonzero), read_only(np.ones(nonzero.size))
        lower = normal_matrix(VariableBlock(*rows, *(empty,) * 5), h[nonzero], d)
        H[:-1, :-1] = lower + np.tril(lower, -1).T
    else:
        Z = X * np.sqrt(h)[:, None]
        H[:-1, :-1] = Z.T @ Z
    H[-1, :-1] = H[:-1, -1] = X.T @ h
    H[-1, -1] = np.sum(h)
    return H


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def hinge_sums(u: Vector, du: Vector, C: Vector, steps: Vector) -> Vector:
    """Return Σ Cᵢ·max(0, −(uᵢ + t·duᵢ)) for each of the increasing `steps`, the first being 0."""
    constant, slope = np.zeros(steps.size + 1), np.zeros(steps.size + 1)
    for i in range(u.size):
        first, end = 0, steps.size
        if u[i] * du[i] < 0:  # the loss starts or ends at −u/du
            position = np.searchsorted(steps, -u[i] / du[i])
            first, end = (0, position) if u[i] < 0 else (position, end)
        elif u[i] > 0 or (u[i] == 0 and du[i] >= 0):
            continue
        constant[first] -= C[i] * u[i]
        slope[first] -= C[i] * du[i]
        constant[end] += C[i] * u[i]
        slope[end] += C[i] * du[i]
    return np.cumsum(constant)[:-1] + steps * np.cumsum(slope)[:-1]
