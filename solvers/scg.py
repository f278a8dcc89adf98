"""Møller's scaled conjugate gradient on the dual's augmented Lagrangian.

    min ½xᵀQx + pᵀx  s.t. Ax = delta, lb ≤ x ≤ ub,   a row of A for each group

SCG handles no constraints. They become penalties with multipliers ν, l, u (Hestenes 1969, Powell 1969):
    L(x) = ½xᵀQx + pᵀx + νᵀ(Ax − delta) + ½μ‖Ax − delta‖²
           + (1/2μ) Σ max(0, lᵢ + μ(lbᵢ − xᵢ))² + (1/2μ) Σ max(0, uᵢ + μ(xᵢ − ubᵢ))²
minimised in x by SCG, after which ν ← ν + μ(Ax − delta), l ← max(0, l + μ(lb − x)), same for u,
until nothing is violated; without multipliers μ would have to grow without bound.

SCG (Møller 1993) is a nonlinear conjugate gradient method without a line search: a step along the
direction d is gᵀd/(dᵀHd + λ‖d‖²), with Hd from a difference of two gradients, and λ adapts to how well
the quadratic model predicted the decrease, as in the Levenberg–Marquardt method.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import CONVEX, DENSE
from dualgap.solvers.numerics.claims import has_small_gap

Function = Callable[[Vector], tuple[float, Vector]]


class Progress(NamedTuple):
    """State of a minimisation: the point, the iterations so far, and whether it has converged."""

    x: Vector
    iterations: int
    converged: bool


@dataclass(frozen=True)
class SCG(Solver):
    """Scaled conjugate gradient for any box QP whose matrix fits in memory.

    Attributes
    ----------
    tol : largest entry of the Lagrangian's gradient, relative to that of p, and largest violation of a
        constraint, relative to that of x, at which it stops.
    max_iter : limit on the total iterations of SCG, each of two gradients.
    """

    tol: float | None = None
    max_iter: int = 50_000

    form: ClassVar = BoxQP
    needs: ClassVar = (DENSE, CONVEX)
    source: ClassVar[str] = "Møller 1993; Hestenes 1969; Anderson's notes"

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield within and after each minimisation of the Lagrangian, made feasible."""
        lagrangian = _Lagrangian(form)
        x = np.zeros(form.n) if form.start is None else form.start.copy()
        spent, last_violation = 0, np.inf
        accuracy = self.tolerance * max(1.0, float(np.abs(form.p).max()))
        claim: Claim = "none"
        while claim == "none":
            progress = Progress(x, 0, False)
            for progress in minimise(lagrangian, x, accuracy, self.max_iter - spent):
                yield FormPoint(form.project(progress.x), iterations=spent + progress.iterations)
            x, spent = progress.x, spent + progress.iterations
            violation = lagrangian.update(x)
            if progress.converged and violation <= self.tolerance * float(np.abs(x).max()):
                feasible = form.project(x)
                optimal = has_small_gap(form, feasible, lagrangian.Q @ feasible + form.p)
                claim = "optimal" if optimal else "stopped"
            elif spent >= self.max_iter:
                claim = "stopped"
            elif violation > 0.25 * last_violation:
                lagrangian.mu *= 10.0
            last_violation = violation
        yield FormPoint(form.project(x), iterations=spent, claim=claim)


class _Lagrangian:
    """L(x) and its gradient for the current multipliers and μ."""

    def __init__(self, form: BoxQP) -> None:
        self.form, self.Q = form, form.Q.dense()
        self.mu = max(1.0, float(np.trace(self.Q)) / form.n)
        self.nu = np.zeros(form.delta.size)
        self.lower, self.upper = np.zeros(form.n), np.zeros(form.n)

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        form, mu = self.form, self.mu
        Qx = self.Q @ x
        below = np.maximum(0.0, self.lower + mu * (form.lb - x))
        above = np.maximum(0.0, self.upper + mu * (x - form.ub))
        penalty = float(below @ below + above @ above) / (2 * mu)
        value = 0.5 * float(x @ Qx) + float(form.p @ x) + penalty
        gradient = Qx + form.p - below + above
        for k, (i, a, delta) in enumerate(form.equalities):
            residual = float(a @ x[i]) - delta
            value += self.nu[k] * residual + 0.5 * mu * residual**2
            gradient[i] += (self.nu[k] + mu * residual) * a
        return value, gradient

    def update(self, x: Vector) -> float:
        """Update the multipliers at x; return the largest violation of a constraint."""
        form = self.form
        violation = float(np.abs(x - np.clip(x, form.lb, form.ub)).max())
        self.lower = np.maximum(0.0, self.lower + self.mu * (form.lb - x))
        self.upper = np.maximum(0.0, self.upper + self.mu * (x - form.ub))
        for k, (i, a, delta) in enumerate(form.equalities):
            residual = float(a @ x[i]) - delta
            self.nu[k] += self.mu * residual
            violation = max(violation, abs(residual))
        return violation


def minimise(f: Function, x: Vector, tol: float, max_iter: int) -> Iterator[Progress]:
    """Minimise a smooth function by scaled conjugate gradients, yielding its progress.

    It stops once every entry of the gradient is at most `tol` in size, or after `max_iter` iterations.
    `f` returns the value and the gradient (n,).
    """
    value, gradient = f(x)
    r = -gradient
    # as in Møller 1993
    d, lam, lifted, success = r.copy(), 1e-6, 0.0, True
    curvature = 0.0
    for k in range(max_iter):
        if float(np.abs(r).max()) <= tol:
            yield Progress(x, k, True)
            return
        norm_squared = float(d @ d)
        if success:
            # length of the step for the difference Hd, as in Møller 1993
            sigma = 1e-4 / np.sqrt(norm_squared)
            curvature = float(d @ (f(x + sigma * d)[1] + r)) / sigma
        curvature += (lam - lifted) * norm_squared
        if curvature <= 0:  # make the model convex
            lifted = 2.0 * (lam - curvature / norm_squared)
            curvature, lam = -curvature + lam * norm_squared, lifted
        step = float(d @ r) / curvature
        new, new_gradient = f(x + step * d)
        gain = value - new
        # a smaller difference would be mostly rounding: compute it from the gradients at both ends of
        # the step, to second order (Hager & Zhang 2005)
        if abs(gain) <= 1e-6 * abs(value):
            gain = 0.5 * step * float(d @ (r - new_gradient))
        agreement = 2.0 * curvature * gain / float(d @ r) ** 2
        success = agreement >= 0
        if success:
            x, value, old, r = x + step * d, new, r, -new_gradient
            lifted = 0.0
            restarts = (k + 1) % x.size == 0
            d = r.copy() if restarts else r + (float(r @ r) - float(r @ old)) / float(d @ old) * d
            if agreement >= 0.75:
                lam = max(0.25 * lam, 1e-15)
        else:
            lifted = lam
        if agreement < 0.25:
            lam = min(lam + curvature * (1 - agreement) / norm_squared, 1e100)
        # yield now and then
        if (k + 1) % 50 == 0:
            yield Progress(x, k + 1, False)
    yield Progress(x, max_iter, False)
