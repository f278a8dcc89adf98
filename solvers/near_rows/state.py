"""What near rows has found so far, by the sums of its rounds, and where it goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.problems.blocks import DualRule
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Claim, FormPoint, Sharded
from dualgap.problems.projection import project
from dualgap.solvers.near_rows.engines import Engine
from dualgap.solvers.near_rows.rounds import Far, Rows, Sides


class State:
    """The best weights and dual variables so far, by the sums of the rounds.

    Attributes
    ----------
    idle : rounds since either became better.
    place : vectors that the next iteration follows from; empty before the first.
    note : a sentence for the record.
    """

    def __init__(self, form: Sharded, engine: Engine) -> None:
        self.form, self.engine = form, engine
        self.w = np.zeros(form.blocks.d + 1)
        self.primal, self.dual, self.idle = np.inf, 0.0, 0
        self.rule = DualRule.at(self.w).scaled(0.0, 0.0)
        self.place, self.note = list[Vector](), ""

    def numbers(self) -> dict[str, Any]:
        """Return all of it as arrays."""
        engine = self.engine
        counts = engine.rounds, engine.bytes_moved, engine.cpu_seconds
        own = {"best": [self.primal, self.dual, self.idle], "counts": counts}
        place = {f"place_{i}": vector for i, vector in enumerate(self.place)}
        return {"w": self.w, "rule": self.rule.packed(), **own, **place}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Go on from what `numbers` returned."""
        d, engine = self.form.blocks.d, self.engine
        self.w, self.rule = numbers["w"], DualRule.unpacked(numbers["rule"], d)
        self.primal, self.dual, self.idle = numbers["best"]
        rounds, moved, seconds = numbers["counts"]
        engine.rounds, engine.bytes_moved, engine.cpu_seconds = int(rounds), int(moved), seconds
        self.place = [numbers[name] for name in sorted(numbers) if name.startswith("place")]
        self.note = f"went on from round {engine.rounds} of a run that was ended"

    @property
    def gap(self) -> float:
        """The relative gap."""
        if not np.isfinite(self.primal) or self.primal <= 0:
            return 0.0 if self.primal <= 0 else np.inf
        return max(0.0, self.primal - self.dual) / self.primal

    def saw(self, w: Vector, losses: float) -> None:
        """Note the losses at weights."""
        self.reached(w, losses + 0.5 * norm2(w))

    def reached(self, w: Vector, value: float) -> None:
        """Note the objective at weights."""
        self.idle += 1
        if value < self.primal:
            self.w, self.primal, self.idle = w, value, 0

    def bounded(self, rule: DualRule, near: Rows | None, far: Far) -> None:
        """Note a rule's dual variables: those near, balanced if need be, and the sums of all others."""
        if near is not None:
            x = near.x
            if self.form.intercept:
                x = _balanced(x, near, -float(far.v[:, -1].sum()))
            rule = near.rule(rule.w, rule.change, rule.gamma, x)
            sides = Sides(1, x.size)
            sides.add(0, near, x)
            (own,) = sides.sums(near.X)
            far = far + own
        v, linear = far
        above, below, scales = float(v[0, -1]), -float(v[1, -1]), [1.0, 1.0]
        if self.form.intercept and above != below:
            larger = int(below > above)
            scales[larger] = min(above, below) / max(above, below)
        both, gain = scales @ v, float(scales @ linear)
        size = norm2(both)
        s = float(np.clip(gain / size, 0.0, 1.0)) if size > 0 and near is not None else 1.0
        value = s * gain - 0.5 * s * s * size
        if value > self.dual:
            self.dual, self.idle = value, 0
            self.rule = rule.scaled(s * scales[0], s * scales[1])

    def point(self, claim: Claim) -> FormPoint:
        """Return what is best so far."""
        engine = self.engine
        counters = {
            "rounds": engine.rounds,
            "bytes_moved": engine.bytes_moved,
            "worker_cpu_seconds": engine.cpu_seconds,
            "worker_memory": engine.worker_memory,
        }
        b = float(self.w[-1]) if self.form.intercept else 0.0
        return FormPoint(
            self.w[:-1],
            self.rule.packed(),
            b,
            iterations=engine.rounds,
            claim=claim,
            counters=counters,
            note=self.note,
        )


def _balanced(x: Vector, near: Rows, wanted: float) -> Vector:
    """Return `x` moved so that Σ sign·x is `wanted`, those between 0 and C if they can."""
    for moved in (np.flatnonzero((x > 0) & (x < near.C)), np.arange(x.size)):
        if not moved.size:
            continue
        sign, left = near.sign[moved], wanted - float(near.sign @ x - near.sign[moved] @ x[moved])
        try:
            found = project(x[moved], np.zeros(moved.size), near.C[moved], sign, left)
        except ValueError:
            continue
        x = x.copy()
        x[moved] = found
        return x
    return x


def norm2(w: Vector) -> float:
    """Return ‖w‖², of weights whose last is the intercept."""
    return float(w[:-1] @ w[:-1])
