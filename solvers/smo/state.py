"""SMO's state: the point z, the scores f = Kz that determine every gradient, and their rounding errors.

f is kept for all variables. Rows of K in float32 add rounding errors to it with every change of z;
their size is estimated as they occur. Scores near the margin are recomputed in float64 as soon as these
errors dominate the violation, and before optimality is claimed. Later changes are small, and so are
their errors: this is iterative refinement (Wilkinson 1963), which needs only float32 rows up to the
last digits. Errors are tracked per score, as a score may come near the margin later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.memory import available
from dualgap.solvers.smo.cache import RowCache
from dualgap.solvers.smo.conditions import Gap, duality_gap, slopes
from dualgap.solvers.smo.contradictions import joined_variables
from dualgap.solvers.smo.matrix import Matrix

_MOST_ACTIVE = 4096  # variables that are active at first, if not all are
_ERROR_SIGMAS = 5.0  # standard deviations that no error is assumed to exceed
_ALLOCATE_UNCHECKED_BYTES = 2**26  # bytes allocated without checking the available memory
_ALL_ACTIVE = 10**9  # bytes of K up to which all variables are active from the start


class SMOState:
    """Variables, point and scores of a box QP.

    Attributes
    ----------
    steps, newton_steps, refreshes : counts so far.
    stuck, unbounded : no further progress is possible. solved : the target is reached.
    equalities : their number. b : their multipliers, computed from the last active variables.
    matrix : K of the variables. capacity : number of its values that may be cached.
    row_store, key : the Gram matrix's store of rows for later problems, and this problem's key in it.
    earlier_rows : rows left by an earlier problem on the same variables, or None.
    target_gap : the relative gap at which to stop; None to stop by the violation alone.
    violation_factor : the factor by which the violation must still fall, judged by `tol` and the gap.
    is_settled : whether the violation has met its tolerance, but the gap not its target.
    """

    def __init__(
        self,
        form: BoxQP,
        tiles: Tiles,
        cache_size: float | None,
        max_steps: int,
        gap: float | None = None,
    ) -> None:
        self.tiles, self.cache_size, self.max_steps = tiles, cache_size, max_steps
        self.joined = joined_variables(form)
        self.variables = v = self.joined.joined
        self.equalities = 0 if form.a is None else form.delta.size
        self.z, self.b = v.start.copy(), np.zeros(max(1, self.equalities))
        self.steps = self.newton_steps = self.refreshes = 0
        self.stuck = self.unbounded = self.solved = False
        self.violation_factor, self.target_gap, self.is_settled = np.inf, gap, False
        bounded = np.isfinite(v.terms.lo).all() and np.isfinite(v.terms.hi).all()
        single = bounded and tiles.precise(np.float32)
        self.constant = self.joined.constant
        self.matrix = Matrix(tiles, v, np.float32 if single else np.float64)
        self._rounding = max(1e-7, tiles.rounding(np.float32)) if single else 0.0
        if self.joined.low.size:  # the costs include the scores of the centres
            centre = self.joined.centre
            scores = self.matrix.exact_scores(np.arange(v.n), centre)
            self.variables = replace(v, terms=v.terms._replace(q=v.terms.q + scores))
            self.constant += 0.5 * float(centre @ scores)
        self._initialise()

    def _initialise(self) -> None:
        """Choose the number of cached values and of active variables; compute all scores."""
        n, each = self.variables.n, self.matrix.dtype.itemsize
        max_values = n**2
        if self.cache_size is not None:
            max_values = int(self.cache_size * 1e6 / each)
        elif each * max_values > _ALLOCATE_UNCHECKED_BYTES:
            max_values = available() // 2 // each
        self.capacity = capacity = max(1, min(n**2, max_values))
        # more become active only when that turns out to be necessary
        initial_size = max(2, min(n, _MOST_ACTIVE, int(capacity**0.5)))
        self.size = n if n**2 <= min(_ALL_ACTIVE // each, capacity) else initial_size
        support, f = np.flatnonzero(self.z), np.zeros(n)
        store = self.variables.form.gram.solver_cache if self.matrix.scale is None else None
        self.row_store: dict[Any, RowCache] = {} if store is None else store
        self.key = self.matrix.dtype.name, self.matrix.sample.tobytes()
        # rows are added during the solve, so no other problem may use them meanwhile
        rows = self.row_store.pop(self.key, None)
        if rows is not None:
            rows.matrix = self.matrix
            support = support[~rows.add_to(f, support, self.z[support])]
        self.earlier_rows = rows
        if support.size:
            f += self.matrix.products(np.arange(n), support, self.z[support])
        self.f = f
        self._diagonal = np.abs(self.matrix.diagonal(np.arange(n)))
        if self.tiles.kernel.is_psd is not True:  # values of K may exceed its diagonal
            scale = 1.0 if self.matrix.scale is None else self.matrix.scale**2
            self._diagonal = np.maximum(self._diagonal, scale * self.tiles.largest)
        self._stale, self._fresh = np.zeros(n), 0.0
        self._gap: Gap | None = None  # of z and f, if computed
        self.note_change(np.arange(n), self.z)

    def leave_rows(self, rows: RowCache) -> None:
        """Store rows of all variables for the next problem: the earlier ones if `rows` has not all."""
        reusable = rows if rows.members.size == self.variables.n else self.earlier_rows
        if reusable is not None:
            self.row_store[self.key] = reusable

    def switch_to_float64(self) -> None:
        """Continue in float64 once float32 stops making progress."""
        self.matrix = Matrix(self.tiles, self.variables, np.float64)
        self._initialise()
        self.stuck = False

    @cached_property
    def rng(self) -> np.random.Generator:
        """Generator for drawing violators, with a fixed seed."""
        return np.random.default_rng(0)

    @property
    def at_limit(self) -> bool:
        """Whether no further step is allowed or possible."""
        return self.stuck or self.unbounded or self.steps >= self.max_steps

    @property
    def errors(self) -> Vector:
        """Standard deviation of the rounding error of each score, assuming independent errors."""
        return np.sqrt(self._stale + self._fresh * self._diagonal)

    @property
    def noise(self) -> float:
        """The largest error of a score that rounding may have put on the wrong side of the margin."""
        errors = self.errors
        return float(errors[self._nearness() >= -_ERROR_SIGMAS * errors].max(initial=0.0))

    def note_change(self, members: Indices, change: Vector) -> None:
        """Record the rounding error of a change of z that was added to f through float32 rows.

        It is relative to the values of K; |Kₜⱼ|² ≤ Kₜₜ Kⱼⱼ for semidefinite K.
        """
        if self.matrix.in_single:
            self._fresh += self._rounding**2 * float(change**2 @ self._diagonal[members])

    def violation(self) -> float:
        """Return the maximal violation over all variables."""
        terms = self.variables.terms
        self.up, self.down, _, violation = slopes(self.f, self.z, terms, self.equalities)
        return violation

    def relative_gap(self, rounding: float = 0.0) -> float:
        """Return (gap + rounding) / |dual objective|; inf if a bound is infinite."""
        if self._gap is None:
            self._gap = duality_gap(self.variables, self.z, self.f, self.constant)
        return self._gap.relative(rounding)

    def choose(self, members: Indices) -> Indices:
        """Return the next active variables: `members`, if no other variable violates its condition.

        A few violators replace the members farthest from violating. If there are many, all members are
        chosen again: the worst on either side, random violators, then those closest to violating.
        """
        n, size = self.variables.n, self.size
        if size >= n:
            return members if members.size == n else np.arange(n)
        nearness = self._nearness()
        outside = np.ones(n, np.bool_)
        outside[members] = False
        violating = np.flatnonzero(outside & (nearness > 0))
        if members.size == size and violating.size <= size // 4:
            if not violating.size:
                return members
            stay = np.argpartition(nearness[members], violating.size)[violating.size :]
            return np.concatenate([members[stay], violating])
        chosen = np.zeros(n, np.bool_)
        b = self.b[self.variables.terms.groups]
        for slope in (self.up - b, b - self.down):
            chosen[np.argpartition(slope, n - size // 32 - 1)[n - size // 32 :]] = True
        violating = np.flatnonzero(nearness > 0)
        if violating.size > size // 2:
            violating = self.rng.choice(violating, size // 2, replace=False)
        chosen[violating] = True
        nearness[chosen] = -np.inf
        excluded = n - size + int(chosen.sum())
        chosen[np.argpartition(nearness, excluded)[excluded:]] = True
        return np.flatnonzero(chosen)

    def _nearness(self) -> Vector:
        """Return the violation of each variable's condition; negative if it is satisfied.

        A free variable has two conditions; the larger deviation counts.
        """
        b = self.b[self.variables.terms.groups]
        rise, fall = self.up - b, b - self.down
        both = np.abs(np.maximum(rise, fall))
        return np.where(np.isinf(rise), fall, np.where(np.isinf(fall), rise, both))

    def absorb(self, members: Indices, z: Vector, f: Vector, b: Vector) -> Iterator[None]:
        """Copy back the active variables, and update all other scores."""
        change = z - self.z[members]
        self.z[members], self.f[members], self.b, self._gap = z, f, b, None
        if members.size == self.variables.n:
            return
        inactive = np.ones(self.variables.n, np.bool_)
        inactive[members] = False
        updated, moved = np.flatnonzero(inactive), np.flatnonzero(change)
        for at in range(0, moved.size, 2048):  # columns of K between two pauses
            batch = moved[at : at + 2048]
            self.f[updated] += self.matrix.products(updated, members[batch], change[batch])
            yield

    def doubtful(self, violation: float) -> Indices:
        """Return the variables for which rounding may hide whether they violate by `violation`."""
        errors = self.errors
        candidates = self._nearness() >= -(2 * _ERROR_SIGMAS * errors + violation)
        return np.flatnonzero(candidates & (errors > 0.05 * violation))

    def doubtful_for_gap(self, gap: float) -> Indices:
        """Return the variables whose rounding errors may hide that the relative gap exceeds `gap`.

        In the gap, the error of a score is multiplied by the width of the variable's box.
        """
        errors, terms = self.errors, self.variables.terms
        candidates = self._nearness() >= -_ERROR_SIGMAS * errors
        rounding = float(errors[candidates] @ (terms.hi - terms.lo)[candidates])
        certain = self.relative_gap(rounding) <= 1.1 * gap
        return np.flatnonzero(candidates & (errors > 0) & (not certain))

    def refresh(self, chosen: Indices) -> Iterator[None]:
        """Recompute the scores of the chosen variables in float64, pausing now and then."""
        step = max(1, 2**27 // max(1, np.count_nonzero(self.z)))  # 2²⁷ values of K between pauses
        for at in range(0, chosen.size, step):
            if at:
                yield
            batch = chosen[at : at + step]
            self.f[batch] = self.matrix.exact_scores(batch, self.z)
        self._stale += self._fresh * self._diagonal
        self._stale[chosen] = self._fresh = 0.0
        self._gap = None
        self.refreshes += 1
