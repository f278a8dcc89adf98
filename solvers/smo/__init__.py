"""Sequential minimal optimisation, in three nested levels.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

All variables: the scores f = Kz are kept for each, and say which may still have to move. Active
variables, up to 8192: the problem is solved on these, with their own rows of K in memory, before the
other scores are brought up to date (Joachims 1999). Working set, 512 of the active: pairs of variables
move along the equality to the exact minimum in the box (Platt 1998), the pair with the largest
second-order gain first (Fan, Chen & Lin 2005), on a block of K that stays in the processor's cache.

Each level spares the one above it: kernel values are what takes the time, and of those all but the
blocks are computed about once. They are in float32; before it claims anything it computes the scores
near the margin in float64, and it goes on in float64 altogether where float32 leads no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from problems.dataset import Vector, check_positive
from problems.forms import BoxQP, Claim, FormPoint
from problems.tiles import Tiles
from solvers.base import Solver, warm_up
from solvers.smo.active import Active
from solvers.smo.state import State
from solvers.threads import Threads

_SHARE = 0.1  # of the active variables' violation, at which they are left
_NOISE = 0.05  # share of tol that rounding may have
_FUTILE = 5  # refreshes after which it goes on in float64
_PATIENCE = 3  # outer rounds without halving the violation, after which more may be active
_LOOK = 8  # rounds between two pauses


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for any box QP, with or without the equality.

    Attributes
    ----------
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning).
    max_iter : steps after which it stops without a claim.
    cache_size : megabytes for kernel rows.
    """

    tol: float = 1e-3
    max_iter: int = 10_000_000
    cache_size: float = 1000.0

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.cache_size, "cache_size")

    def refuses(self, form: BoxQP) -> str | None:
        """Every variable must take part in the equality, or none."""
        if form.a is not None and (form.a == 0).any():
            return "SMO needs every coefficient of the equality to be nonzero"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the steps."""
        warm_up(self, form)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield every few rounds."""
        threads = Threads()
        with Tiles(form.gram, threads.count) as tiles:
            with threads.limited(1):
                state = State(form, tiles, threads, self.cache_size, int(self.max_iter))
                active = Active(state)
            for _ in threads.one_at_a_time(self._improvements(state, active)):
                z = state.z.copy()
                z[active.members] = active.z
                yield _point(state, z, "none")
            claim: Claim = "optimal" if state.solved else "stopped"
            yield _point(state, state.z, "infeasible" if state.unbounded else claim)

    def _improvements(self, state: State, active: Active) -> Iterator[None]:
        """Run the algorithm until the violation is at most `tol`, pausing now and then."""
        best, slow = np.inf, 0
        while True:
            violation = state.violation()
            if violation <= self.tol:
                if state.noise <= _NOISE * self.tol:
                    state.solved = True
                    return
                state.refresh(self.tol)
                continue
            if state.in_single and (state.stuck or state.refreshes > _FUTILE):
                state.work_in_double()
                active.start_with(active.members[:0])
                continue
            if state.at_limit:
                return
            slow = slow + 1 if violation > 0.5 * best else 0
            best = min(best, violation)
            if slow > _PATIENCE:
                slow = 0
                state.grow()
            active.take(state.choose(active.members))
            for count, _ in enumerate(active.reduce(_SHARE, 0.5 * self.tol), 1):
                if count % _LOOK == 0:
                    yield
            yield from state.absorb(active.members, active.z, active.f, active.b)
            yield


def _point(state: State, z: Vector, claim: Claim) -> FormPoint:
    x = state.merged.spread(z)
    counters = {
        "newton_steps": state.newton_steps,
        "refreshes": state.refreshes,
        "active": state.size,
        "bits": 8 * state.dtype.itemsize,
    }
    return FormPoint(x, iterations=state.steps, claim=claim, counters=counters)
