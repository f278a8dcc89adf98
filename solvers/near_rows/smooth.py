"""Smooth losses: Newton's method with the true Hessian, one round per iteration.

A round evaluates the objective along the last Newton step, and gradient, Hessian and dual variables
β = −C·ℓ'(y, f) at its end; if the full step is not the best one, the end of the best is evaluated first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy

from dualgap.problems.blocks import DualRule
from dualgap.problems.blocks.rule import scores
from dualgap.problems.dataset import Vector
from dualgap.problems.risk.risk import Risk, blocks_of
from dualgap.solvers.near_rows.rounds import FarSums, hessian, map_parts, total
from dualgap.solvers.near_rows.state import RoundState, norm2

NEWTON_STEPS = np.array([0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 1.5, 2.0])


def newton_rounds(state: RoundState, start: Vector) -> Iterator[None]:
    """Run Newton's method from `start` (d + 1,) on, recording in `state`; pause after each round."""
    risk, engine, w, end = state.risk, state.engine, start, start
    while True:
        answers = engine.map(evaluate_smooth, w, end)
        values: Any = sum(a[0] for a in answers)
        values += [0.5 * norm2(w + t * (end - w)) for t in NEWTON_STEPS]
        state.record_bound(DualRule.at(end), None, total([a[2] for a in answers]))
        j = int(values.argmin())
        best, is_full_step = float(NEWTON_STEPS[j]), bool(np.isclose(NEWTON_STEPS[j], 1.0))
        is_start = np.array_equal(w, end)
        state.record_objective(w + best * (end - w), float(values[j]))
        yield
        if not is_full_step and not is_start:
            # if no step is better, try one shorter than all of these
            w = end = w + (best or float(NEWTON_STEPS[1]) ** 2) * (end - w)
            continue
        gradient, H = -sum(a[1] for a in answers), sum(a[3] for a in answers)
        w, end = end, end + _newton_step(risk, end, gradient, H)


def _newton_step(risk: Risk, w: Vector, gradient: Any, H: Any) -> Vector:
    """Return the Newton step (d + 1,), from the losses' gradient (d + 1,) and Hessian at w."""
    d, size = risk.samples.d, risk.samples.d + risk.costs.size
    gradient, H = gradient[:size].copy(), H[:size, :size].copy()
    gradient[:d] += w[:d]
    H[np.diag_indices(d)] += 1.0
    if risk.costs.size:  # which may have no curvature
        H[-1, -1] += 1e-12 * H[-1, -1] or 1.0
    step = np.zeros(d + 1)
    step[:size] = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H), -gradient)
    return step


def evaluate_smooth(
    risk: Risk, k: int, threads: int, w: Vector, end: Vector
) -> tuple[Vector, Vector, FarSums, Any]:
    """Return losses at `NEWTON_STEPS` to `end`, and at `end` −gradient (d + 1,), β's sums, Hessian."""
    block, d = blocks_of(risk).read(k), risk.samples.d
    loss: Any = risk.loss

    def evaluate(rows: slice) -> tuple[Vector, Vector, FarSums, Any]:
        part = block.part(rows)
        C, y = part.C, part.y
        f, g = scores(part.X, w), scores(part.X, end)
        values = np.array([C @ loss.value(y, f + t * (g - f)) for t in NEWTON_STEPS])
        beta = -C * loss.subgradient(y, g)
        v, linear = np.zeros((2, d + 1)), np.zeros(2)
        for side, beta_side in enumerate((np.maximum(beta, 0.0), np.minimum(beta, 0.0))):
            v[side, :-1], v[side, -1] = part.X.T @ beta_side, beta_side.sum()
            linear[side] = -(C @ loss.conjugate(y, -beta_side / C))
        return values, v.sum(axis=0), FarSums(v, linear), hessian(part.X, C * loss.curvature(y, g))

    values, gradient, H = np.zeros(NEWTON_STEPS.size), np.zeros(d + 1), np.zeros((d + 1, d + 1))
    sums = FarSums.zero(d)
    for part in map_parts(evaluate, block, threads):
        values, gradient, H = values + part[0], gradient + part[1], H + part[3]
        sums = sums + part[2]
    return values, gradient, sums, H
