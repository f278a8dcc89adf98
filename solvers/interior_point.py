"""Mehrotra's predictor-corrector method on the dual of a support vector machine.

    min ½xᵀQx + pᵀx   s.t. A x = delta, lb ≤ x ≤ ub

With the distances s > 0 from the bounds, their multipliers z > 0 and those ν of the equalities, x is
optimal where Qx + p + Aᵀν − z_low + z_up = 0, A x = delta and s∘z = 0. Newton's step towards s∘z = m is

    (Q + D) dx + Aᵀdν = −(Qx + p + Aᵀν − z_low + z_up) + (c/s)_low − (c/s)_up,   A dx = delta − A x,
    ds_low = dx,   ds_up = −dx,   dz = (c − z∘ds)/s,   c = m − s∘z,   D = (z/s)_low + (z/s)_up,

with the few equalities as a border of Q + D. With one factorisation of it, each iteration makes
    a predictor step, m = 0;
    a corrector step, m = σμ − ds∘dz with μ the mean of s∘z, σ the cube of the fraction of μ that the
        predictor step would leave (Mehrotra 1992);
    and if that is short, a step that brings the s∘z of a longer step back into [σμ/10, 10σμ]
        (Gondzio 1996), which saves a tenth of the iterations.

It solves with K + diag(e), for the linear kernel through products of low rank (Fine & Scheinberg 2001),
see `numerics.shifted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import Block
from dualgap.solvers.base import GAP_FRACTION, TARGET_GAP
from dualgap.solvers.needs import CONVEX, Need
from dualgap.solvers.numerics.claims import NO_MARGIN
from dualgap.solvers.numerics.projected_cg import Apply
from dualgap.solvers.numerics.quadratic import MAX_CLAIMED_RESIDUAL, ConvexQPSolver
from dualgap.solvers.numerics.shifted import MAX_SHIFT, shifted_gram


class Iterate(NamedTuple):
    """An iterate or a step: x (n,), nu (groups,), s and z (2, n) of the lower and upper bounds."""

    x: Vector
    nu: Vector
    s: Block
    z: Block

    def moved(self, step: Iterate, length: float) -> Iterate:
        """Return the iterate after a step of this length."""
        return Iterate(*(value + length * d for value, d in zip(self, step, strict=True)))

    def longest(self, step: Iterate) -> float:
        """Return the largest length, at most 1, that keeps all s and z nonnegative."""
        ratios = -step.s / self.s, -step.z / np.where(self.z > 0, self.z, 1.0)
        return 1 / max(1.0, *(float(ratio.max()) for ratio in ratios))


@dataclass(frozen=True)
class InteriorPoint(ConvexQPSolver):
    """Few iterations, each with one factorisation of a kernel matrix plus a diagonal.

    Primal problems are solved through their duals. In one run on RBF duals of 2000 samples it took half
    to three quarters of the time of PIQP, which does not exploit the structure of Q; two thirds of the
    0.6 s for a gap of 1e-8 were Cholesky factorisations.

    Attributes
    ----------
    tol : limit at which it stops, on the gap relative to the objective, the violation of equalities
        relative to ‖x‖₁, and gradients of one-sided variables with the wrong sign relative to max |p|.
    max_iter : iterations after which it stops without a claim.
    """

    tol: float | None = None
    max_iter: int = 100

    form: ClassVar = BoxQP
    needs: ClassVar = (
        Need(
            "a bound for every variable, as it starts between bounds",
            lambda form, _: (np.isfinite(form.lb) | np.isfinite(form.ub)).all(),
        ),
        CONVEX,
    )
    tol_share: ClassVar = GAP_FRACTION
    source: ClassVar[str] = "Mehrotra 1992; Gondzio 1996; Fine & Scheinberg 2001"

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield the best point so far before each iteration, and at the end."""
        yield from Threads().with_one_blas_thread(self._iterates(form))

    def _iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        program = BoxProgram(form, self.tolerance)
        point = program.first_point()
        answer, best, stalled = point.x, np.inf, 0
        for count in range(self.max_iter + 1):
            residuals, mu, error = program.residuals(point)
            # iterations without progress count once the error is below one half
            stalled = 0 if error < best or error > 0.5 else stalled + 1
            if error < best:
                answer, best = point.x, error
            claim: Claim = "optimal" if error <= self.tolerance else "stopped"
            is_ray = claim == "stopped" and program.is_ray(point.x, self.tolerance)
            answer, note = (point.x, NO_MARGIN) if is_ray else (answer, "")
            yield FormPoint(answer, iterations=count, claim=claim, note=note)
            if claim != "stopped" or is_ray or stalled == 10:
                return
            try:
                point = advance(point, mu, program.newton(point, *residuals))
            # no variable can move, or the factorisation failed
            except (ArithmeticError, np.linalg.LinAlgError):
                return


def advance(point: Iterate, mu: float, newton: Callable[[Block], Iterate]) -> Iterate:
    """Return the next iterate; `newton` is m ↦ step."""
    step = newton(np.zeros_like(point.z))
    after = point.moved(step, point.longest(step))
    centre = mu * (float((after.s * after.z).sum()) / float((point.s * point.z).sum())) ** 3
    products = centre - step.s * step.z
    step = newton(products)
    fraction = 0.99  # of the way to the nearest bound
    length = fraction * point.longest(step)
    # correct a short step again, aiming at a longer one
    if length < 0.9:
        further = point.moved(step, min(1.0, length + 0.3))
        complementarity = further.s * further.z
        target = np.clip(complementarity, 0.1 * centre, 10 * centre)
        corrected = newton(products + np.maximum(target - complementarity, -10 * centre))
        if (longer := fraction * point.longest(corrected)) > length:
            step, length = corrected, longer
    return point.moved(step, length)


class BoxProgram:
    """A box QP whose Q is K with the signs `T`, (1, n), or (2, n) for two variables a sample.

    `sign` (2, n) is 1 for a lower bound, −1 for an upper one, and 0 without `has_room`: s is 1, z 0.
    """

    def __init__(self, form: BoxQP, tol: float = GAP_FRACTION * TARGET_GAP) -> None:
        gram, (rows, _) = form.gram, form.equality_rows()
        self.tol, self.form, self.K = tol, form, shifted_gram(gram)
        self.T = form.Q.sign.reshape(-1, gram.n)
        self.A = np.zeros((0, form.n)) if rows is None else rows.toarray()
        self.bounded = np.isfinite([form.lb, form.ub])
        self.has_room = self.bounded & (form.lb < form.ub)
        self.sign = np.where(self.has_room, [[1.0], [-1.0]], 0.0)
        self.largest = float(gram.diagonal().max()) or 1.0
        self.cost = float(np.abs(form.p).max()) or 1.0

    def product(self, x: Vector) -> Vector:
        """Return Q x."""
        v = (self.T * x.reshape(self.T.shape)).sum(axis=0)
        return (self.T * self.K.product(v)).ravel()

    def first_point(self) -> Iterate:
        """Return the best point on the line to the middle of the box, and z without dual residual."""
        form, two_sided = self.form, self.bounded.all(axis=0)
        corner = np.where(self.bounded[0], form.lb, form.ub)
        way = np.where(self.bounded[0], 0.5, -0.5) * np.where(two_sided, form.ub - form.lb, 2.0)
        descent, curvature = -float(way @ form.p), float(way @ self.product(way))
        length = descent / curvature if descent > 0 and curvature > 0 else 1.0
        x = corner + np.where(two_sided, min(1.0, length), length) * way
        s = np.where(self.has_room, [x - form.lb, form.ub - x], 1.0)
        g = self.product(x) + form.p
        # a coarse `tol` allows no larger absolute gap than the default, as the optimum may be near 0
        self.unit = self._gap_unit(x, g) * min(1.0, GAP_FRACTION * TARGET_GAP / self.tol)
        nu = -(self.A @ g) / np.maximum((self.A**2).sum(axis=1), np.finfo(float).tiny)
        r = g + nu @ self.A
        z = (self.sign * r + np.hypot(r, 2 * np.abs(r).mean() or self.cost)) / 2
        return Iterate(x, nu, s, np.where(self.has_room, z, 0.0))

    def _gap_unit(self, x: Vector, g: Vector) -> float:
        """Return the absolute gap per unit of `tol`, for an optimum of 0; `x` is the start.

        It is relative to p²/Q; without p to xᵀQx or to the variance of the samples, which constant
        features do not change. If 0 is feasible, it is 0 unless 0 is optimal up to rounding, as other
        optima may be far below it. A certificate counts 2⁻³⁰ of the costs as 0.
        """
        form, width = self.form, self.form.ub - self.form.lb
        if not form.p.any():
            total, n = float(np.abs(form.delta).sum()), form.gram.n
            mean = float(self.K.product(np.ones(n)).mean()) / n
            variance = max(0.0, float(form.gram.diagonal().mean()) - mean)
            return 1e-6 * (variance * total**2 / n if total else abs(float(x @ g)))
        unit = 1e-6 * self.cost * min(self.cost / self.largest, float(width.max()))
        if form.delta.any() or (form.lb > 0).any() or (form.ub < 0).any():
            return unit
        if form.violating_pair(form.p, np.zeros(form.n)) > 2.0**-31 * self.cost:
            return 0.0
        costs = np.multiply(np.abs(form.p), width, out=np.zeros(form.n), where=form.p != 0)
        return min(unit, 2.0**-31 * float(costs.sum()))

    def residuals(self, point: Iterate) -> tuple[tuple[Vector, Vector], float, float]:
        """Return the dual and equality residuals, μ, and the error that `tol` limits."""
        product = self.product(point.x)
        gradient = product + self.form.p + point.nu @ self.A
        residual = self.A @ point.x - self.form.delta
        sides = self.sign * gradient
        value = float(point.x @ (0.5 * product + self.form.p))
        gap = float((point.s * np.maximum(sides, 0.0)).sum() + np.abs(point.nu * residual).sum())
        size = float(np.abs(point.x).sum())
        wrong_sign = float((-sides.sum(axis=0)).max()) / self.cost
        eps = float(np.finfo(float).eps)
        rounding = eps * np.sqrt(point.x.size) * self.largest * size / self.cost
        errors = (
            gap / (max(abs(value), abs(value - gap)) + self.unit) if gap else 0.0,
            wrong_sign if wrong_sign > min(rounding, MAX_CLAIMED_RESIDUAL) else 0.0,
            float(np.abs(residual).max(initial=0.0)) / (size or 1.0),
        )
        mu = float((point.s * point.z).sum()) / max(1, np.count_nonzero(self.sign))
        return (gradient - (self.sign * point.z).sum(axis=0), residual), mu, max(errors)

    def is_ray(self, x: Vector, tol: float) -> bool:
        """Whether the objective is unbounded along x: Q x = 0, A x = 0, and x meets no bound.

        With x scaled to unit descent, xᵀQx is the square of a margin, which `tol` limits.
        """
        descent = -float(self.form.p @ x)
        if self.bounded.all() or not descent > 0:
            return False
        u = x / descent
        blocked = u[self.bounded[0] & (u < 0) | self.bounded[1] & (u > 0)]
        # ‖u‖₁ is 1 for a dual; with costs of 1e11 all of u is small without being zero
        tolerance = tol * min(1.0, float(np.abs(u).sum()))
        violation = float(np.abs(np.concatenate([blocked, self.A @ u])).max(initial=0.0))
        margin2 = float(u @ self.product(u))
        rounding = 100 * float(np.finfo(float).eps)
        return violation <= tolerance and margin2 <= max(tol**2, rounding) * self.largest

    def newton(self, point: Iterate, dual: Vector, residual: Vector) -> Callable[[Block], Iterate]:
        """Return the function m ↦ Newton's step towards s∘z = m."""
        fixed = MAX_SHIFT * self.largest * ~self.has_room.any(axis=0)
        solve = self._factor((np.abs(self.sign) * point.z / point.s).sum(axis=0) + fixed)
        border = np.array([solve(a) for a in self.A]).reshape(self.A.shape)

        def step(products: Block) -> Iterate:
            c = np.where(self.has_room, products - point.s * point.z, 0.0)
            x = solve((self.sign * c / point.s).sum(axis=0) - dual)
            nu = np.linalg.solve(self.A @ border.T, self.A @ x + residual).astype(np.float64)
            x = x - nu @ border
            s = self.sign * x
            return Iterate(x, nu, s, (c - point.z * s) / point.s)

        return step

    def _factor(self, D: Vector) -> Apply:
        """Return the function r ↦ (Q + diag(D))⁻¹ r, without differences of large numbers.

        For two variables a sample, with signs T and −T, r₁ and r₂ times these, and v = Σ Tx,
        (K + diag(e)) v = (D₂r₁ + D₁r₂)/(D₁ + D₂),  e = D₁D₂/(D₁ + D₂),
        x₁ = T (D₂v + r₁ − r₂)/(D₁ + D₂),  x₂ = −T (D₁v + r₂ − r₁)/(D₁ + D₂).
        """
        T, D = self.T, D.reshape(self.T.shape)
        total = D.sum(axis=0)
        fraction = D[::-1] / total  # 1 for a single variable
        solve_shifted = self.K.factor(D[0] * fraction[0])

        def solve(r: Vector) -> Vector:
            signed = T * r.reshape(T.shape)
            v = solve_shifted((fraction * signed).sum(axis=0))
            return (T * (fraction * v + (signed - signed[::-1]) / total)).ravel()

        return solve
