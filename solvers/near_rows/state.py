"""State of near rows between rounds: the best bounds so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dualgap.problems.blocks import DualRule
from dualgap.problems.box import project
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Claim, FormPoint
from dualgap.problems.risk.risk import Risk
from dualgap.solvers.near_rows.engines import Engine
from dualgap.solvers.near_rows.rounds import FarSums, NearVariables, SideSums


@dataclass
class RoundState:
    """The best weights and dual variables so far, judged by the sums of the rounds.

    Attributes
    ----------
    risk, engine : the problem, and what runs the rounds.
    w, rule : best weights with the intercept (d + 1,), and best dual variables.
    primal, dual : their objectives.
    idle : rounds since either improved, the primal one only if there is a dual bound above 0.
    note : a sentence for the record.
    """

    risk: Risk
    engine: Engine
    w: Vector = field(init=False)
    rule: DualRule = field(init=False)
    primal: float = np.inf
    dual: float = 0.0
    idle: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        self.w = np.zeros(self.risk.samples.d + 1)
        self.rule = DualRule.at(self.w).scaled(0.0, 0.0)

    @property
    def gap(self) -> float:
        """The relative gap."""
        if not np.isfinite(self.primal) or self.primal <= 0:
            return 0.0 if self.primal <= 0 else np.inf
        return max(0.0, self.primal - self.dual) / self.primal

    def record_losses(self, w: Vector, losses: float) -> None:
        """Record the losses at the weights."""
        self.record_objective(w, losses + 0.5 * norm2(w))

    def record_objective(self, w: Vector, value: float) -> None:
        """Record the objective at the weights."""
        self.idle += 1
        if value < self.primal:
            self.w, self.primal = w, value
            # without a dual bound above 0 the optimum may be 0, towards which float64 falls forever
            self.idle = 0 if self.dual > 0 else self.idle

    def record_bound(self, rule: DualRule, nearest: NearVariables | None, far: FarSums) -> None:
        """Record a rule's dual point: near variables, balanced if necessary, and sums of the others."""
        if nearest is not None:
            x = nearest.x
            if self.risk.costs.size:
                x = _balanced(x, nearest, -float(far.v[:, -1].sum()))
            rule = nearest.rule(rule.w, rule.change, rule.gamma, x)
            sides = SideSums(1, x.size)
            sides.add(0, nearest, x)
            (near_sums,) = sides.sums(nearest.X)
            far = far + near_sums
        v, linear = far
        above, below, scales = float(v[0, -1]), -float(v[1, -1]), [1.0, 1.0]
        if self.risk.costs.size and above != below:
            larger = int(below > above)
            scales[larger] = min(above, below) / max(above, below)
        v_sum, gain = scales @ v, float(scales @ linear)
        size = norm2(v_sum)
        s = float(np.clip(gain / size, 0.0, 1.0)) if size > 0 and nearest is not None else 1.0
        value = s * gain - 0.5 * s * s * size
        if value > self.dual:
            self.dual, self.idle = value, 0
            self.rule = rule.scaled(s * scales[0], s * scales[1])

    def point(self, claim: Claim) -> FormPoint:
        """Return the best point so far."""
        engine = self.engine
        counters = {
            "rounds": engine.rounds,
            "bytes_moved": engine.bytes_moved,
            "worker_cpu_time": engine.cpu_seconds,
            "worker_peak_rss": engine.worker_memory,
        }
        b = float(self.w[-1]) if self.risk.costs.size else 0.0
        return FormPoint(
            self.w[:-1],
            b=b,
            iterations=engine.rounds,
            claim=claim,
            counters=counters,
            note=self.note,
            rule=self.rule,
        )


def _balanced(x: Vector, nearest: NearVariables, target: float) -> Vector:
    """Return `x` with Σ sign·x = `target`, changing only those between 0 and C if that suffices."""
    for chosen in (np.flatnonzero((x > 0) & (x < nearest.C)), np.arange(x.size)):
        if not chosen.size:
            continue
        sign = nearest.sign[chosen]
        remaining = target - float(nearest.sign @ x - sign @ x[chosen])
        try:
            projected = project(
                x[chosen], np.zeros(chosen.size), nearest.C[chosen], sign, remaining
            )
        except ValueError:
            continue
        x = x.copy()
        x[chosen] = projected
        return x
    return x


def norm2(w: Vector) -> float:
    """Return ‖w‖², of weights whose last is the intercept."""
    return float(w[:-1] @ w[:-1])
