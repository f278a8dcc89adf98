"""Bounds on the optimum of a convex QP, from x and multipliers alone; all are theorems.

    min f(x) = ½xᵀPx + qᵀx   s.t.  Gx ≤ h,  Ax = b,  lb ≤ x ≤ ub,        P ⪰ 0

Above: f at an exactly feasible x* near x. With any y, and x* within ε of x',
    f(x*) = L(x*) ≤ f(x') + yᵀ(Ax' − b) + Σ|Px' + q + Aᵀy|ⱼ εⱼ + ½εᵀ|P|ε.
Below: for any x̄, y and z ≥ 0, with r = Px̄ + q + Aᵀy + Gᵀz and any ξ in the box,
    f ≥ f(ξ) − ½(x̄ − ξ)ᵀP(x̄ − ξ) + yᵀ(Aξ − b) − zᵀ(h − Gξ) − Σ max(r, 0)(ξ − lb) + max(−r, 0)(ub − ξ),
where r must have the right sign exactly for a variable that lacks a bound, and be 0 for a free one:
(x̄, y, z) is moved to where it does, as x is moved to where Ax = b (see `enclosures`).
No feasible point: the bound below of min 0 is above 0, for y and z of the least violation (Farkas).
No finite optimum: a direction d with Pd = 0, Ad = 0, Gd ≤ 0, no bound met, and qᵀd < 0.

Jansson 2004, "Rigorous lower and upper bounds in linear programming"; Jansson, Chaykin & Keil 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.rounding import products
from dualgap.problems.certificates.quadratic.arrays import QPArrays
from dualgap.problems.certificates.quadratic.eigenvalues import curvature, is_dense, sparse_lu
from dualgap.problems.certificates.quadratic.enclosures import (
    Constraints,
    Interior,
    least_squares,
    linear_program,
)
from dualgap.problems.certificates.quadratic.exact_rows import residuals
from dualgap.problems.dataset import Vector

_ACTIVE = 1e-7  # distance to a limit, relative to the terms, that counts as none
_FAR = 1e3  # times the largest entry of x: a bound farther away is hardly one
_RIDGE = 1e-12  # added to P's diagonal, relative: P may be singular along the variables that move
_ROUNDS = 3  # of leaving out rows whose multipliers would be below 0
ACCURATE_GAP = 1e-9  # relative gap from which on no better point or multipliers are sought


@dataclass(frozen=True, eq=False)
class Program(QPArrays):
    """A convex QP, and the bounds that follow from its arrays."""

    @cached_property
    def constraints(self) -> Constraints:
        """The feasible set."""
        return Constraints(self.A, self.b, self.G, self.h, self.lb, self.ub)

    @cached_property
    def interior(self) -> Interior | None:
        """A feasible point with room."""
        return self.constraints.interior()

    @cached_property
    def dual_constraints(self) -> Constraints:
        """What (x̄, y, z) must meet for r = Px̄ + q + Aᵀy + Gᵀz to have its signs."""
        lower, upper, flat = np.isfinite(self.lb), np.isfinite(self.ub), self.curvature <= 0
        free, below, above = (
            self._gradient_rows(flat & has_sign)
            for has_sign in (~lower & ~upper, lower & ~upper, upper & ~lower)
        )
        low = np.full(free.shape[1], -inf)
        low[self.q.size + self.b.size :] = 0.0
        return Constraints(
            free,
            -self.q[flat & ~lower & ~upper],
            scipy.sparse.csr_array(scipy.sparse.vstack([-below, above])),
            np.concatenate([self.q[flat & lower & ~upper], -self.q[flat & upper & ~lower]]),
            low,
            np.full(low.size, inf),
            first=self.q.size,  # along x̄ alone no matrix is denser than P
        )

    def _gradient_rows(self, which: NDArray[np.bool_]) -> Any:
        """Return the rows of (P, Aᵀ, Gᵀ) of some variables."""
        parts = self.P[which], self.A[:, which].T, self.G[:, which].T
        return scipy.sparse.csr_array(scipy.sparse.hstack(parts))

    @cached_property
    def dual_interior(self) -> Interior | None:
        """Multipliers with room."""
        return self.dual_constraints.interior()

    @cached_property
    def curvature(self) -> Vector:
        """Numbers μ (n,) with P − diag(μ) ⪰ 0, see `eigenvalues.curvature`."""
        return curvature(self.P)

    def value(self, x: Vector) -> Intervals:
        """Return f(x)."""
        return 0.5 * (products(self.P, x) * x).sum() + (Intervals(self.q) * x).sum()

    def upper(self, x: Vector, y: Vector) -> tuple[float, Vector] | None:
        """Return f at an exactly feasible point near `x` (n,), and that point to float64."""
        if self.constraints.contains(x):
            return float(self.value(x).high), x
        here, best = float(self.value(x).low), None
        for ball in self.constraints.enclosures(x, lambda: self.interior):
            found = self._above(ball, y)
            best = found if best is None or found[0] < best[0] else best
            if best[0] - here <= ACCURATE_GAP * abs(here):
                break
        return best

    def _above(self, ball: Intervals, y: Vector) -> tuple[float, Vector]:
        """Return a bound above f at the exact solution in a ball, and the ball's centre."""
        near, radius = ball.mid, np.broadcast_to(ball.rad, ball.mid.shape)
        value = self.value(near)
        if radius.any():
            gradient = products(self.P, near) + self.q + products(self.A.T.tocsr(), y)
            steep = np.maximum(np.abs(gradient.low), np.abs(gradient.high))
            lost = (Intervals(steep) * radius).sum()
            lost = lost + 0.5 * (products(abs(self.P), radius) * radius).sum()
            value = value + (Intervals(y) * (products(self.A, near) - self.b)).sum() + lost
        return float(value.high), near

    def moved_sides(self, x: Vector) -> Sides:
        """Return the sides that `x` (n,) meets exactly, and by how much they are moved at most.

        That is |Ax − b| relative to |A||x| + |b| in each row, and as much for Gx ≤ h; `x` is within lb
        and ub.
        """
        lacking, room = residuals(self.A, x, self.b), residuals(self.G, x, self.h)
        excess: Any = np.maximum(-room, Intervals(np.zeros(self.h.size)))
        moves = [np.zeros(1)]
        for M, move, side in (self.A, abs(lacking), self.b), (self.G, excess, self.h):
            terms = (abs(M) @ np.abs(x) + np.abs(side)) * (1 - 1e-9)
            with np.errstate(divide="ignore", invalid="ignore"):
                moves.append(np.where(move.high > 0, move.high / terms, 0.0))
        return Sides(
            Intervals(self.b) - lacking, excess + self.h, float(np.concatenate(moves).max())
        )

    def nearest(self, x: Vector) -> Vector:
        """Return the point within bounds, near `x` (n,), for which sides need be moved least."""
        points = np.clip(x, self.lb, self.ub), self.constraints.nearest(x)
        usable = [v for v in points if np.isfinite(v).all()]
        return min(usable, key=lambda v: np.nan_to_num(self.moved_sides(v).move, nan=inf))

    def lower(self, x: Vector, y: Vector, z: Vector, sides: Sides | None = None) -> float:
        """Return a bound below the optimum from x̄ = `x` (n,), `y` and `z`; −inf if there is none.

        Of the program with other `sides`, if they are given.

        A variable of which P has its diagonal entry alone is where L is least within its bounds: what y
        was moved by costs a square then, and not a multiple.
        """
        n, me = self.q.size, self.b.size
        start = np.concatenate([x, y, np.maximum(z, 0.0)])
        ball = self.dual_constraints.enclosure(start, lambda: self.dual_interior)
        if ball is None:
            return -inf
        x_ball, y_ball, z_ball = ball[:n], ball[n : n + me], ball[n + me :]
        slope = products(self.A.T.tocsr(), y_ball) + products(self.G.T.tocsr(), z_ball) + self.q
        diagonal, entries = self.P.diagonal(), np.diff(self.P.indptr)
        alone = (diagonal > 0) & (entries == 1)
        with np.errstate(over="ignore"):  # of an entry that is all but 0
            least = np.where(alone, -slope.mid / np.where(alone, diagonal, 1.0), x)
        xi = np.clip(least, self.lb, self.ub)
        x_ball = Intervals(np.where(alone, xi, x_ball.mid), np.where(alone, 0.0, x_ball.rad))
        r = products(self.P, x_ball) + slope
        if not np.isfinite(r.mid + r.rad).all():
            return -inf
        with np.errstate(over="ignore"):  # then ξ is at the end at which r costs nothing
            vast = np.isinf(self.ub - self.lb) & np.isfinite(self.lb) & np.isfinite(self.ub)
        xi = np.where(vast & (entries == 0), np.where(r.mid > 0, self.lb, self.ub), xi)
        off = x_ball - xi
        off = Intervals(np.where(entries, off.mid, 0.0), np.where(entries, off.rad, 0.0))
        value = self.value(xi) - 0.5 * (products(self.P, off) * off).sum()
        b, h = (self.b, self.h) if sides is None else sides[:2]
        value = value + (y_ball * (products(self.A, xi) - b)).sum()
        value = value + (z_ball * (products(self.G, xi) - h)).sum()
        value = value - Intervals(self._most_lost(r, xi, off)).sum()
        if (bent := np.flatnonzero(self.curvature < 0)).size:
            ends = np.abs(self.lb - x_ball.mid), np.abs(self.ub - x_ball.mid)
            width = (np.maximum(*ends) + x_ball.rad)[bent]
            if not np.isfinite(width).all():
                return -inf
            lost = (Intervals(-self.curvature[bent]) * width * width).sum()
            value = value - 0.5 * lost * (1 + 1e-12)
        return float(value.low) if np.isfinite(value.low) else -inf

    def _most_lost(self, r: Intervals, xi: Vector, off: Intervals) -> Vector:
        """Return how far r(ξ − x) − ½μ(x − x̄)² is above 0 at most, for each x within its bounds.

        That is max(r, 0)(ξ − lb) + max(−r, 0)(ub − ξ) without the square; and r²/(2μ) + r(ξ − x̄) for any
        x at all, if μ > 0. Else r has the right sign where a bound is missing, in all that is enclosed.
        """
        curved, linear = self.curvature > 0, np.zeros(xi.size)
        sides = (
            (r.high, Intervals(xi) - self.lb, self.lb),
            (-r.low, Intervals(self.ub) - xi, self.ub),
        )
        with np.errstate(all="ignore"):
            for amount, room, bound in sides:
                counted = np.flatnonzero((amount > 0) & (curved | np.isfinite(bound)))
                lost = (Intervals(amount[counted]) * room[counted]).high
                lost = np.where(np.isnan(lost), inf, lost)
                total = linear[counted] + lost
                inexact = (linear[counted] != 0) & (lost != 0)
                linear[counted] = np.where(inexact, np.nextafter(total, inf), total)
            square = r * r / (2 * np.where(curved, self.curvature, 1.0)) - r * off
        return np.fmin(linear, np.where(curved, square.high, inf))

    def without_far_bounds(self, x: Vector) -> Program | None:
        """Return the program without bounds far from `x` (n,), which is bounded below by no more.

        Only of variables along which f is straight as far as is proven, and if there are such bounds:
        rounding of r costs the distance to a bound, however far it is, and none without one.
        """
        reach, straight = _FAR * float(np.abs(x).max(initial=0.0)), self.curvature <= 0
        with np.errstate(over="ignore"):
            low = straight & np.isfinite(self.lb) & (x - self.lb > reach)
            up = straight & np.isfinite(self.ub) & (self.ub - x > reach)
        if not (low.any() or up.any()):
            return None
        lb, ub = np.where(low, -inf, self.lb), np.where(up, inf, self.ub)
        return replace(self, lb=lb, ub=ub)

    def stationary(self, x: Vector, y: Vector, z: Vector) -> Vector | None:
        """Return x̄ near `x` (n,) with about r = 0 for the variables within their bounds, if P allows."""
        inside = self._inside(x) & (self.P.diagonal() > 0)
        if not inside.any():
            return None
        r = (self.P @ x + self.q + self.A.T @ y + self.G.T @ z)[inside]
        block = scipy.sparse.csc_array(self.P[inside][:, inside])
        block = block + _RIDGE * scipy.sparse.diags_array(block.diagonal())
        moved = x.copy()
        try:
            if is_dense(block):
                moved[inside] -= scipy.linalg.cho_solve(scipy.linalg.cho_factor(block.toarray()), r)
            else:
                moved[inside] -= sparse_lu(block).solve(r)
        except (RuntimeError, ValueError, np.linalg.LinAlgError):  # ValueError of r that overflows
            return None
        return moved if np.isfinite(moved).all() else None

    def _inside(self, x: Vector) -> NDArray[np.bool_]:
        """Return which variables are away from their bounds at `x` (n,)."""
        near = _ACTIVE * float(np.abs(x).max(initial=0.0))
        return (x - self.lb > near) & (self.ub - x > near)

    def fitted_multipliers(self, x: Vector) -> tuple[Vector, Vector]:
        """Return y and z for which r is about 0 within bounds, by least squares.

        z are those of the rows that `x` (n,) is at the limits of, without what would be below 0.
        """
        inside = self._inside(x)
        terms = abs(self.G) @ np.abs(x) + np.abs(self.h)
        active = np.flatnonzero(self.G @ x >= self.h - _ACTIVE * terms)
        gradient = (self.P @ x + self.q)[inside]
        y, z = np.zeros(self.b.size), np.zeros(self.h.size)
        for _ in range(_ROUNDS):
            rows = scipy.sparse.vstack([self.A, self.G[active]], format="csr")
            found = least_squares(rows[:, inside], -gradient)
            y, z[:] = found[: y.size], 0.0
            z[active] = found[y.size :]
            if (z >= 0).all():
                break
            active = active[z[active] > 0]
        return y, np.maximum(z, 0.0)

    def multipliers(self, x: Vector) -> tuple[Vector, Vector] | None:
        """Return y and z that suit x: those of the linear program min ∇f(x)ᵀu near x."""
        reach = np.maximum(1.0, np.abs(x))
        near = replace(
            self.constraints, low=np.maximum(self.lb, x - reach), up=np.minimum(self.ub, x + reach)
        )
        found = linear_program(self.P @ x + self.q, near)
        return None if found is None else _of(found, self)

    @cached_property
    def is_infeasible(self) -> bool:
        """Return whether no point is feasible, proven."""
        found = self._least_violation()
        if found is None:
            return False
        n = self.q.size
        empty = scipy.sparse.csr_array((n, n))
        feasibility = replace(self, P=empty, q=np.zeros(n))
        x = np.clip(np.zeros(n), self.lb, self.ub)
        return feasibility.lower(x, *found) > 0

    def _least_violation(self) -> tuple[Vector, Vector] | None:
        """Return the multipliers of min Σ|violation| in which bounds hold; None if that is 0."""
        n, me, mi = self.q.size, self.b.size, self.h.size
        eye, none = scipy.sparse.eye_array, scipy.sparse.csr_array
        E = scipy.sparse.hstack([self.A, eye(me), -eye(me), none((me, mi))])
        I = scipy.sparse.hstack([self.G, none((mi, 2 * me)), -eye(mi)])  # noqa: E741
        slack = 2 * me + mi
        elastic = Constraints(
            none(E),
            self.b,
            none(I),
            self.h,
            np.concatenate([self.lb, np.zeros(slack)]),
            np.concatenate([self.ub, np.full(slack, inf)]),
        )
        found = linear_program(np.concatenate([np.zeros(n), np.ones(slack)]), elastic)
        return None if found is None or not found.fun > 0 else _of(found, self)

    @cached_property
    def is_unbounded(self) -> bool:
        """Return whether f falls without end along a direction from any feasible point, proven."""
        n = self.q.size
        zeros = np.zeros(n)
        low, up = (
            np.where(np.isfinite(self.lb), 0.0, -1.0),
            np.where(np.isfinite(self.ub), 0.0, 1.0),
        )
        E = scipy.sparse.csr_array(scipy.sparse.vstack([self.P, self.A]))
        cone = Constraints(E, np.zeros(E.shape[0]), self.G, np.zeros(self.h.size), low, up)
        found = linear_program(self.q, cone)
        if found is None or not found.fun < 0:
            return False
        # without the ends of the cube, which no direction need keep to
        cone = replace(cone, low=np.where(low, -inf, zeros), up=np.where(up, inf, zeros))
        ball = cone.enclosure(found.x, cone.interior)
        return ball is not None and float((ball * self.q).sum().high) < 0


def _of(found: Any, program: Program) -> tuple[Vector, Vector]:
    """Return y and z of SciPy's answer to a linear program."""
    y = -found.eqlin.marginals if program.b.size else np.zeros(0)
    z = -found.ineqlin.marginals if program.h.size else np.zeros(0)
    return np.asarray(y), np.maximum(z, 0.0)


class Sides(NamedTuple):
    """Enclosures of sides of rows, and how far from the program's own they are, relative to terms."""

    b: Intervals
    h: Intervals
    move: float
