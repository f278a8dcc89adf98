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

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.forms import BoxQP
from problems.gram.tiles import Tiles
from solvers.numerics.memory import available
from solvers.smo.duplicates import merge
from solvers.smo.kept import KeptRows, RowMemory
from solvers.smo.matrix import Matrix
from solvers.smo.opposites import Opposites
from solvers.smo.variables import from_form

SINGLE_FROM = 500  # variables from which rows are in float32
_MOST_ACTIVE = 4096
_ROUNDING = 1e-7  # of a kernel value in float32
_SURE = 5.0  # standard deviations that no error exceeds
_SMALL = 0.05  # share of a violation that errors may have
_UNASKED = 2**26  # bytes that are taken without a look at what is available
_ALL_ACTIVE = 10**9  # bytes of K up to which all variables are active from the start
_AT_A_TIME = 2048  # columns of K between two pauses


class State:
    """Variables, point and scores of a box QP.

    Attributes
    ----------
    steps, newton_steps, refreshes : what has been done so far.
    stuck, unbounded : why it cannot go on; solved : that it need not.
    matrix : K between the variables. memory : of its rows. room : kernel values that may be kept.
    earlier_rows : those that an earlier problem on the same variables left; None if there are none.
    left : by what factor the violation is still too large, as far as tol and the gap tell.
    """

    def __init__(self, form: BoxQP, tiles: Tiles, cache_size: float | None, max_steps: int) -> None:
        self.tiles, self.max_steps = tiles, max_steps
        self.cache_size = cache_size
        self.merged = merge(from_form(form))
        self.variables = v = self.merged.variables
        self.equality = form.a is not None
        self.z, self.f = v.start.copy(), np.zeros(v.n)
        self.b: Any = 0.0 if v.groups is None else np.zeros(form.delta.size)
        self.steps = self.newton_steps = self.refreshes = 0
        self.stuck = self.unbounded = self.solved = False
        self.left = np.inf
        bounded = bool(np.isfinite(v.lo).all() and np.isfinite(v.hi).all())
        single = v.n >= SINGLE_FROM and bounded and tiles.precise(np.float32)
        self.constant = 0.0
        self.matrix = Matrix(tiles, v, np.float32 if single else np.float64)
        if self.merged.opposites is not None:
            self._centre(self.merged.opposites)
        self._begin()

    def _centre(self, opposites: Opposites) -> None:
        """Take into the costs what the variables' centres add to the scores."""
        v, centre = self.variables, opposites.centre
        scores = self.matrix.exact_scores(np.arange(v.n), centre)
        self.variables = replace(v, q=v.q + scores)
        self.constant = opposites.constant + 0.5 * float(centre @ scores)

    def _begin(self) -> None:
        """Keep as many rows of the matrix as there is room for; compute all scores afresh."""
        v = self.variables
        self.room = room = self._room()
        # with room for more, more become active only where that turns out to be needed
        at_once = _ALL_ACTIVE // self.matrix.dtype.itemsize
        few = max(2, min(v.n, _MOST_ACTIVE, int(room**0.5)))
        self.size = v.n if v.n**2 <= min(at_once, room) else few
        self.memory = RowMemory(room, self.matrix.dtype)
        self.earlier_rows = self._take_rows()
        self.f = self._scores()
        self._stale, self._fresh = np.zeros(v.n), 0.0
        self.note_change(self.z)

    def _room(self) -> int:
        """Return how many kernel values may be kept."""
        every, each = self.variables.n**2, self.matrix.dtype.itemsize
        if self.cache_size is not None:
            return max(1, min(every, int(self.cache_size * 1e6 / each)))
        if each * every <= _UNASKED:
            return every
        return max(1, min(every, available() // 2 // each))

    def _scores(self) -> Vector:
        """Return Kz, from the rows that an earlier problem left as far as there are any."""
        support, f = np.flatnonzero(self.z), np.zeros(self.variables.n)
        rows = self.earlier_rows
        if rows is not None:
            known = rows.known(support)
            rows.add_to(f, support[known], self.z[support[known]])
            support = support[~known]
        return f + self.matrix.products(np.arange(f.size), support, self.z[support])

    def _take_rows(self) -> KeptRows | None:
        """Take out of the Gram matrix the rows that an earlier problem on the same variables left.

        Rows grow while a problem is solved, so that no other may have them meanwhile.
        """
        rows = None if self._kept is None else self._kept.pop(self._key, None)
        return None if rows is None else rows.of(self.matrix)

    def leave_rows(self, rows: KeptRows) -> None:
        """Leave rows of all variables to the next problem, if the Gram matrix is to keep them."""
        if self._kept is not None and rows.members.size == self.variables.n:
            self._kept[self._key] = rows

    @property
    def _kept(self) -> dict[Any, Any] | None:
        v = self.variables
        return v.form.gram.kept if v.scale is None else None

    @property
    def _key(self) -> tuple[str, bytes]:
        return self.matrix.dtype.name, self.variables.sample.tobytes()

    @cached_property
    def rng(self) -> np.random.Generator:
        """For choices among violators; made when first needed, which takes as long as a small round."""
        return np.random.default_rng(0)

    def work_in_double(self) -> None:
        """Go on in float64, where float32 leads no further."""
        self.matrix = Matrix(self.tiles, self.variables, np.float64)
        self._begin()
        self.stuck = False

    @property
    def at_limit(self) -> bool:
        """Whether no more steps are allowed or possible."""
        return self.stuck or self.unbounded or self.steps >= self.max_steps

    @property
    def errors(self) -> Vector:
        """The standard deviation of rounding errors in each score, as far as they are independent."""
        return np.sqrt(self._stale + self._fresh)

    @property
    def noise(self) -> float:
        """The largest error of a score that may be on the wrong side of the margin for it."""
        errors = self.errors
        return float(errors[self._nearness() >= -_SURE * errors].max(initial=0.0))

    def note_change(self, change: Vector) -> None:
        """Take note of a change of z that came into f through rows in float32."""
        if self.matrix.in_single:
            self._fresh += _ROUNDING**2 * float(change @ change)

    def crowded(self) -> bool:
        """Whether free variables alone would take up more than half of the active ones."""
        v = self.variables
        return self.size < v.n and 2 * free_variables(self.z, v.lo, v.hi, v.tube).size > self.size

    def grow(self) -> None:
        """Let twice as many variables be active: fewer of their rows can be kept."""
        self.size = min(self.variables.n, 2 * self.size)

    def violation(self) -> float:
        """Return the maximal violation over all variables."""
        v = self.variables
        self.up, self.down = slopes(self.f, self.z, v.q, v.tube, v.lo, v.hi)
        return self.order(self.up, self.down, v.groups)[1]

    def relative_gap(self) -> float:
        """Return the duality gap relative to the dual objective; inf where a bound is infinite.

        Σ max over zᵢ' in the box of (uᵢ − b)(zᵢ' − zᵢ) − tubeᵢ(|zᵢ'| − |zᵢ|), taken at a bound or 0.
        """
        v, z = self.variables, self.z
        u, tube = -(self.f + v.q) - self.of_each(self.b, v.groups), v.tube
        with np.errstate(invalid="ignore"):
            ends = [u * end - tube * np.abs(end) for end in (v.lo, v.hi, np.clip(0.0, v.lo, v.hi))]
        here = u * z - tube * np.abs(z)
        gap = float((np.maximum(np.maximum(ends[0], ends[1]), ends[2]) - here).sum())
        dual = abs(float((0.5 * self.f * z + v.q * z + tube * np.abs(z)).sum()) + self.constant)
        return gap / dual if np.isfinite(gap) and dual > 0 else np.inf

    @staticmethod
    def of_each(b: Any, groups: Indices | None) -> Any:
        """Return the multiplier that counts for each of some variables, given their groups."""
        return b if groups is None else b[groups]

    def order(self, up: Vector, down: Vector, groups: Indices | None) -> tuple[Any, float]:
        """Return the multiplier of the equality, or of each group's, and the violation m − M."""
        if groups is not None:
            own = [groups == g for g in range(self.b.size)]
            most = np.array([up[some].max(initial=-np.inf) for some in own])
            least = np.array([down[some].min(initial=np.inf) for some in own])
            middle = 0.5 * np.where(np.isfinite(most + least), most + least, 0.0)
            return middle, max(0.0, float((most - least).max()))
        m, M = float(up.max()), float(down.min())
        if not self.equality:  # at least PGmax − PGmin, whichever way the form counts variables
            return 0.0, 2.0 * max(m, -M, 0.0)
        b = (m + M) / 2
        return (b if np.isfinite(b) else 0.0), max(0.0, m - M)

    def relative(
        self, up: Vector, down: Vector, b: Any, groups: Indices | None
    ) -> tuple[Vector, Vector]:
        """Return slopes that can be compared: relative to the multipliers, where there are several."""
        return (up, down) if groups is None else (up - b[groups], down - b[groups])

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
        up, down = self.relative(self.up, self.down, self.b, self.variables.groups)
        chosen[largest(up, size // 32)] = True
        chosen[largest(-down, size // 32)] = True
        violating = np.flatnonzero(nearness > 0)
        if violating.size > size // 2:
            violating = self.rng.choice(violating, size // 2, replace=False)
        chosen[violating] = True
        nearness[chosen] = -np.inf
        chosen[largest(nearness, size - int(chosen.sum()))] = True
        return np.flatnonzero(chosen)

    def _nearness(self) -> Vector:
        """Return by how much each variable's condition is violated; below 0, how far it is from it.

        A free variable has two, and is as near as can be.
        """
        b = self.of_each(self.b, self.variables.groups)
        rise, fall = self.up - b, b - self.down
        both = np.abs(np.maximum(rise, fall))
        return np.where(np.isinf(rise), fall, np.where(np.isinf(fall), rise, both))

    def absorb(self, members: Indices, z: Vector, f: Vector, b: Any) -> Iterator[None]:
        """Take over the active variables, and bring all other scores up to date."""
        change = z - self.z[members]
        self.z[members], self.f[members], self.b = z, f, b
        if members.size == self.variables.n:
            return
        inactive = np.ones(self.variables.n, np.bool_)
        inactive[members] = False
        others, moved = np.flatnonzero(inactive), np.flatnonzero(change)
        for at in range(0, moved.size, _AT_A_TIME):
            some = moved[at : at + _AT_A_TIME]
            self.f[others] += self.matrix.products(others, members[some], change[some])
            yield

    def doubtful(self, violation: float) -> Indices:
        """Return the variables that rounding may have put on the wrong side of a violation."""
        errors = self.errors
        near = self._nearness() >= -(2 * _SURE * errors + violation)
        return np.flatnonzero(near & (errors > _SMALL * violation))

    def refresh(self, chosen: Indices) -> None:
        """Compute the scores of some variables anew."""
        self.f[chosen] = self.matrix.exact_scores(chosen, self.z)
        self._stale += self._fresh
        self._stale[chosen] = self._fresh = 0.0
        self.refreshes += 1


@numba.njit(cache=True)
def slopes(
    f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector
) -> tuple[Vector, Vector]:
    """Return what each variable gains by rising (−∞ where barred) and loses by falling (+∞)."""
    up, down = np.empty(z.size), np.empty(z.size)
    for t in range(z.size):
        u = -(f[t] + q[t])
        rising = u - (tube[t] if z[t] >= 0.0 else -tube[t])
        falling = u - (tube[t] if z[t] > 0.0 else -tube[t])
        up[t] = rising if z[t] < hi[t] else -np.inf
        down[t] = falling if z[t] > lo[t] else np.inf
    return up, down


def free_variables(z: Vector, lo: Vector, hi: Vector, tube: Vector) -> Indices:
    """Return the variables with room on both sides, on one side of their tube."""
    return np.flatnonzero((z > lo) & (z < hi) & ((tube == 0) | (z != 0)))


def largest(values: Vector, count: int) -> Indices:
    """Return indices of the `count` largest values, without a sort."""
    if count <= 0:
        return np.empty(0, np.int64)
    return np.argpartition(values, values.size - count)[values.size - count :]
