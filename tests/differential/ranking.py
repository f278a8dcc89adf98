"""The order in which active sets are tried: by how much their float64 solutions violate limits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq

from tests.differential.posed import ZERO, Posed, State

_JITTER = 1e-13  # of the Gram matrix, as singular active sets are ranked too


def ranked(problem: Posed, choices: list[list[State]]) -> Iterator[list[State]]:
    """Yield all active sets, those first whose float64 solutions violate the fewest limits."""
    sets = list(product(*(range(len(c)) for c in choices)))
    if len(sets) == 1:
        yield [c[0] for c in choices]
        return
    with np.errstate(all="ignore"):
        order = np.argsort(_violations(problem, choices, np.array(sets)), kind="stable")
    for k in order:
        yield [own[j] for own, j in zip(choices, sets[k], strict=True)]


def _violations(problem: Posed, choices: list[list[State]], sets: Any) -> Any:
    """Return by how much the float64 solution of each active set violates its limits, relatively."""
    n, g = problem.n, len(problem.groups)
    shift = problem.curves[0].lower or problem.curves[0].upper or ZERO if g else ZERO
    whole = g == 1 and len(problem.groups[0].members) == n and problem.groups[0].cost == 0
    K = np.array(_centred(problem.K) if whole else [[float(v) for v in row] for row in problem.K])
    shift = shift if whole else ZERO
    unit = float(np.abs(K).max()) or 1.0
    table = _table(choices, shift, unit)[np.arange(n)[None, :], sets]  # sets, samples, columns
    free, target, rho, low, high = np.moveaxis(table, 2, 0)
    free = free > 0
    A = np.zeros((len(sets), n + g, n + g))
    right = np.zeros((len(sets), n + g))
    A[:, :n, :n] = np.where(free[:, :, None], K / unit, np.eye(n))
    diagonal = np.arange(n)
    A[:, diagonal, diagonal] += np.where(free, rho + _JITTER, 0.0)
    right[:, :n] = target
    for k, group in enumerate(problem.groups):
        members = list(group.members)
        some = free[:, members].any(axis=1)
        A[:, members, n + k] = free[:, members]
        A[:, n + k, members] = some[:, None]
        A[:, n + k, n + k] = ~some
        right[:, n + k] = np.where(some, float(group.cost) * unit, 0.0)
    found = np.linalg.solve(A, right[:, :, None])[:, :, 0]
    beta, u = found[:, :n], found[:, n:]
    f, size = beta @ K.T / unit, np.abs(beta) @ np.abs(K).T / unit
    for k, group in enumerate(problem.groups):
        members = list(group.members)
        lows = np.where(free, -np.inf, low - f)[:, members].max(axis=1)
        highs = np.where(free, np.inf, high - f)[:, members].min(axis=1)
        lows, highs = (
            np.where(np.isfinite(lows), lows, highs),
            np.where(np.isfinite(highs), highs, lows),
        )
        middle = np.where(np.isfinite(lows), 0.5 * lows + 0.5 * highs, 0.0)
        own = np.where(free[:, members].any(axis=1), u[:, k], middle)
        f[:, members] += own[:, None]
        size[:, members] += np.abs(own)[:, None]
    value = np.where(free, beta, f)
    size = np.where(free, np.abs(beta).max(axis=1, keepdims=True), size)
    off = np.maximum(np.maximum(low - value, value - high), 0.0) / (size + 1e-300)
    for group in problem.groups:
        total = beta[:, list(group.members)]
        off[:, 0] += np.abs(total.sum(axis=1) - float(group.cost) * unit) / (
            np.abs(total).sum(axis=1) + 1e-300
        )
    return np.nan_to_num(np.minimum(off, 1e3).sum(axis=1), nan=1e9)


def _centred(K: list[list[fmpq]]) -> list[list[float]]:
    """Return the Gram matrix of φ(x) − φ(x₀), rounded: the same problem where Σβ = 0."""
    first = K[0]
    return [
        [float(v - first[j] - row[0] + first[0]) for j, v in enumerate(row)]
        for i, row in enumerate(K)
    ]


def _table(choices: list[list[State]], shift: fmpq, unit: float) -> Any:
    """Return each state in float64, for β times `unit` and f less `shift`."""

    def real(value: fmpq | None, infinite: float, moved: bool) -> float:
        if value is None:
            return infinite
        return float(value - shift) if moved else float(value) * unit

    table = np.zeros((len(choices), max(map(len, choices)), 5))
    for i, own in enumerate(choices):
        for j, s in enumerate(own):
            table[i, j] = (
                s.free,
                real(s.target, 0.0, s.free),
                float(s.rho) / unit,
                real(s.low, -np.inf, not s.free),
                real(s.high, np.inf, not s.free),
            )
    return table
