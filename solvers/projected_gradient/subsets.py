"""Many variables, in three nested levels, as SMO takes them.

Scores are kept for all variables, rows of K for the active ones, and what is minimised at a time is a
working set of 512 active variables: here by projected gradient steps on all 512 at once, on a block
of K that stays in the processor's cache (Serafini, Zanghirati & Zanni 2005). What SMO does beside its
pair steps is done here too: rows in float32 that are kept, scores computed in float64 before anything
is claimed, a Newton step on the free variables where rounds converge slowly.

Steps on all active variables at once need some 3000 passes over their rows on ijcnn1, and took 30 s
without an end; the working sets' take 1.4 s.
"""

from __future__ import annotations

import numpy as np

from problems.box_gap import violating_pair
from problems.dataset import Vector
from solvers.projected_gradient.steps import Box, barzilai_borwein
from solvers.smo.active import Active

_ACCURACY = 0.3  # of its violation, at which a working set is left: 0.1 takes 1.7 times as long
_MOST_STEPS = 500  # on a working set


class Subsets(Active):
    """The active variables, with projected gradient steps in place of pair steps."""

    def _round(self, up: Vector, down: Vector, target: float) -> None:
        """Solve on a working set to a violation of `target`, or a share of what it is."""
        state = self.state
        target = max(target, _ACCURACY * state.order(up, down, None)[1])
        chosen = self._choose(up, down)
        z, lo, hi, u = self._on_one_side(chosen)
        members = self.members[chosen]
        K = state.matrix.block(members, members, state.matrix.columns(members))
        a = np.ones(z.size) if state.equality else None
        box = Box(lambda v: K @ v.astype(K.dtype), z, -u, a, None, z.sum(keepdims=True), lo, hi)
        most, taken = min(_MOST_STEPS, state.max_steps - state.steps), 0
        for taken, (z, g) in enumerate(barzilai_borwein(box)):
            if violating_pair(g, a, z - lo, hi - z) <= target or taken >= most:
                break
        state.steps += taken
        state.stuck = taken == 0
        self.last_set = chosen
        self._move(chosen, z)
