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
from math import inf, nextafter
from typing import Any, NamedTuple

import numpy as np
import scipy

from problems.arithmetic import Intervals
from problems.arithmetic.binary_scaling import exponent_to_one, row_exponents, scaled_rows
from problems.arithmetic.rational import is_semidefinite
from problems.arithmetic.rounding import products
from problems.certificates.enclosures import (
    Constraints,
    Interior,
    linear_program,
    smallest_eigenvalue,
)
from problems.dataset import Indices, Vector

_ACCURATE = 1e-9  # relative gap above which multipliers of our own are tried as well
_EXACT = 60  # rows up to which a matrix that may be singular is examined in rationals
_LARGE = 200_000  # entries of all matrices up to which a linear program takes seconds


class NotConvex(ValueError):
    """P has a negative eigenvalue, or none of the proofs that it has none succeeds."""


@dataclass(frozen=True, eq=False)
class Program:
    """The arrays of a convex QP: P, G and A are CSR, with 0 rows for none; infinite bounds are none."""

    P: Any
    q: Vector
    G: Any
    h: Vector
    A: Any
    b: Vector
    lb: Vector
    ub: Vector

    @property
    def size(self) -> int:
        """How many entries the matrices have."""
        return self.P.nnz + self.G.nnz + self.A.nnz

    @cached_property
    def normalised(self) -> Normalised:
        """The same program with P, q and each row brought to a size of about 1."""
        largest = max(float(np.abs(v).max(initial=0.0)) for v in (self.P.data, self.q))
        cost = exponent_to_one(largest, self.P.data, self.q)
        of_G, of_A = row_exponents(self.G, self.h), row_exponents(self.A, self.b)
        program = replace(
            self,
            P=scaled_rows(self.P, np.full(self.q.size, cost)),
            q=np.ldexp(self.q, cost),
            G=scaled_rows(self.G, of_G),
            h=np.ldexp(self.h, of_G),
            A=scaled_rows(self.A, of_A),
            b=np.ldexp(self.b, of_A),
        )
        return Normalised(program, cost, of_G, of_A)

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
        gradient = scipy.sparse.csr_array(scipy.sparse.hstack([self.P, self.A.T, self.G.T]))
        lower, upper = np.isfinite(self.lb), np.isfinite(self.ub)
        free, below, above = ~lower & ~upper, lower & ~upper, upper & ~lower
        low = np.full(gradient.shape[1], -inf)
        low[self.q.size + self.b.size :] = 0.0
        return Constraints(
            gradient[free],
            -self.q[free],
            scipy.sparse.csr_array(scipy.sparse.vstack([-gradient[below], gradient[above]])),
            np.concatenate([self.q[below], -self.q[above]]),
            low,
            np.full(low.size, inf),
            first=self.q.size,  # along x̄ alone no matrix is denser than P
        )

    @cached_property
    def dual_interior(self) -> Interior | None:
        """Multipliers with room."""
        return self.dual_constraints.interior()

    @cached_property
    def separable(self) -> tuple[Any, Vector]:
        """Whether a variable has both bounds and but a diagonal entry in P (n,), and the diagonal."""
        diagonal, boxed = self.P.diagonal(), np.isfinite(self.ub) & np.isfinite(self.lb)
        return boxed & (diagonal > 0) & (np.diff(self.P.indptr) == 1), diagonal

    @cached_property
    def shift(self) -> Vector:
        """Numbers δ (n,) with P + diag(δ) ⪰ 0, proven: 0 where P's block of the variable is.

        They are at most 1e-10 of P, and bounds of the variables absorb them, whether P is convex or not.

        Raises
        ------
        NotConvex
            If P has a smaller eigenvalue; or has none as far as is known, which is not proven.
        """
        count, label = scipy.sparse.csgraph.connected_components(self.P, directed=False)
        sizes, diagonal = np.bincount(label, minlength=count), self.P.diagonal()
        shift = np.zeros(self.q.size)
        if (diagonal < 0).any():
            at = int(np.argmin(diagonal))
            raise NotConvex(f"P is indefinite: entry ({at}, {at}) is {diagonal[at]:.3g}")
        for block in np.flatnonzero(sizes > 1).tolist():
            inside = np.flatnonzero(label == block)
            part = scipy.sparse.csc_array(self.P[inside][:, inside])
            least = smallest_eigenvalue(part)
            small = part.shape[0] <= _EXACT
            if least >= 0 or (small and is_semidefinite(part.toarray())):
                continue
            if np.isfinite(least):  # as of FᵀF, whose rounding may make it indefinite
                shift[inside] = -least
            elif small or self._is_indefinite(part):
                raise NotConvex("P is indefinite: it has a negative eigenvalue, proven")
            else:
                raise NotConvex("P ⪰ 0 is not proven: its smallest eigenvalue is not resolved")
        return shift

    @staticmethod
    def _is_indefinite(block: Any) -> bool:
        """Return whether a vector is found with vᵀPv < 0 in all of its rounding."""
        from scipy.sparse.linalg import ArpackError, eigsh  # noqa: PLC0415 - slow to import

        try:
            if block.shape[0] <= 1000:
                v = np.linalg.eigh(block.toarray())[1][:, 0]
            else:
                start = np.random.default_rng(0).standard_normal(block.shape[0])
                v = eigsh(block, k=1, which="SA", v0=start, maxiter=1000)[1][:, 0]
        except (ArpackError, np.linalg.LinAlgError):
            return False
        return float((products(scipy.sparse.csr_array(block), v) * v).sum().high) < 0

    def value(self, x: Vector) -> Intervals:
        """Return f(x)."""
        return 0.5 * (products(self.P, x) * x).sum() + (Intervals(self.q) * x).sum()

    def upper(self, x: Vector, y: Vector) -> tuple[float, Vector] | None:
        """Return f at an exactly feasible point near `x` (n,), and that point to float64."""
        here, best = float(self.value(x).low), None
        for ball in self.constraints.enclosures(x, lambda: self.interior):
            found = self._above(ball, y)
            best = found if best is None or found[0] < best[0] else best
            if best[0] - here <= _ACCURATE * abs(here):
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

    def lower(self, x: Vector, y: Vector, z: Vector) -> float:
        """Return a bound below the optimum from x̄ = `x` (n,), `y` and `z`; −inf if there is none.

        A variable with both bounds, of which P has its diagonal entry alone, is where L is least within
        these: what y was moved by costs a square then, and not a multiple.
        """
        shift, n, me = self.shift, self.q.size, self.b.size
        start = np.concatenate([x, y, np.maximum(z, 0.0)])
        ball = self.dual_constraints.enclosure(start, lambda: self.dual_interior)
        if ball is None:
            return -inf
        x_ball, y_ball, z_ball = ball[:n], ball[n : n + me], ball[n + me :]
        slope = products(self.A.T.tocsr(), y_ball) + products(self.G.T.tocsr(), z_ball) + self.q
        alone, diagonal = self.separable
        with np.errstate(over="ignore"):  # of an entry that is all but 0
            least = np.where(alone, -slope.mid / np.where(alone, diagonal, 1.0), x)
        xi = np.clip(least, self.lb, self.ub)
        x_ball = Intervals(np.where(alone, xi, x_ball.mid), np.where(alone, 0.0, x_ball.rad))
        r = products(self.P, x_ball) + slope
        # where ub − lb overflows, ξ is at the end that r leaves no cost at
        with np.errstate(over="ignore"):
            vast = np.isinf(self.ub - self.lb) & np.isfinite(self.lb) & np.isfinite(self.ub)
        xi = np.where(vast & ~alone, np.where(r.mid > 0, self.lb, self.ub), xi)
        off = x_ball - xi
        off = Intervals(
            *(np.where(np.diff(self.P.indptr), part, 0.0) for part in (off.mid, off.rad))
        )
        value = self.value(xi) - 0.5 * (products(self.P, off) * off).sum()
        value = value + (y_ball * (products(self.A, xi) - self.b)).sum()
        value = value - (z_ball * (Intervals(self.h) - products(self.G, xi))).sum()
        value = value - _sign_cost(np.maximum(r.high, 0.0), Intervals(xi) - self.lb, self.lb)
        value = value - _sign_cost(np.maximum(-r.low, 0.0), Intervals(self.ub) - xi, self.ub)
        if shift.any():
            moved = np.flatnonzero(shift)
            ends = np.abs(self.lb - x_ball.mid), np.abs(self.ub - x_ball.mid)
            width = (np.maximum(*ends) + x_ball.rad)[moved]
            if not np.isfinite(width).all():
                return -inf
            value = value - 0.5 * (Intervals(shift[moved]) * width * width).sum() * (1 + 1e-12)
        return float(value.low) if np.isfinite(value.low) else -inf

    def multipliers(self, x: Vector) -> tuple[Vector, Vector] | None:
        """Return y and z that suit x: those of the linear program min ∇f(x)ᵀu near x."""
        if self.size > _LARGE:
            return None
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


def _sign_cost(amount: Vector, distance: Intervals, bound: Vector) -> Intervals:
    """Return Σ amount·distance to the bounds that are finite.

    Of a variable that lacks a bound r has the right sign in the solution that is enclosed.
    """
    counted = np.flatnonzero(np.isfinite(bound) & (amount != 0))
    return (Intervals(amount[counted]) * distance[counted]).sum()


class Normalised(NamedTuple):
    """A program with f times 2^cost, and its rows times 2^of_G and 2^of_A, exactly."""

    program: Program
    cost: int
    of_G: Indices
    of_A: Indices

    def multipliers(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return what y and z of the original are here."""
        return np.ldexp(y, self.cost - self.of_A), np.ldexp(z, self.cost - self.of_G)

    def original_multipliers(self, y: Vector, z: Vector) -> tuple[Vector, Vector]:
        """Return what y and z are in the original."""
        return np.ldexp(y, self.of_A - self.cost), np.ldexp(z, self.of_G - self.cost)

    def original_value(self, value: float, outward: float) -> float:
        """Return a value of f in the original's unit, rounded `outward`: to −inf or inf."""
        with np.errstate(over="ignore", under="ignore"):
            original = float(np.ldexp(value, -self.cost))
            exact = float(np.ldexp(original, self.cost)) == value
        return original if exact or np.isnan(value) else nextafter(original, outward)
