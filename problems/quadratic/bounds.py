"""Proven bounds on the optimum of a convex QP, from x and multipliers alone.

    min f(x) = ½xᵀPx + qᵀx   s.t.  Gx ≤ h,  Ax = b,  lb ≤ x ≤ ub,        P ⪰ 0

Upper bound: f at an exactly feasible x* near x. With any y, and x* within ε of x',
    f(x*) = L(x*) ≤ f(x') + yᵀ(Ax' − b) + Σ|Px' + q + Aᵀy|ⱼ εⱼ + ½εᵀ|P|ε.
Lower bound: for any x̄, y and z ≥ 0, with r = Px̄ + q + Aᵀy + Gᵀz and any ξ in the box,
    f ≥ f(ξ) − ½(x̄ − ξ)ᵀP(x̄ − ξ) + yᵀ(Aξ − b) − zᵀ(h − Gξ) − Σ max(r, 0)(ξ − lb) + max(−r, 0)(ub − ξ),
where r must have exactly the right sign for a variable without one bound, and be 0 for a free one:
(x̄, y, z) is moved to satisfy this, as x is moved to satisfy Ax = b (see `constraints`).
Infeasible: the lower bound of min 0 is positive, for y and z of the least violation (Farkas).
Unbounded: a direction d with Pd = 0, Ad = 0, Gd ≤ 0, no finite bound in its way, and qᵀd < 0.

Jansson 2004, "Rigorous lower and upper bounds in linear programming"; Jansson, Chaykin & Keil 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import products
from dualgap.problems.dataset import Vector
from dualgap.problems.quadratic.arrays import QPArrays
from dualgap.problems.quadratic.constraints import (
    ACTIVE_RTOL,
    Constraints,
    Interior,
    linear_program,
)
from dualgap.problems.quadratic.eigenvalues import curvature, is_dense, sparse_lu
from dualgap.problems.quadratic.enclosures import least_squares
from dualgap.problems.quadratic.exact_rows import residuals

ACCURATE_GAP = 1e-9  # relative gap below which no better point or multipliers are sought


@dataclass(frozen=True, eq=False)
class ConvexProgram(QPArrays):
    """A convex QP with proven bounds on its optimum."""

    @cached_property
    def constraints(self) -> Constraints:
        """The feasible set."""
        return Constraints(self.A, self.b, self.G, self.h, self.lb, self.ub)

    @cached_property
    def interior(self) -> Interior | None:
        """A feasible point in the relative interior."""
        return self.constraints.interior()

    @cached_property
    def dual_constraints(self) -> Constraints:
        """The constraints on (x̄, y, z) under which r = Px̄ + q + Aᵀy + Gᵀz has the right signs."""
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
            n_moved_first=self.q.size,  # moving x̄ alone needs no matrix denser than P
        )

    def _gradient_rows(self, selected: NDArray[np.bool_]) -> Any:
        """Return the rows of (P, Aᵀ, Gᵀ) for the selected variables."""
        parts = self.P[selected], self.A[:, selected].T, self.G[:, selected].T
        return scipy.sparse.csr_array(scipy.sparse.hstack(parts))

    @cached_property
    def dual_interior(self) -> Interior | None:
        """A point (x̄, y, z) in the relative interior of `dual_constraints`."""
        return self.dual_constraints.interior()

    @cached_property
    def curvature(self) -> Vector:
        """Numbers μ (n,) with P − diag(μ) ⪰ 0, see `eigenvalues.curvature`."""
        return curvature(self.P)

    def value(self, x: Vector) -> Intervals:
        """Return f(x)."""
        return 0.5 * (products(self.P, x) * x).sum() + (Intervals(self.q) * x).sum()

    def upper(self, x: Vector, y: Vector) -> tuple[float, Vector] | None:
        """Return an upper bound on f at an exactly feasible point near `x` (n,), and that point."""
        if self.constraints.contains(x):
            return float(self.value(x).high), x
        at_x, best = float(self.value(x).low), None
        for ball in self.constraints.enclosures(x, lambda: self.interior):
            candidate = self._upper_in(ball, y)
            best = candidate if best is None or candidate[0] < best[0] else best
            if best[0] - at_x <= ACCURATE_GAP * abs(at_x):
                break
        return best

    def _upper_in(self, ball: Intervals, y: Vector) -> tuple[float, Vector]:
        """Return an upper bound on f at the exact solution in a ball, and the ball's centre."""
        centre, radius = ball.mid, np.broadcast_to(ball.rad, ball.mid.shape)
        value = self.value(centre)
        if radius.any():
            gradient = products(self.P, centre) + self.q + products(self.A.T.tocsr(), y)
            slopes = np.maximum(np.abs(gradient.low), np.abs(gradient.high))
            cost = (Intervals(slopes) * radius).sum()
            cost = cost + 0.5 * (products(abs(self.P), radius) * radius).sum()
            value = value + (Intervals(y) * (products(self.A, centre) - self.b)).sum() + cost
        return float(value.high), centre

    def perturbed_sides(self, x: Vector) -> PerturbedSides:
        """Return right-hand sides that `x` (n,) satisfies exactly, and their largest perturbation.

        That is |Ax − b| relative to |A||x| + |b| in each row, the same for Gx ≤ h; lb ≤ x ≤ ub.
        """
        residual, slack = residuals(self.A, x, self.b), residuals(self.G, x, self.h)
        excess: Any = np.maximum(-slack, Intervals(np.zeros(self.h.size)))
        sizes = [np.zeros(1)]
        for M, change, side in (self.A, abs(residual), self.b), (self.G, excess, self.h):
            terms = (abs(M) @ np.abs(x) + np.abs(side)) * (1 - 1e-9)
            with np.errstate(divide="ignore", invalid="ignore"):
                sizes.append(np.where(change.high > 0, change.high / terms, 0.0))
        largest = float(np.concatenate(sizes).max())
        return PerturbedSides(Intervals(self.b) - residual, excess + self.h, largest)

    def nearest(self, x: Vector) -> Vector:
        """Return the point within bounds near `x` (n,) that needs the smallest perturbation of sides.

        A row whose terms are all rounding, or tiny beside those of others, may be violated by all of
        them: its variables are set to their bounds.
        """
        error, best = inf, np.clip(x, self.lb, self.ub)
        for point in self._points_near(x):
            if np.isfinite(point).all():
                new = np.nan_to_num(self.perturbed_sides(point).backward_error, nan=inf)
                error, best = (new, point) if new < error else (error, best)
            if error <= np.finfo(float).eps:
                break
        return best

    def _points_near(self, x: Vector) -> Iterator[Vector]:
        """Yield candidates for `nearest`: with more and more variables at a bound."""
        sets = [self.constraints]
        if self.interior is not None:  # variables that have a single feasible value are given it
            sets.append(self.interior.constraints)
        size, epsilon = float(np.abs(x).max(initial=0.0)), float(np.finfo(float).eps)
        for fraction in (0.0, epsilon, 1e-12, 1e-11, 1e-10):
            for constraints in sets:
                point = constraints.with_fixed(x, fraction * size).nearest(x)
                yield point
                tiny = np.abs(point) <= epsilon * size
                yield np.where(tiny, np.clip(0.0, self.lb, self.ub), point)

    def lower_bounds(
        self, x: Vector, y: Vector, z: Vector, sides: PerturbedSides | None = None
    ) -> Iterator[float]:
        """Yield lower bounds on the optimum from x̄ = `x` (n,), `y` and `z`: one for each ball near them.

        `sides` replace the right-hand sides b and h.
        """
        start = np.concatenate([x, y, np.maximum(z, 0.0)])
        for ball in self.dual_constraints.enclosures(start, lambda: self.dual_interior):
            bound = self._lower_in(ball, x, sides)
            if np.isfinite(bound):
                yield bound

    def _lower_in(self, ball: Intervals, x: Vector, sides: PerturbedSides | None) -> float:
        """Return a lower bound from the dual feasible point in a ball; −inf or NaN if there is none.

        A variable that occurs in P only on the diagonal is set to the minimiser of L within its bounds:
        the cost of moving y is then quadratic in the move, not linear.
        """
        n, me = self.q.size, self.b.size
        x_ball, y_ball, z_ball = ball[:n], ball[n : n + me], ball[n + me :]
        slope = products(self.A.T.tocsr(), y_ball) + products(self.G.T.tocsr(), z_ball) + self.q
        diagonal, entries = self.P.diagonal(), np.diff(self.P.indptr)
        separable = (diagonal > 0) & (entries == 1)
        with np.errstate(over="ignore"):  # if the diagonal entry is tiny
            minimiser = np.where(separable, -slope.mid / np.where(separable, diagonal, 1.0), x)
        xi = np.clip(minimiser, self.lb, self.ub)
        x_ball = Intervals(
            np.where(separable, xi, x_ball.mid), np.where(separable, 0.0, x_ball.rad)
        )
        r = products(self.P, x_ball) + slope
        if not np.isfinite(r.mid + r.rad).all():
            return -inf
        with np.errstate(over="ignore"):  # then ξ is at the bound where r costs nothing
            unlimited = np.isinf(self.ub - self.lb) & np.isfinite(self.lb) & np.isfinite(self.ub)
        xi = np.where(unlimited & (entries == 0), np.where(r.mid > 0, self.lb, self.ub), xi)
        offset = x_ball - xi
        offset = Intervals(np.where(entries, offset.mid, 0.0), np.where(entries, offset.rad, 0.0))
        value = self.value(xi) - 0.5 * (products(self.P, offset) * offset).sum()
        b, h = (self.b, self.h) if sides is None else sides[:2]
        value = value + (y_ball * (products(self.A, xi) - b)).sum()
        value = value + (z_ball * (products(self.G, xi) - h)).sum()
        value = value - Intervals(self._box_cost(r, xi, offset)).sum()
        if (nonconvex := np.flatnonzero(self.curvature < 0)).size:
            ends = np.abs(self.lb - x_ball.mid), np.abs(self.ub - x_ball.mid)
            width = (np.maximum(*ends) + x_ball.rad)[nonconvex]
            if not np.isfinite(width).all():
                return -inf
            cost = (Intervals(-self.curvature[nonconvex]) * width * width).sum()
            value = value - 0.5 * cost * (1 + 1e-12)
        return float(value.low)

    def _box_cost(self, r: Intervals, xi: Vector, offset: Intervals) -> Vector:
        """Return an upper bound on max(0, r(ξ − x) − ½μ(x − x̄)²) over the x within bounds, per variable.

        That is max(r, 0)(ξ − lb) + max(−r, 0)(ub − ξ) without the square and, if μ > 0,
        r²/(2μ) + r(ξ − x̄) for any x. If μ ≤ 0, r has the right sign where a bound is missing.
        """
        curved, linear = self.curvature > 0, np.zeros(xi.size)
        sides = (
            (r.high, Intervals(xi) - self.lb, self.lb),
            (-r.low, Intervals(self.ub) - xi, self.ub),
        )
        with np.errstate(all="ignore"):
            for amount, width, bound in sides:
                selected = np.flatnonzero((amount > 0) & (curved | np.isfinite(bound)))
                cost = (Intervals(amount[selected]) * width[selected]).high
                cost = np.where(np.isnan(cost), inf, cost)
                total = linear[selected] + cost
                inexact = (linear[selected] != 0) & (cost != 0)
                linear[selected] = np.where(inexact, np.nextafter(total, inf), total)
            square = r * r / (2 * np.where(curved, self.curvature, 1.0)) - r * offset
        return np.fmin(linear, np.where(curved, square.high, inf))

    def without_far_bounds(self, x: Vector) -> ConvexProgram | None:
        """Return the relaxation without bounds more than 1000 max|xⱼ| from `x` (n,); None if the same.

        Only variables without proven curvature are affected: there the rounding of r costs the distance
        to a bound, however far away, and nothing if there is no bound.
        """
        reach, flat = 1e3 * float(np.abs(x).max(initial=0.0)), self.curvature <= 0
        with np.errstate(over="ignore"):
            low = flat & np.isfinite(self.lb) & (x - self.lb > reach)
            up = flat & np.isfinite(self.ub) & (self.ub - x > reach)
        if not (low.any() or up.any()):
            return None
        lb, ub = np.where(low, -inf, self.lb), np.where(up, inf, self.ub)
        return replace(self, lb=lb, ub=ub)

    def stationary(self, x: Vector, y: Vector, z: Vector) -> Vector | None:
        """Return x̄ near `x` (n,) with r ≈ 0 for the variables strictly within bounds, if P allows it."""
        inside = self._inside(x) & (self.P.diagonal() > 0)
        if not inside.any():
            return None
        r = (self.P @ x + self.q + self.A.T @ y + self.G.T @ z)[inside]
        block = scipy.sparse.csc_array(self.P[inside][:, inside])
        block = block + 1e-12 * scipy.sparse.diags_array(block.diagonal())  # may be singular
        moved = x.copy()
        try:
            if is_dense(block):
                moved[inside] -= scipy.linalg.cho_solve(scipy.linalg.cho_factor(block.toarray()), r)
            else:
                moved[inside] -= sparse_lu(block).solve(r)
        except (RuntimeError, ValueError, np.linalg.LinAlgError):  # ValueError: r overflows
            return None
        return moved if np.isfinite(moved).all() else None

    def _inside(self, x: Vector) -> NDArray[np.bool_]:
        """Return which variables are strictly within their bounds at `x` (n,)."""
        tolerance = ACTIVE_RTOL * float(np.abs(x).max(initial=0.0))
        return (x - self.lb > tolerance) & (self.ub - x > tolerance)

    def fitted_multipliers(self, x: Vector) -> tuple[Vector, Vector]:
        """Return y and z for which r ≈ 0 strictly within bounds, by least squares.

        Only the rows of G that are active at `x` (n,) get multipliers, clipped to z ≥ 0.
        """
        inside = self._inside(x)
        terms = abs(self.G) @ np.abs(x) + np.abs(self.h)
        active = np.flatnonzero(self.G @ x >= self.h - ACTIVE_RTOL * terms)
        gradient = (self.P @ x + self.q)[inside]
        y, z = np.zeros(self.b.size), np.zeros(self.h.size)
        for _ in range(3):  # each time without the rows whose multipliers were negative
            rows = scipy.sparse.vstack([self.A, self.G[active]], format="csr")
            solution = least_squares(rows[:, inside], -gradient)
            y, z[:] = solution[: y.size], 0.0
            z[active] = solution[y.size :]
            if (z >= 0).all():
                break
            active = active[z[active] > 0]
        return y, np.maximum(z, 0.0)

    def multipliers(self, x: Vector) -> Iterator[tuple[Vector, Vector, Vector]]:
        """Yield x̄, y and z of the linear program min ∇f(x̄)ᵀu near x̄: at x, then two steps further.

        An error in Px makes another vertex u better than x, which costs a bound the first order of the
        error. The step to the best point on the line to u corrects it (Frank & Wolfe 1956).
        """
        for _ in range(3):
            reach, gradient = np.maximum(1.0, np.abs(x)), self.P @ x + self.q
            neighbourhood = replace(
                self.constraints,
                lb=np.maximum(self.lb, x - reach),
                ub=np.minimum(self.ub, x + reach),
            )
            solution = linear_program(gradient, neighbourhood)
            if solution is None:
                return
            yield x, *_multipliers_of(solution, self)
            step = solution.x - x
            slope, curve = float(gradient @ step), float(step @ (self.P @ step))
            if not slope < 0:
                return
            x = x + (min(1.0, -slope / curve) if curve > 0 else 1.0) * step

    @cached_property
    def is_infeasible(self) -> bool:
        """Whether it is proven that no point is feasible."""
        multipliers = self._least_violation()
        if multipliers is None:
            return False
        n = self.q.size
        empty = scipy.sparse.csr_array((n, n))
        feasibility = replace(self, P=empty, q=np.zeros(n))
        x = np.clip(np.zeros(n), self.lb, self.ub)
        return next(feasibility.lower_bounds(x, *multipliers), -inf) > 0

    def _least_violation(self) -> tuple[Vector, Vector] | None:
        """Return the multipliers of min Σ|violation| within the bounds; None if that is 0."""
        n, me, mi = self.q.size, self.b.size, self.h.size
        eye, csr = scipy.sparse.eye_array, scipy.sparse.csr_array
        A = scipy.sparse.hstack([self.A, eye(me), -eye(me), csr((me, mi))])
        G = scipy.sparse.hstack([self.G, csr((mi, 2 * me)), -eye(mi)])
        slack = 2 * me + mi
        elastic = Constraints(
            csr(A),
            self.b,
            csr(G),
            self.h,
            np.concatenate([self.lb, np.zeros(slack)]),
            np.concatenate([self.ub, np.full(slack, inf)]),
        )
        solution = linear_program(np.concatenate([np.zeros(n), np.ones(slack)]), elastic)
        return None if solution is None or not solution.fun > 0 else _multipliers_of(solution, self)

    @cached_property
    def is_unbounded(self) -> bool:
        """Whether it is proven that f is unbounded below along a direction from any feasible point."""
        lb = np.where(np.isfinite(self.lb), 0.0, -1.0)
        ub = np.where(np.isfinite(self.ub), 0.0, 1.0)
        A = scipy.sparse.csr_array(scipy.sparse.vstack([self.P, self.A]))
        cone = Constraints(A, np.zeros(A.shape[0]), self.G, np.zeros(self.h.size), lb, ub)
        solution = linear_program(self.q, cone)
        if solution is None or not solution.fun < 0:
            return False
        # without the limits ±1, which only normalise the direction
        cone = replace(cone, lb=np.where(lb, -inf, 0.0), ub=np.where(ub, inf, 0.0))
        ball = cone.enclosure(solution.x, cone.interior)
        return ball is not None and float((ball * self.q).sum().high) < 0


def _multipliers_of(solution: Any, program: ConvexProgram) -> tuple[Vector, Vector]:
    """Return y and z from SciPy's solution of a linear program."""
    y = -solution.eqlin.marginals if program.b.size else np.zeros(0)
    z = -solution.ineqlin.marginals if program.h.size else np.zeros(0)
    return np.asarray(y), np.maximum(z, 0.0)


class PerturbedSides(NamedTuple):
    """Enclosures of perturbed right-hand sides, and the perturbation relative to the rows' terms."""

    b: Intervals
    h: Intervals
    backward_error: float
