"""Exact solutions of linear constraints, enclosed near a float64 point.

    E u = e,   I u ≤ i,   low ≤ u ≤ up

A float64 point meets equations but for rounding, and a bound needs a point that meets them exactly.
With M the independent rows of E, D = diag(0 or 1) the variables that may move, and ρ = e − E v,
    u* = v + δ + D Mᵀ (M D Mᵀ)⁻¹ (ρ − M δ)   has   E u* = e   for any δ of those that move, and
    |u* − v|ⱼ ≤ |δⱼ| + Dⱼ ‖M eⱼ‖ ‖ρ − M δ‖ / λ_min(M D Mᵀ),
so that one bound of a smallest eigenvalue proves that it exists and says where it is. ρ is rounded once,
and δ is about the shortest with M δ = ρ: what is divided by λ_min is rounding of rounding. Rows of E
that depend on others must do so exactly, in rational numbers. Inequalities hold in all of the enclosure.

Krawczyk 1969; Jansson 2004, "Rigorous lower and upper bounds in linear programming".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.binary_scaling import exponent_to_one
from dualgap.problems.arithmetic.rounding import gamma, products, terms
from dualgap.problems.certificates.quadratic.eigenvalues import (
    factored,
    smallest_eigenvalue,
    sparse_lu,
)
from dualgap.problems.certificates.quadratic.exact_rows import exact_row, exact_signs, residuals
from dualgap.problems.dataset import Indices, Vector

_EPS = 2.0**-52
_REGULAR = 1e-13  # of the diagonal, that is added before dependent rows are known
_DEPENDENT = (1e-9, 1e-13)  # pivots of dependent rows, of rows of length 1
_DENOMINATOR = 10_000  # the largest of the factors between dependent rows
_ROUNDS = 30  # of moving and holding what would be violated
_HELD = 1e-7  # slack below which an inequality is held, relative to its terms
_SHARES = (0.0, 1e-15, 1e-14, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 0.1)  # of the inner point
_SCALE = 1e-7  # cost of α: room below it counts as none
_SECONDS = 30.0  # of a linear program


@dataclass(frozen=True, eq=False)
class Constraints:
    """E u = e, I u ≤ i, low ≤ u ≤ up; matrices are CSR, with 0 rows for none.

    Attributes
    ----------
    equations : how many rows of E are equations; where others depend on them, u need only meet ≤.
    first : how many variables are moved first, alone.
    """

    E: Any
    e: Vector
    I: Any  # noqa: E741 - as in the formulas
    i: Vector
    low: Vector
    up: Vector
    equations: int | None = None
    first: int | None = None

    def contains(self, u: Vector) -> bool:
        """Return whether `u` (n,) meets all constraints exactly, in the numbers that are stored."""
        if not ((u >= self.low) & (u <= self.up)).all():
            return False
        equal = not exact_signs(self.E, u, self.e).any()
        return equal and bool((exact_signs(self.I, u, self.i) <= 0).all())

    def nearest(self, u: Vector) -> Vector:
        """Return about the point nearest to `u` (n,) that meets the constraints but for rounding."""
        with suppress(MemoryError):
            return self._moved(np.clip(u, self.low, self.up), np.ones(u.size, bool))
        return np.clip(u, self.low, self.up)

    def enclosure(self, u: Vector, interior: Callable[[], Interior | None]) -> Intervals | None:
        """Return the first of `enclosures`; None if none is found."""
        return next(self.enclosures(u, interior), None)

    def enclosures(self, u: Vector, interior: Callable[[], Interior | None]) -> Iterator[Intervals]:
        """Yield balls around exact solutions near `u` (n,), three at most.

        First of what is moved as little as can be; then on the way from `u`, and from there, to an inner
        point, see `interior`, which takes long. If there is none the same is tried for variables in
        whose units each has a column of length about 1: λ_min may be larger by many digits.
        """
        with suppress(MemoryError):  # of factors that a dense column makes dense
            balls = self._enclosures(u, interior)
            if (first := next(balls, None)) is not None:
                yield first
                yield from balls
                return
            lengths = self.E.multiply(self.E).sum(axis=0) + self.I.multiply(self.I).sum(axis=0)
            unit = np.ldexp(1.0, -np.frexp(np.where(lengths > 0, np.sqrt(lengths), 1.0))[1])
            scaled, inner = self._in_units(unit), interior()
            if not scaled._in_units(1.0 / unit)._equals(self):  # a number underflows
                return
            if inner is not None:
                inner = Interior(inner.point / unit, inner.within._in_units(unit))
            for ball in scaled._enclosures(u / unit, lambda: inner):
                yield Intervals(ball.mid * unit, ball.rad * unit)

    def _in_units(self, unit: Vector) -> Constraints:
        """Return the constraints of u/unit, for powers of two: the same ones exactly."""
        scale = scipy.sparse.diags_array(unit)
        E, I = (scipy.sparse.csr_array(M @ scale) for M in (self.E, self.I))  # noqa: E741
        return replace(self, E=E, I=I, low=self.low / unit, up=self.up / unit)

    def _equals(self, other: Constraints) -> bool:
        """Whether matrices and bounds are the same."""
        bounds = (self.low == other.low).all() and (self.up == other.up).all()
        return bool(bounds) and not ((self.E != other.E).nnz or (self.I != other.I).nnz)

    def _enclosures(
        self, u: Vector, interior: Callable[[], Interior | None]
    ) -> Iterator[Intervals]:
        n, start = u.size, np.clip(u, self.low, self.up)
        point = start
        tries = [(self.first, (1e-9,))] if self.first else []
        for count, rooms in [*tries, (n, (1e-6, 1e-9, 0.0))]:
            may_move = np.arange(n) < count
            point = self._moved(start, may_move)
            balls = (self._enclosed(point, may_move, room) for room in rooms)
            if (found := next((ball for ball in balls if ball is not None), None)) is not None:
                yield found
                break
        if (inner := interior()) is None:
            return
        inside, every = inner.within, np.ones(n, bool)
        for near in (start, point):
            for share in _SHARES:
                mixed = (1 - share) * np.clip(near, inside.low, inside.up) + share * inner.point
                if (found := inside._enclosed(mixed, every, 0.0)) is not None:
                    yield found
                    break

    def interior(self) -> Interior | None:
        """Return a point with room, and the constraints with those as equations that leave none.

        One linear program finds both: max Σ s over u, α ≥ 1 and 0 ≤ s ≤ 1 with E u = α e,
        I u + s ≤ α i, α low + s ≤ u ≤ α up − s. At its end s is 1 for each inequality that u/α has
        room in, and 0 for those that have none anywhere (Freund, Roundy & Todd 1985).
        """
        n, rows = self.low.size, self.i.size
        bounded = np.flatnonzero(
            (np.isfinite(self.low) | np.isfinite(self.up)) & (self.low < self.up)
        )
        identity = scipy.sparse.eye_array(n, format="csr")
        lower = bounded[np.isfinite(self.low[bounded])]
        upper = bounded[np.isfinite(self.up[bounded])]
        same = np.flatnonzero(self.low == self.up)
        left = scipy.sparse.vstack([self.I, -identity[lower], identity[upper]])
        limits = np.concatenate([self.i, -self.low[lower], self.up[upper]])
        of_room = np.concatenate(
            [np.arange(rows), *(rows + np.searchsorted(bounded, at) for at in (lower, upper))]
        )
        room = scipy.sparse.eye_array(rows + bounded.size, format="csr")[of_room]
        fixed = scipy.sparse.vstack([self.E, identity[same]])
        ends = np.concatenate([self.e, self.low[same]])
        none = scipy.sparse.csr_array((ends.size, room.shape[1]))
        infinite = np.full(n, inf)
        found = linear_program(
            np.concatenate([np.zeros(n), -np.ones(room.shape[1]), [_SCALE]]),
            Constraints(
                scipy.sparse.csr_array(scipy.sparse.hstack([fixed, none, -ends[:, None]])),
                np.zeros(ends.size),
                scipy.sparse.csr_array(scipy.sparse.hstack([left, room, -limits[:, None]])),
                np.zeros(limits.size),
                np.concatenate([-infinite, np.zeros(room.shape[1]), [1.0]]),
                np.concatenate([infinite, np.ones(room.shape[1]), [inf]]),
            ),
        )
        if found is None:
            return None
        point, has_room = found.x[:n] / found.x[-1], found.x[n:-1] > 0.5
        at = np.where(point - self.low <= self.up - point, self.low, self.up)
        low, up = self.low.copy(), self.up.copy()
        stuck = bounded[~has_room[rows:]]
        low[stuck] = up[stuck] = at[stuck]
        tight, loose = np.flatnonzero(~has_room[:rows]), np.flatnonzero(has_room[:rows])
        E = scipy.sparse.csr_array(scipy.sparse.vstack([self.E, self.I[tight]]))
        e = np.concatenate([self.e, self.i[tight]])
        within = Constraints(E, e, self.I[loose], self.i[loose], low, up, self.e.size)
        return Interior(np.clip(point, low, up), within)

    def _moved(self, v: Vector, may_move: NDArray[np.bool_]) -> Vector:
        """Return about the nearest point in float64: what would be violated is held in turn."""
        free = may_move & (v > self.low) & (v < self.up)
        tight = _HELD * (abs(self.I) @ np.abs(v) + np.abs(self.i))
        held = self.I @ v >= self.i - tight
        least = 1e-13 * (abs(self.I) @ np.abs(v) + np.abs(self.i))
        last = inf
        for _ in range(_ROUNDS):
            rows = scipy.sparse.vstack([self.E, self.I[held]], format="csr")
            missing = np.concatenate([self.e, (self.i - 2 * least)[held]]) - rows @ v
            missing[self.e.size :] = np.minimum(missing[self.e.size :], 0.0)
            target = v + _least_change(rows, free.astype(float), missing)
            over = (target < self.low) | (target > self.up)
            v = np.clip(target, self.low, self.up)
            broken = (self.I @ v > self.i) & ~held
            left, changed = (
                float(np.abs(missing).max(initial=0.0)),
                (over & free).any() or broken.any(),
            )
            least_left = 4 * _EPS * float((abs(rows) @ np.abs(v)).max(initial=0.0))
            if not changed and (left <= least_left or left >= 0.5 * last):
                break
            free, held, last = free & ~over, held | broken, left
        return v

    def _enclosed(self, v: Vector, may_move: NDArray[np.bool_], room: float) -> Intervals | None:
        """Return the enclosure around `v`, of which only what has so much room moves."""
        away = room * np.maximum(1.0, np.abs(v))
        free = may_move & (v - self.low > away) & (self.up - v > away)
        for _ in range(3):
            v = np.clip(
                v + _least_change(self.E, free.astype(float), self.e - self.E @ v),
                self.low,
                self.up,
            )
        finite = bool(np.isfinite(v).all())
        radius = solution_radius(self.E, self.e, v, free, self.equations) if finite else None
        if radius is None:
            return None
        ball = Intervals(v, radius)
        inside = ((ball.low >= self.low) & (ball.high <= self.up)).all()
        if inside and bool((products(self.I, ball).high <= self.i).all()):
            return ball
        return None


class Interior(NamedTuple):
    """A point with room in all inequalities and bounds of `within`, which imply the original ones."""

    point: Vector
    within: Constraints


def linear_program(cost: Vector, constraints: Constraints) -> Any:
    """Return SciPy's answer to min costᵀu (HiGHS; Huangfu & Hall 2018); None if it has none.

    HiGHS's tolerance of 1e-7 is absolute: the cost is posed with a size of 1.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    c = constraints
    if not np.isfinite(cost).all():
        return None
    exponent = exponent_to_one(float(np.abs(cost).max(initial=0.0)), cost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of options, and of numbers that HiGHS finds large
        found = linprog(
            np.ldexp(cost, exponent),
            c.I if c.i.size else None,
            c.i if c.i.size else None,
            c.E if c.e.size else None,
            c.e if c.e.size else None,
            np.column_stack([c.low, c.up]),
            method="highs",
            options={"time_limit": _SECONDS},
        )
    if found.status != 0:
        return None
    found.fun = np.ldexp(found.fun, -exponent)
    for limits in (found.eqlin, found.ineqlin):
        limits.marginals = np.ldexp(limits.marginals, -exponent)
    return found


def solution_radius(
    E: Any, e: Vector, v: Vector, free: NDArray[np.bool_], equations: int | None = None
) -> Vector | None:
    """Return how far from `v` (n,) an exact solution of E u = e is at most; None if that is unknown.

    Only the variables that are `free` differ.
    """
    radius = np.zeros(v.size)
    length = np.sqrt((E.multiply(E)).sum(axis=1))
    exponent = -np.frexp(np.where(length > 0, length, 1.0))[1]  # rows of length about 1
    E, e = scipy.sparse.diags_array(np.ldexp(1.0, exponent)).tocsr() @ E, np.ldexp(e, exponent)
    moving = scipy.sparse.csr_array(E @ scipy.sparse.diags_array(free.astype(float)))
    moving.eliminate_zeros()
    rows = np.flatnonzero(np.diff(moving.indptr))
    for least_pivot in _DEPENDENT:
        independent = _independent(moving, rows, least_pivot)
        others = np.setdiff1d(np.arange(e.size), independent)
        if not others.size or _are_implied(E, e, v, free, independent, others, equations):
            break
    else:
        return None
    if independent.size:
        M = moving[independent]
        square = scipy.sparse.csc_array(M @ M.T)
        wrong = gamma(terms(M) + 2) * float((abs(M) @ abs(M).T).sum(axis=1).max())
        least = smallest_eigenvalue(square) - wrong
        if not least > 0:
            return None
        rho = residuals(E[independent], v, e[independent])
        change = _least_change(M, np.ones(v.size), rho.mid)
        left = rho - products(M, change)
        size = np.linalg.norm(np.abs(left.mid) + left.rad)
        columns = np.sqrt(np.asarray(M.multiply(M).sum(axis=0)).ravel())
        radius = (1 + 1e-9) * (np.abs(change) + columns * float(size) / least)
    return radius


def _least_change(M: Any, weights: Vector, missing: Vector) -> Vector:
    """Return about the shortest d with M d = missing, of variables whose weight is not 0."""
    if not M.shape[0]:
        return np.zeros(M.shape[1])
    moving = M @ scipy.sparse.diags_array(weights)
    solve = _solver(scipy.sparse.csc_array(moving @ moving.T))
    step = moving.T @ solve(missing)
    return step + moving.T @ solve(missing - moving @ step)


def least_squares(M: Any, target: Vector) -> Vector:
    """Return w with about the least ‖Mᵀw − target‖, for CSR `M` (m, n)."""
    if not M.shape[0]:
        return np.zeros(0)
    solve = _solver(scipy.sparse.csc_array(M @ M.T))
    w = solve(M @ target)
    return w + solve(M @ (target - M.T @ w))


def _solver(S: Any) -> Callable[[Vector], Vector]:
    diagonal = S.diagonal()
    regular = np.where(diagonal > 0, _REGULAR * diagonal, 1.0)
    return sparse_lu(scipy.sparse.csc_array(S + scipy.sparse.diags_array(regular))).solve


def _independent(M: Any, rows: Indices, least: float) -> Indices:
    """Return the rows of M (about of length 1) that do not depend on others, by the least pivot."""
    if not rows.size:
        return rows
    S = scipy.sparse.csc_array(M[rows] @ M[rows].T)
    factors = factored(S + 1e-15 * scipy.sparse.eye_array(rows.size, format="csc"))
    if factors is None:
        return rows
    _, pivots, order = factors
    return rows[np.sort(order[pivots > least * S.diagonal()[order]])]


def _are_implied(
    E: Any,
    e: Vector,
    v: Vector,
    free: NDArray[np.bool_],
    rows: Indices,
    others: Indices,
    equations: int | None,
) -> bool:
    """Return whether the `others` among E u = e follow exactly from `rows`; u is v but where `free`."""
    moving = E @ scipy.sparse.diags_array(free.astype(float))
    solve = _solver(scipy.sparse.csc_array(moving[rows] @ moving[rows].T)) if rows.size else None
    for other in others.tolist():
        left = dict(exact_row(E, other))
        rest = Fraction(float(e[other]))
        factors = np.zeros(0)
        if solve is not None:
            factors = solve(moving[rows] @ moving[[other]].toarray().ravel())
        for k in np.flatnonzero(np.abs(factors) > 0.5 / _DENOMINATOR).tolist():
            factor = _ratio(float(factors[k]))
            for column, value in exact_row(E, int(rows[k])):
                left[column] = left.get(column, Fraction(0)) - factor * value
            rest -= factor * Fraction(float(e[rows[k]]))
        for column, value in left.items():
            if free[column] and value:
                return False
            rest -= value * Fraction(v[column])
        if rest < 0 or (rest and (equations is None or other < equations)):
            return False
    return True


def _ratio(factor: float) -> Fraction:
    """Return the simple fraction that a factor between two rows is; their scales are powers of two."""
    power = np.ldexp(1.0, int(np.frexp(factor)[1]))
    return Fraction(float(power)) * Fraction(factor / power).limit_denominator(_DENOMINATOR)
