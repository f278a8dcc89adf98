"""Hinge and tube: an iteration finds the variables nearest to their kink, then compares models.

The number of near variables grows where the gap falls slowly, as with a rare class: nearly all samples
of the other one may be on their kink at the optimum, and any fixed number of them says too little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dualgap.problems.blocks import DualRule
from dualgap.problems.dataset import Vector
from dualgap.solvers.near_rows import rounds
from dualgap.solvers.near_rows.models import minimise_model, solve_sample
from dualgap.solvers.near_rows.rounds import STEP_LENGTHS, NearVariables, stack, total
from dualgap.solvers.near_rows.state import RoundState, norm2


def piecewise_rounds(
    state: RoundState, near_count: int, max_near: int, seed: int
) -> Iterator[None]:
    """Run iterations of two rounds each, recording in `state`; pause after each round.

    Parameters
    ----------
    near_count, max_near : near variables in the first iteration, and at most in later ones.
    seed : for drawing the rows of the starting point.
    """
    risk, engine, gamma, last_gap = state.risk, state.engine, 0.1, np.inf
    terms = risk.loss.terms(np.ones(1))
    assert terms is not None
    variables = risk.n * len(terms.sides())
    fraction = min(1.0, near_count / variables)
    X, y, C = stack(engine.map(rounds.draw_samples, fraction, seed))
    state.w = w = solve_sample(risk, X, y, C / fraction)
    rule: DualRule | None = None
    yield
    while True:
        if state.gap > 0.3 * last_gap:  # near variables are too few
            # doubling took 15 rounds instead of 11, on 20,000 samples with a class of 3.5 %
            fraction = min(1.0, max(fraction, min(4 * fraction, max_near / variables)))
        last_gap = state.gap
        answers = engine.map(rounds.find_nearest, w, fraction, rule)
        nearest, far = (
            NearVariables(*stack([a[0] for a in answers])),
            total([a[1] for a in answers]),
        )
        H: Any = sum(a[2] for a in answers)
        state.record_losses(w, sum(a[3] for a in answers))
        if state.primal == 0.0:
            yield  # optimal, as the objective is nonnegative
        if state.primal == np.inf:
            raise np.linalg.LinAlgError
        # with 0.02 times the gap a9a took 25 rounds, not 17
        accuracy = state.primal * float(np.clip(0.002 * state.gap, 1e-10, 1e-4))
        models, has_far = [], bool(H[-1, -1] > 0)
        for factor in (1.0, 0.1) if has_far else (1.0,):  # with a third a9a took 1.4 times the time
            models.append(minimise_model(risk, nearest, far, H, w, gamma * factor, accuracy))
            nearest = nearest._replace(x=models[-1].x)
            state.record_bound(DualRule.at(w), nearest, far)
        yield
        rules = [nearest.rule(w, model.w - w, model.gamma, model.x) for model in models]
        answers = engine.map(rounds.compare_models, w, [model.w for model in models], rules)
        sums = [total([a[1][c] for a in answers]) for c in range(len(models))]
        for c, model in enumerate(models):
            state.record_bound(rules[c], nearest._replace(x=model.x), sums[c])
        ends = [model.w for model in models]
        c, j, value = _best_step(w, ends, sum(a[0] for a in answers))
        t, rule = float(STEP_LENGTHS[j]), rules[c]
        if t == 0.0:
            gamma = min(10.0 * gamma, 10.0)
        else:
            gamma = rule.gamma * (0.5 if t >= 1.0 else 2.0 if t < 0.4 else 1.0)
        w = w + t * (ends[c] - w)
        state.record_objective(w, value)
        yield


def _best_step(w: Vector, ends: list[Vector], losses: Any) -> tuple[int, int, float]:
    """Return the best end, its best step length and the objective there.

    Parameters
    ----------
    losses : (ends, step lengths), at each step from `w` to each end.
    """
    values = losses + [[0.5 * norm2(w + t * (end - w)) for t in STEP_LENGTHS] for end in ends]
    c, j = np.unravel_index(int(values.argmin()), values.shape)
    return int(c), int(j), float(values[c, j])
