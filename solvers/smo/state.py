"""Where SMO stands: the point z, the scores f = Kz from which every gradient follows, what is exact.

f is kept for all variables. Rows of K in float32 bring rounding errors into it with every change of z;
their size is estimated as they come. Scores near the margin are computed afresh, in float64, as soon as
these errors are what is left to be seen, and before anything is claimed. What is changed after that is
small, and so are its errors: this is iterative refinement (Wilkinson 1963), which makes do with rows in
float32 up to the last digits. Every score has an error of its own: it may come near the margin later.
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
from dualgap.solvers.smo.conditions import multipliers, relative_gap, slopes
from dualgap.solvers.smo.duplicates import merge
from dualgap.solvers.smo.matrix import Matrix
from dualgap.solvers.smo.variables import from_form

_MOST_ACTIVE = 4096  # variables, where not all are active from the start
_ROUNDING = 1e-7  # of a kernel value in float32
_DEVIATIONS = 5.0  # standard deviations that no error exceeds
_UNPAUSED = 2**27  # values of K in float64 between two pauses
_UNASKED = 2**26  # bytes that are taken without a look at what is available
_ALL_ACTIVE = 10**9  # bytes of K up to which all variables are active from the start


class State:
    """Variables, point and scores of a box QP.

    Attributes
    ----------
    steps, newton_steps, refreshes : what has been done so far.
    stuck, unbounded : why it cannot go on; solved : that it need not.
    equalities : their number. b : their multipliers, as the last active variables have them.
    matrix : K between the variables. room : values of it that may be kept.
    kept, key : where the Gram matrix keeps rows from one problem to the next, and what for.
    earlier_rows : those that an earlier problem on the same variables left; None if there are none.
    wanted : the relative gap at which it ends; None where that goes by the violation alone.
    left : by what factor the violation is still too large, as far as tol and the gap tell.
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
        self.merged = merge(from_form(form))
        self.variables = v = self.merged.variables
        self.equalities = 0 if form.a is None else form.delta.size
        self.z, self.b = v.start.copy(), np.zeros(max(1, self.equalities))
        self.steps = self.newton_steps = self.refreshes = 0
        self.stuck = self.unbounded = self.solved = False
        self.left, self.wanted = np.inf, gap
        bounded = np.isfinite(v.terms.lo).all() and np.isfinite(v.terms.hi).all()
        single = bounded and tiles.precise(np.float32)
        self.constant = 0.0
        self.matrix = Matrix(tiles, v, np.float32 if single else np.float64)
        self._rounding = max(_ROUNDING, tiles.rounding(np.float32)) if single else 0.0
        pairs = self.merged.contradictions
        if pairs is not None:  # take into the costs what the variables' centres add to the scores
            scores = self.matrix.exact_scores(np.arange(v.n), pairs.centre)
            self.variables = replace(v, terms=v.terms._replace(q=v.terms.q + scores))
            self.constant = pairs.constant + 0.5 * float(pairs.centre @ scores)
        self._begin()

    def _begin(self) -> None:
        """Keep as many rows of the matrix as there is room for; compute all scores afresh."""
        n, each = self.variables.n, self.matrix.dtype.itemsize
        most = n**2
        if self.cache_size is not None:
            most = int(self.cache_size * 1e6 / each)
        elif each * most > _UNASKED:
            most = available() // 2 // each
        self.room = room = max(1, min(n**2, most))
        # with room for more, more become active only where that turns out to be needed
        few = max(2, min(n, _MOST_ACTIVE, int(room**0.5)))
        self.size = n if n**2 <= min(_ALL_ACTIVE // each, room) else few
        support, f = np.flatnonzero(self.z), np.zeros(n)
        kept = self.variables.form.gram.kept if self.matrix.scale is None else None
        self.kept: dict[Any, RowCache] = {} if kept is None else kept
        self.key = self.matrix.dtype.name, self.matrix.sample.tobytes()
        # rows grow while a problem is solved, so that no other may have them meanwhile
        rows = self.kept.pop(self.key, None)
        if rows is not None:
            rows.matrix = self.matrix
            support = support[~rows.add_to(f, support, self.z[support])]
        self.earlier_rows = rows
        if support.size:
            f += self.matrix.products(np.arange(n), support, self.z[support])
        self.f = f
        self._diagonal = np.abs(self.matrix.diagonal(np.arange(n)))
        if self.tiles.kernel.is_psd is not True:  # values of K may be larger than its diagonal says
            scale = 1.0 if self.matrix.scale is None else self.matrix.scale**2
            self._diagonal = np.maximum(self._diagonal, scale * self.tiles.largest)
        self._stale, self._fresh = np.zeros(n), 0.0
        self.note_change(np.arange(n), self.z)

    def leave_rows(self, rows: RowCache) -> None:
        """Leave rows of all variables to the next problem: those that came, if none were needed."""
        left = rows if rows.members.size == self.variables.n else self.earlier_rows
        if left is not None:
            self.kept[self.key] = left

    def work_in_double(self) -> None:
        """Go on in float64, where float32 leads no further."""
        self.matrix = Matrix(self.tiles, self.variables, np.float64)
        self._begin()
        self.stuck = False

    @cached_property
    def rng(self) -> np.random.Generator:
        """What draws among many violators: always the same."""
        return np.random.default_rng(0)

    @property
    def at_limit(self) -> bool:
        """Whether no more steps are allowed or possible."""
        return self.stuck or self.unbounded or self.steps >= self.max_steps

    @property
    def errors(self) -> Vector:
        """The standard deviation of rounding errors in each score, as far as they are independent."""
        return np.sqrt(self._stale + self._fresh * self._diagonal)

    @property
    def noise(self) -> float:
        """The largest error of a score that may be on the wrong side of the margin for it."""
        errors = self.errors
        return float(errors[self._nearness() >= -_DEVIATIONS * errors].max(initial=0.0))

    def note_change(self, members: Indices, change: Vector) -> None:
        """Take note of a change of z that came into f through rows in float32.

        Its rounding is relative to values of K, of which |Kₜⱼ|² ≤ Kₜₜ Kⱼⱼ where K is semidefinite.
        """
        if self.matrix.in_single:
            self._fresh += self._rounding**2 * float(change**2 @ self._diagonal[members])

    def violation(self) -> float:
        """Return the maximal violation over all variables."""
        terms = self.variables.terms
        self.up, self.down = slopes(self.f, self.z, terms)
        return multipliers(self.up, self.down, terms.groups, self.equalities)[1]

    def relative_gap(self, rounding: float = 0.0) -> float:
        """Return the gap and its rounding relative to the dual objective; inf without bounds."""
        return relative_gap(self.variables, self.z, self.f, self.constant, rounding)

    def choose(self, members: Indices) -> Indices:
        """Return the variables to be active: `members`, if no other one violates its condition.

        A few others take the places of the members farthest from violating. If they are many, all
        are chosen anew: the worst of either kind, violators at random, then those nearest to it.
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
        others = n - size + int(chosen.sum())
        chosen[np.argpartition(nearness, others)[others:]] = True
        return np.flatnonzero(chosen)

    def _nearness(self) -> Vector:
        """Return by how much each variable's condition is violated; below 0, how far it is from it.

        A free variable has two, and is as near as can be.
        """
        b = self.b[self.variables.terms.groups]
        rise, fall = self.up - b, b - self.down
        both = np.abs(np.maximum(rise, fall))
        return np.where(np.isinf(rise), fall, np.where(np.isinf(fall), rise, both))

    def absorb(self, members: Indices, z: Vector, f: Vector, b: Vector) -> Iterator[None]:
        """Take over the active variables, and bring all other scores up to date."""
        change = z - self.z[members]
        self.z[members], self.f[members], self.b = z, f, b
        if members.size == self.variables.n:
            return
        inactive = np.ones(self.variables.n, np.bool_)
        inactive[members] = False
        others, moved = np.flatnonzero(inactive), np.flatnonzero(change)
        for at in range(0, moved.size, 2048):  # columns of K between two pauses
            some = moved[at : at + 2048]
            self.f[others] += self.matrix.products(others, members[some], change[some])
            yield

    def doubtful(self, violation: float) -> Indices:
        """Return the variables that rounding may have put on the wrong side of a violation."""
        errors = self.errors
        near = self._nearness() >= -(2 * _DEVIATIONS * errors + violation)
        return np.flatnonzero(near & (errors > 0.05 * violation))

    def doubtful_for_gap(self, gap: float) -> Indices:
        """Return the variables whose rounding may hide that the relative gap is above `gap`.

        In the gap, an error of a score counts as often as the variable's bounds are apart.
        """
        errors, terms = self.errors, self.variables.terms
        near = self._nearness() >= -_DEVIATIONS * errors
        rounding = float(errors[near] @ (terms.hi - terms.lo)[near])
        enough = self.relative_gap(rounding) <= 1.1 * gap
        return np.flatnonzero(near & (errors > 0) & (not enough))

    def refresh(self, chosen: Indices) -> Iterator[None]:
        """Compute the scores of some variables anew, pausing now and then."""
        step = max(1, _UNPAUSED // max(1, np.count_nonzero(self.z)))
        for at in range(0, chosen.size, step):
            if at:
                yield
            some = chosen[at : at + step]
            self.f[some] = self.matrix.exact_scores(some, self.z)
        self._stale += self._fresh * self._diagonal
        self._stale[chosen] = self._fresh = 0.0
        self.refreshes += 1
