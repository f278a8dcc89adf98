"""The order in which active sets are tried: by how much their float64 solutions violate limits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from tests.differential.posed import ZERO, Posed, State, real

_JITTER = 1e-13  # of the Gram matrix, as singular active sets are ranked too
_TINY = 1e-300
_MOST = 1e3  # that a relative violation counts


class _Systems(NamedTuple):
    """All active sets in float64: what `State` says of each sample, shapes (sets, samples)."""

    free: Any
    target: Any
    rho: Any
    low: Any
    high: Any


def ranked(problem: Posed, choices: list[list[State]]) -> Iterator[list[State]]:
    """Yield all active sets, those first whose float64 solutions violate limits the least."""
    sets = np.array(list(product(*(range(len(c)) for c in choices))))
    try:
        with np.errstate(all="ignore"):
            order = np.argsort(_violations(problem, choices, sets), kind="stable")
    except np.linalg.LinAlgError:  # beyond float64's range one order is as good as another
        order = np.arange(len(sets))
    for k in order:
        yield [own[j] for own, j in zip(choices, sets[k], strict=True)]


def _violations(problem: Posed, choices: list[list[State]], sets: Any) -> Any:
    """Return for each active set the sum of relative violations of limits and equalities."""
    K, unit, shift = _scaled(problem)
    systems = _systems(choices, sets, unit, shift)
    groups = [(list(group.members), real(group.cost) * unit) for group in problem.groups]
    beta, offsets = _solutions(K, systems, groups)
    scores, sizes = beta @ K.T, np.abs(beta) @ np.abs(K).T
    for k, (own, _) in enumerate(groups):
        bound = systems.free[:, own].any(axis=1)
        moved = np.where(bound, offsets[:, k], _between(systems, scores, own))
        scores[:, own] += moved[:, None]
        sizes[:, own] += np.abs(moved)[:, None]
    limited = np.where(systems.free, beta, scores)
    sizes = np.where(systems.free, np.abs(beta).max(axis=1, keepdims=True), sizes)
    off = np.maximum(np.maximum(systems.low - limited, limited - systems.high), 0.0)
    total = _relative(off, sizes).sum(axis=1)
    for own, cost in groups:
        part = beta[:, own]
        total += _relative(np.abs(part.sum(axis=1) - cost), np.abs(part).sum(axis=1))
    return total


def _relative(off: Any, sizes: Any) -> Any:
    return np.nan_to_num(np.minimum(off / (sizes + _TINY), _MOST), nan=_MOST)


def _scaled(problem: Posed) -> tuple[Any, float, fmpq]:
    """Return K over its largest entry, that entry, and what is taken off every f.

    Where one offset belongs to all samples and Σβ = 0, the samples may be moved, and so may f: the
    Gram matrix is that of φ(x) − φ(x₀), and a kink of the first sample is at 0.
    """
    K, shift = problem.K, ZERO
    if len(problem.groups) == 1:
        (group,) = problem.groups
        if len(group.members) == problem.n and group.cost == 0:
            first = K[0]
            K = [[v - first[j] - row[0] + first[0] for j, v in enumerate(row)] for row in K]
            shift = problem.curves[0].lower or problem.curves[0].upper or ZERO
    floats = np.array([[real(v) for v in row] for row in K])
    unit = float(np.abs(floats).max()) or 1.0
    return floats / unit, unit, shift


def _systems(choices: list[list[State]], sets: Any, unit: float, shift: fmpq) -> _Systems:
    """Return the active sets for β times `unit` and f less `shift`."""

    def scaled(value: fmpq | None, infinite: float, is_score: bool) -> float:
        if value is None:
            return infinite
        return real(value - shift) if is_score else real(value) * unit

    table = np.zeros((len(choices), max(map(len, choices)), 5))
    for i, own in enumerate(choices):
        for j, s in enumerate(own):
            target, rho = scaled(s.target, 0.0, s.free), real(s.rho) / unit
            low, high = scaled(s.low, -np.inf, not s.free), scaled(s.high, np.inf, not s.free)
            table[i, j] = s.free, target, rho, low, high
    free, *rest = np.moveaxis(table[np.arange(len(choices)), sets], 2, 0)
    return _Systems(free > 0, *rest)


def _solutions(K: Any, systems: _Systems, groups: list[tuple[list[int], float]]) -> tuple[Any, Any]:
    """Return β (sets, samples) and u (sets, groups), which is 0 for groups with no free sample."""
    count, n = systems.free.shape
    A, right = (
        np.zeros((count, n + len(groups), n + len(groups))),
        np.zeros((count, n + len(groups))),
    )
    A[:, :n, :n] = np.where(systems.free[:, :, None], K, np.eye(n))
    A[:, np.arange(n), np.arange(n)] += np.where(systems.free, systems.rho + _JITTER, 0.0)
    right[:, :n] = systems.target
    for k, (own, cost) in enumerate(groups, n):
        bound = systems.free[:, own].any(axis=1)
        A[:, own, k] = systems.free[:, own]
        A[:, k, own] = bound[:, None]
        A[:, k, k] = ~bound
        right[:, k] = np.where(bound, cost, 0.0)
    found = np.linalg.solve(A, right[:, :, None])[:, :, 0]
    return found[:, :n], found[:, n:]


def _between(systems: _Systems, scores: Any, own: list[int]) -> Any:
    """Return the middle of the offsets that put the scores of fixed samples within their limits."""
    lows = np.where(systems.free, -np.inf, systems.low - scores)[:, own].max(axis=1)
    highs = np.where(systems.free, np.inf, systems.high - scores)[:, own].min(axis=1)
    lows, highs = (
        np.where(np.isfinite(end), end, other) for end, other in ((lows, highs), (highs, lows))
    )
    return np.where(np.isfinite(lows), 0.5 * (lows + highs), 0.0)
