"""Linear constraints, and balls around points that satisfy them exactly.

    A u = b,   G u ≤ h,   lb ≤ u ≤ ub

A float64 point satisfies equations only up to rounding, but a bound needs a point that satisfies them
exactly. A ball around a float64 point contains a solution of the equations, see `enclosures`, and
inequalities hold in the entire ball.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.binary_scaling import exponent_to_one
from dualgap.problems.arithmetic.intervals import products
from dualgap.problems.dataset import Vector
from dualgap.problems.quadratic.enclosures import least_change, solution_radius
from dualgap.problems.quadratic.exact_rows import exact_signs

ACTIVE_RTOL = 1e-7  # a smaller slack or distance to a bound, relative to the terms, counts as 0
LP_TIME_LIMIT_S = 30.0  # after which a proof is given up


@dataclass(frozen=True, eq=False)
class Constraints:
    """A u = b, G u ≤ h, lb ≤ u ≤ ub; matrices are CSR, possibly with 0 rows.

    Attributes
    ----------
    n_equations : number of leading rows of A that are equations, by default all; the others are
        inequalities without slack, which need only hold with ≤ if they depend on the other rows.
    n_moved_first : number of leading variables that are moved alone, if this suffices.
    """

    A: Any
    b: Vector
    G: Any
    h: Vector
    lb: Vector
    ub: Vector
    n_equations: int | None = None
    n_moved_first: int | None = None

    def contains(self, u: Vector) -> bool:
        """Whether `u` (n,) satisfies all constraints exactly as stored."""
        if not ((u >= self.lb) & (u <= self.ub)).all():
            return False
        equal = not exact_signs(self.A, u, self.b).any()
        return equal and bool((exact_signs(self.G, u, self.h) <= 0).all())

    def nearest(self, u: Vector) -> Vector:
        """Return approximately the nearest point to `u` (n,) that is feasible up to rounding."""
        with suppress(MemoryError):
            return self._project(np.clip(u, self.lb, self.ub), np.ones(u.size, bool))
        return np.clip(u, self.lb, self.ub)

    def with_fixed(self, u: Vector, distance: float) -> Constraints:
        """Return the constraints with each variable fixed that `u` (n,) has so close to a bound."""
        low, high = u - self.lb <= distance, self.ub - u <= distance
        ub = np.where(low, self.lb, self.ub)
        return replace(self, lb=np.where(high & ~low, self.ub, self.lb), ub=ub)

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
            balls = self._enclosures_in_units(u, interior)
            if (first := next(balls, None)) is not None:
                yield first
                yield from balls
                return
            lengths = self.A.multiply(self.A).sum(axis=0) + self.G.multiply(self.G).sum(axis=0)
            unit = np.ldexp(1.0, -np.frexp(np.where(lengths > 0, np.sqrt(lengths), 1.0))[1])
            scaled, inner = self._rescaled(unit), interior()
            if not scaled._rescaled(1.0 / unit)._equals(self):  # a number underflows
                return
            if inner is not None:
                inner = Interior(inner.point / unit, inner.constraints._rescaled(unit))
            for ball in scaled._enclosures_in_units(u / unit, lambda: inner):
                yield Intervals(ball.mid * unit, ball.rad * unit)

    def _rescaled(self, unit: Vector) -> Constraints:
        """Return the same constraints on u/unit; exact for powers of two."""
        scale = scipy.sparse.diags_array(unit)
        A, G = (scipy.sparse.csr_array(M @ scale) for M in (self.A, self.G))
        return replace(self, A=A, G=G, lb=self.lb / unit, ub=self.ub / unit)

    def _equals(self, other: Constraints) -> bool:
        """Whether the matrices and bounds are equal."""
        bounds = (self.lb == other.lb).all() and (self.ub == other.ub).all()
        return bool(bounds) and not ((self.A != other.A).nnz or (self.G != other.G).nnz)

    def _enclosures_in_units(
        self, u: Vector, interior: Callable[[], Interior | None]
    ) -> Iterator[Intervals]:
        n, start = u.size, np.clip(u, self.lb, self.ub)
        point = start
        attempts = [(self.n_moved_first, (1e-9,))] if self.n_moved_first else []
        for count, margins in [*attempts, (n, (1e-6, 1e-9, 0.0))]:
            may_move = np.arange(n) < count
            point = self._project(start, may_move)
            balls = (self._enclose(point, may_move, margin) for margin in margins)
            if (result := next((ball for ball in balls if ball is not None), None)) is not None:
                yield result
                break
        if (inner := interior()) is None:
            return
        inside, all_free = inner.constraints, np.ones(n, bool)
        for origin in (start, point):
            outer = np.clip(origin, inside.lb, inside.ub)
            for weight in inside._weights(outer, inner.point):
                mixed = (1 - weight) * outer + weight * inner.point
                if (result := inside._enclose(mixed, all_free, 0.0)) is not None:
                    yield result
                    break

    def interior(self) -> Interior | None:
        """Return a relative interior point, and the constraints with implicit equations made explicit.

        One linear program finds both: max Σ s over u, α ≥ 1 and 0 ≤ s ≤ 1 with A u = α b,
        G u + s ≤ α h, α lb + s ≤ u ≤ α ub − s. At the optimum s is 1 for each inequality in which u/α
        has slack, and 0 for those in which no point has (Freund, Roundy & Todd 1985). A small cost of α
        makes slacks below 1e-7 count as 0.
        """
        n, rows = self.lb.size, self.h.size
        bounded = np.flatnonzero(
            (np.isfinite(self.lb) | np.isfinite(self.ub)) & (self.lb < self.ub)
        )
        identity = scipy.sparse.eye_array(n, format="csr")
        lower = bounded[np.isfinite(self.lb[bounded])]
        upper = bounded[np.isfinite(self.ub[bounded])]
        equal = np.flatnonzero(self.lb == self.ub)
        normals = scipy.sparse.vstack([self.G, -identity[lower], identity[upper]])
        limits = np.concatenate([self.h, -self.lb[lower], self.ub[upper]])
        slack_index = np.concatenate(
            [np.arange(rows), *(rows + np.searchsorted(bounded, at) for at in (lower, upper))]
        )
        slack = scipy.sparse.eye_array(rows + bounded.size, format="csr")[slack_index]
        fixed = scipy.sparse.vstack([self.A, identity[equal]])
        sides = np.concatenate([self.b, self.lb[equal]])
        empty = scipy.sparse.csr_array((sides.size, slack.shape[1]))
        infinite = np.full(n, inf)
        solution = linear_program(
            np.concatenate([np.zeros(n), -np.ones(slack.shape[1]), [1e-7]]),
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
        at = np.where(point - self.lb <= self.ub - point, self.lb, self.ub)
        lb, ub = self.lb.copy(), self.ub.copy()
        pinned = bounded[~has_slack[rows:]]
        lb[pinned] = ub[pinned] = at[pinned]
        tight, loose = np.flatnonzero(~has_slack[:rows]), np.flatnonzero(has_slack[:rows])
        A = scipy.sparse.csr_array(scipy.sparse.vstack([self.A, self.G[tight]]))
        b = np.concatenate([self.b, self.h[tight]])
        lb, ub = _with_determined(A, b, lb, ub)
        explicit = Constraints(A, b, self.G[loose], self.h[loose], lb, ub, self.b.size)
        return Interior(np.clip(point, lb, ub), explicit)

    def _weights(self, outer: Vector, inner: Vector) -> Vector:
        """Return weights of `inner` (n,) in a mean with `outer` (n,), increasing from 0.

        The first positive one gives the rows of G that `outer` violates slack.
        """
        violation = products(self.G, outer).high - self.h
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = 2 * violation / (self.h - self.G @ inner)
        first = np.nanmax(np.where(violation > 0, ratios, 0.0), initial=0.0)
        return np.concatenate([[0.0], np.geomspace(np.clip(first, 1e-30, 0.01), 0.1, 9)])

    def _project(self, v: Vector, may_move: NDArray[np.bool_]) -> Vector:
        """Return approximately the nearest feasible point, by an active-set iteration in float64."""
        free = may_move & (v > self.lb) & (v < self.ub)
        tolerance = ACTIVE_RTOL * (abs(self.G) @ np.abs(v) + np.abs(self.h))
        active = self.G @ v >= self.h - tolerance
        margin = 1e-13 * (abs(self.G) @ np.abs(v) + np.abs(self.h))
        previous = inf
        for _ in range(30):
            rows = scipy.sparse.vstack([self.A, self.G[active]], format="csr")
            residual = np.concatenate([self.b, (self.h - 2 * margin)[active]]) - rows @ v
            residual[self.b.size :] = np.minimum(residual[self.b.size :], 0.0)
            target = v + least_change(rows, free.astype(float), residual)
            outside = (target < self.lb) | (target > self.ub)
            v = np.clip(target, self.lb, self.ub)
            violated = (self.G @ v > self.h) & ~active
            terms = abs(rows) @ np.abs(v)
            error = float((np.abs(residual) / np.where(terms > 0, terms, 1.0)).max(initial=0.0))
            changed = (outside & free).any() or violated.any()
            if not changed and (error <= 4 * np.finfo(float).eps or error >= 0.5 * previous):
                break
            free, active, previous = free & ~outside, active | violated, error
        return v

    def _enclose(self, v: Vector, may_move: NDArray[np.bool_], margin: float) -> Intervals | None:
        """Return an enclosure around `v`, in which only variables `margin` off their bounds move."""
        away = margin * np.maximum(1.0, np.abs(v))
        free = may_move & (v - self.lb > away) & (self.ub - v > away)
        for _ in range(3):
            v = np.clip(
                v + least_change(self.A, free.astype(float), self.b - self.A @ v),
                self.lb,
                self.ub,
            )
        finite = bool(np.isfinite(v).all())
        radius = solution_radius(self.A, self.b, v, free, self.n_equations) if finite else None
        if radius is None:
            return None
        ball = Intervals(v, radius)
        inside = ((ball.low >= self.lb) & (ball.high <= self.ub)).all()
        if inside and bool((products(self.G, ball).high <= self.h).all()):
            return ball
        return None


def _with_determined(A: Any, b: Vector, lb: Vector, ub: Vector) -> tuple[Vector, Vector]:
    """Return bounds that fix each variable at 0 that is alone with fixed ones in a row of A u = b.

    Such rows may depend on others with factors that are not exact; zeros satisfy all of them exactly.
    """
    homogeneous = abs(A[b == 0]) > 0
    while True:
        nonzero = (lb != 0) | (ub != 0)
        alone = homogeneous @ nonzero.astype(np.int64) == 1
        zero = np.asarray(homogeneous[alone].sum(axis=0)).ravel().astype(bool) & nonzero
        zero &= (lb <= 0) & (ub >= 0)
        if not zero.any():
            return lb, ub
        lb, ub = np.where(zero, 0.0, lb), np.where(zero, 0.0, ub)


class Interior(NamedTuple):
    """A point with slack in all inequalities and bounds of `constraints`, which imply the given ones."""

    point: Vector
    constraints: Constraints


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
            c.G if c.h.size else None,
            c.h if c.h.size else None,
            c.A if c.b.size else None,
            c.b if c.b.size else None,
            np.column_stack([c.lb, c.ub]),
            method="highs",
            options={"time_limit": LP_TIME_LIMIT_S},
        )
    if solution.status != 0:
        return None
    solution.fun = np.ldexp(solution.fun, -exponent)
    for limits in (solution.eqlin, solution.ineqlin):
        limits.marginals = np.ldexp(limits.marginals, -exponent)
    return solution
