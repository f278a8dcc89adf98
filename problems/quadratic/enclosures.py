"""Exact solutions of linear constraints, enclosed near a float64 point.

    E u = e,   I u ≤ i,   low ≤ u ≤ up

A float64 point satisfies equations only up to rounding, but a bound needs a point that satisfies them
exactly. With M the independent rows of E, D = diag(0 or 1) the variables that may move, and ρ = e − E v,
    u* = v + δ + D Mᵀ (M D Mᵀ)⁻¹ (ρ − M δ)   has   E u* = e   for any δ of those that move, and
    |u* − v|ⱼ ≤ |δⱼ| + Dⱼ ‖M eⱼ‖ ‖ρ − M δ‖ / λ_min(M D Mᵀ),
so that a bound on one smallest eigenvalue proves that u* exists and encloses it. ρ is rounded once and
δ is approximately the shortest with M δ = ρ: only rounding of rounding is divided by λ_min. Dependent
rows of E must be so exactly, in rational arithmetic. Inequalities hold in the entire enclosure.

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
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.quadratic.eigenvalues import (
    factor_ldl,
    smallest_eigenvalue,
    sparse_lu,
)
from dualgap.problems.quadratic.exact_rows import exact_row, exact_signs, residuals

_PIVOTS_ATOL = (1e-9, 1e-13)  # pivots of rows of length 1 below which they count as dependent
_MAX_DENOMINATOR = 10_000  # of a factor between dependent rows
_ACTIVE_SLACK_RTOL = 1e-7  # relative slack below which an inequality is treated as active
_INTERIOR_MIX = (0.0, 1e-15, 1e-14, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 0.1)  # weights to try
_MIN_SLACK = 1e-7  # cost of α in the LP: a smaller slack counts as 0
LP_TIME_LIMIT_S = 30.0  # after which a proof is given up


@dataclass(frozen=True, eq=False)
class Constraints:
    """E u = e, I u ≤ i, low ≤ u ≤ up; matrices are CSR, possibly with 0 rows.

    Attributes
    ----------
    equations : number of leading rows of E that are equations; the others, if dependent, need only ≤.
    first : number of leading variables to try moving alone.
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
        """Whether `u` (n,) satisfies all constraints exactly as stored."""
        if not ((u >= self.low) & (u <= self.up)).all():
            return False
        equal = not exact_signs(self.E, u, self.e).any()
        return equal and bool((exact_signs(self.I, u, self.i) <= 0).all())

    def nearest(self, u: Vector) -> Vector:
        """Return approximately the nearest point to `u` (n,) that is feasible up to rounding."""
        with suppress(MemoryError):
            return self._project(np.clip(u, self.low, self.up), np.ones(u.size, bool))
        return np.clip(u, self.low, self.up)

    def enclosure(self, u: Vector, interior: Callable[[], Interior | None]) -> Intervals | None:
        """Return the first of `enclosures`; None if none is found."""
        return next(self.enclosures(u, interior), None)

    def enclosures(self, u: Vector, interior: Callable[[], Interior | None]) -> Iterator[Intervals]:
        """Yield at most three balls around exact solutions near `u` (n,).

        The first moves as little as possible; the others lie between `u`, or its nearest point, and an
        `interior` point, which is slow to compute. If there is none, variables are rescaled to columns
        of length about 1, which may increase λ_min by many orders of magnitude.
        """
        with suppress(MemoryError):  # a dense column makes the factors dense
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
        """Return the same constraints on u/unit; exact for powers of two."""
        scale = scipy.sparse.diags_array(unit)
        E, I = (scipy.sparse.csr_array(M @ scale) for M in (self.E, self.I))  # noqa: E741
        return replace(self, E=E, I=I, low=self.low / unit, up=self.up / unit)

    def _equals(self, other: Constraints) -> bool:
        """Whether the matrices and bounds are equal."""
        bounds = (self.low == other.low).all() and (self.up == other.up).all()
        return bool(bounds) and not ((self.E != other.E).nnz or (self.I != other.I).nnz)

    def _enclosures(
        self, u: Vector, interior: Callable[[], Interior | None]
    ) -> Iterator[Intervals]:
        n, start = u.size, np.clip(u, self.low, self.up)
        point = start
        tries = [(self.first, (1e-9,))] if self.first else []
        for count, margins in [*tries, (n, (1e-6, 1e-9, 0.0))]:
            may_move = np.arange(n) < count
            point = self._project(start, may_move)
            balls = (self._enclose(point, may_move, margin) for margin in margins)
            if (result := next((ball for ball in balls if ball is not None), None)) is not None:
                yield result
                break
        if (inner := interior()) is None:
            return
        inside, all_free = inner.within, np.ones(n, bool)
        for origin in (start, point):
            for mix in _INTERIOR_MIX:
                mixed = (1 - mix) * np.clip(origin, inside.low, inside.up) + mix * inner.point
                if (result := inside._enclose(mixed, all_free, 0.0)) is not None:
                    yield result
                    break

    def interior(self) -> Interior | None:
        """Return a relative interior point, and the constraints with implicit equations made explicit.

        One linear program finds both: max Σ s over u, α ≥ 1 and 0 ≤ s ≤ 1 with E u = α e,
        I u + s ≤ α i, α low + s ≤ u ≤ α up − s. At the optimum s is 1 for each inequality in which u/α
        has slack, and 0 for those in which no point has (Freund, Roundy & Todd 1985).
        """
        n, rows = self.low.size, self.i.size
        bounded = np.flatnonzero(
            (np.isfinite(self.low) | np.isfinite(self.up)) & (self.low < self.up)
        )
        identity = scipy.sparse.eye_array(n, format="csr")
        lower = bounded[np.isfinite(self.low[bounded])]
        upper = bounded[np.isfinite(self.up[bounded])]
        equal = np.flatnonzero(self.low == self.up)
        normals = scipy.sparse.vstack([self.I, -identity[lower], identity[upper]])
        limits = np.concatenate([self.i, -self.low[lower], self.up[upper]])
        slack_index = np.concatenate(
            [np.arange(rows), *(rows + np.searchsorted(bounded, at) for at in (lower, upper))]
        )
        slack = scipy.sparse.eye_array(rows + bounded.size, format="csr")[slack_index]
        fixed = scipy.sparse.vstack([self.E, identity[equal]])
        sides = np.concatenate([self.e, self.low[equal]])
        empty = scipy.sparse.csr_array((sides.size, slack.shape[1]))
        infinite = np.full(n, inf)
        solution = linear_program(
            np.concatenate([np.zeros(n), -np.ones(slack.shape[1]), [_MIN_SLACK]]),
            Constraints(
                scipy.sparse.csr_array(scipy.sparse.hstack([fixed, empty, -sides[:, None]])),
                np.zeros(sides.size),
                scipy.sparse.csr_array(scipy.sparse.hstack([normals, slack, -limits[:, None]])),
                np.zeros(limits.size),
                np.concatenate([-infinite, np.zeros(slack.shape[1]), [1.0]]),
                np.concatenate([infinite, np.ones(slack.shape[1]), [inf]]),
            ),
        )
        if solution is None:
            return None
        point, has_slack = solution.x[:n] / solution.x[-1], solution.x[n:-1] > 0.5
        at = np.where(point - self.low <= self.up - point, self.low, self.up)
        low, up = self.low.copy(), self.up.copy()
        pinned = bounded[~has_slack[rows:]]
        low[pinned] = up[pinned] = at[pinned]
        tight, loose = np.flatnonzero(~has_slack[:rows]), np.flatnonzero(has_slack[:rows])
        E = scipy.sparse.csr_array(scipy.sparse.vstack([self.E, self.I[tight]]))
        e = np.concatenate([self.e, self.i[tight]])
        within = Constraints(E, e, self.I[loose], self.i[loose], low, up, self.e.size)
        return Interior(np.clip(point, low, up), within)

    def _project(self, v: Vector, may_move: NDArray[np.bool_]) -> Vector:
        """Return approximately the nearest feasible point, by an active-set iteration in float64."""
        free = may_move & (v > self.low) & (v < self.up)
        tolerance = _ACTIVE_SLACK_RTOL * (abs(self.I) @ np.abs(v) + np.abs(self.i))
        active = self.I @ v >= self.i - tolerance
        margin = 1e-13 * (abs(self.I) @ np.abs(v) + np.abs(self.i))
        previous = inf
        for _ in range(30):
            rows = scipy.sparse.vstack([self.E, self.I[active]], format="csr")
            residual = np.concatenate([self.e, (self.i - 2 * margin)[active]]) - rows @ v
            residual[self.e.size :] = np.minimum(residual[self.e.size :], 0.0)
            target = v + _least_change(rows, free.astype(float), residual)
            outside = (target < self.low) | (target > self.up)
            v = np.clip(target, self.low, self.up)
            violated = (self.I @ v > self.i) & ~active
            error = float(np.abs(residual).max(initial=0.0))
            changed = (outside & free).any() or violated.any()
            min_error = 4 * np.finfo(float).eps * float((abs(rows) @ np.abs(v)).max(initial=0.0))
            if not changed and (error <= min_error or error >= 0.5 * previous):
                break
            free, active, previous = free & ~outside, active | violated, error
        return v

    def _enclose(self, v: Vector, may_move: NDArray[np.bool_], margin: float) -> Intervals | None:
        """Return an enclosure around `v`, in which only variables `margin` off their bounds move."""
        away = margin * np.maximum(1.0, np.abs(v))
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
    """A point with slack in all inequalities and bounds of `within`, which imply the original ones."""

    point: Vector
    within: Constraints


def linear_program(cost: Vector, constraints: Constraints) -> Any:
    """Return SciPy's solution of min costᵀu (HiGHS; Huangfu & Hall 2018); None if it fails.

    HiGHS's tolerance of 1e-7 is absolute, so the cost is scaled to 1.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    c = constraints
    if not np.isfinite(cost).all():
        return None
    exponent = exponent_to_one(float(np.abs(cost).max(initial=0.0)), cost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about options, and numbers that HiGHS considers large
        solution = linprog(
            np.ldexp(cost, exponent),
            c.I if c.i.size else None,
            c.i if c.i.size else None,
            c.E if c.e.size else None,
            c.e if c.e.size else None,
            np.column_stack([c.low, c.up]),
            method="highs",
            options={"time_limit": LP_TIME_LIMIT_S},
        )
    if solution.status != 0:
        return None
    solution.fun = np.ldexp(solution.fun, -exponent)
    for limits in (solution.eqlin, solution.ineqlin):
        limits.marginals = np.ldexp(limits.marginals, -exponent)
    return solution


def solution_radius(
    E: Any, e: Vector, v: Vector, free: NDArray[np.bool_], equations: int | None = None
) -> Vector | None:
    """Return a bound on |u − v| for an exact solution u of E u = e; None if there is none.

    Only the `free` variables differ from `v` (n,).
    """
    radius = np.zeros(v.size)
    length = np.sqrt((E.multiply(E)).sum(axis=1))
    exponent = -np.frexp(np.where(length > 0, length, 1.0))[1]  # rows of length about 1
    E, e = scipy.sparse.diags_array(np.ldexp(1.0, exponent)).tocsr() @ E, np.ldexp(e, exponent)
    moving = scipy.sparse.csr_array(E @ scipy.sparse.diags_array(free.astype(float)))
    moving.eliminate_zeros()
    rows = np.flatnonzero(np.diff(moving.indptr))
    for min_pivot in _PIVOTS_ATOL:
        independent = _independent(moving, rows, min_pivot)
        dependent = np.setdiff1d(np.arange(e.size), independent)
        if not dependent.size or _are_implied(E, e, v, free, independent, dependent, equations):
            break
    else:
        return None
    if independent.size:
        M = moving[independent]
        square = scipy.sparse.csc_array(M @ M.T)
        rounding = gamma(terms(M) + 2) * float((abs(M) @ abs(M).T).sum(axis=1).max())
        eigenvalue = smallest_eigenvalue(square) - rounding
        if not eigenvalue > 0:
            return None
        rho = residuals(E[independent], v, e[independent])
        change = _least_change(M, np.ones(v.size), rho.mid)
        remainder = rho - products(M, change)
        size = np.linalg.norm(np.abs(remainder.mid) + remainder.rad)
        columns = np.sqrt(np.asarray(M.multiply(M).sum(axis=0)).ravel())
        radius = (1 + 1e-9) * (np.abs(change) + columns * float(size) / eigenvalue)
    return radius


def _least_change(M: Any, weights: Vector, residual: Vector) -> Vector:
    """Return approximately the shortest d with M d = residual, in variables of nonzero weight."""
    if not M.shape[0]:
        return np.zeros(M.shape[1])
    moving = M @ scipy.sparse.diags_array(weights)
    solve = _solver(scipy.sparse.csc_array(moving @ moving.T))
    step = moving.T @ solve(residual)
    return step + moving.T @ solve(residual - moving @ step)


def least_squares(M: Any, target: Vector) -> Vector:
    """Return w that approximately minimises ‖Mᵀw − target‖, for CSR `M` (m, n)."""
    if not M.shape[0]:
        return np.zeros(0)
    solve = _solver(scipy.sparse.csc_array(M @ M.T))
    w = solve(M @ target)
    return w + solve(M @ (target - M.T @ w))


def _solver(S: Any) -> Callable[[Vector], Vector]:
    diagonal = S.diagonal()
    regular = np.where(diagonal > 0, 1e-13 * diagonal, 1.0)  # rows may be dependent
    return sparse_lu(scipy.sparse.csc_array(S + scipy.sparse.diags_array(regular))).solve


def _independent(M: Any, rows: Indices, min_pivot: float) -> Indices:
    """Return an independent subset of the rows of M (of length about 1): those with large pivots."""
    if not rows.size:
        return rows
    S = scipy.sparse.csc_array(M[rows] @ M[rows].T)
    factors = factor_ldl(S + 1e-15 * scipy.sparse.eye_array(rows.size, format="csc"))
    if factors is None:
        return rows
    _, pivots, order = factors
    return rows[np.sort(order[pivots > min_pivot * S.diagonal()[order]])]


def _are_implied(
    E: Any,
    e: Vector,
    v: Vector,
    free: NDArray[np.bool_],
    rows: Indices,
    dependent: Indices,
    equations: int | None,
) -> bool:
    """Whether `dependent` rows of E u = e follow exactly from `rows`, if u equals v except if `free`."""
    moving = E @ scipy.sparse.diags_array(free.astype(float))
    solve = _solver(scipy.sparse.csc_array(moving[rows] @ moving[rows].T)) if rows.size else None
    for row in dependent.tolist():
        remainder = dict(exact_row(E, row))
        side = Fraction(float(e[row]))
        factors = np.zeros(0)
        if solve is not None:
            factors = solve(moving[rows] @ moving[[row]].toarray().ravel())
        for k in np.flatnonzero(np.abs(factors) > 0.5 / _MAX_DENOMINATOR).tolist():
            factor = _ratio(float(factors[k]))
            for column, value in exact_row(E, int(rows[k])):
                remainder[column] = remainder.get(column, Fraction(0)) - factor * value
            side -= factor * Fraction(float(e[rows[k]]))
        for column, value in remainder.items():
            if free[column] and value:
                return False
            side -= value * Fraction(v[column])
        if side < 0 or (side and (equations is None or row < equations)):
            return False
    return True


def _ratio(factor: float) -> Fraction:
    """Return a factor between two rows as a simple fraction times a power of two, their scaling."""
    power = np.ldexp(1.0, int(np.frexp(factor)[1]))
    return Fraction(float(power)) * Fraction(factor / power).limit_denominator(_MAX_DENOMINATOR)
