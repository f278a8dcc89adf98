"""Møller's scaled conjugate gradient on the dual's augmented Lagrangian.

    min ½xᵀQx + pᵀx  s.t. Ax = delta, lb ≤ x ≤ ub,   a row of A for each group

SCG knows no constraints. They become penalties with multipliers ν, l, u (Hestenes 1969, Powell 1969):
    L(x) = ½xᵀQx + pᵀx + νᵀ(Ax − delta) + ½μ‖Ax − delta‖²
           + (1/2μ) Σ max(0, lᵢ + μ(lbᵢ − xᵢ))² + (1/2μ) Σ max(0, uᵢ + μ(xᵢ − ubᵢ))²
minimised in x by SCG, after which ν ← ν + μ(Ax − delta), l ← max(0, l + μ(lb − x)) and u likewise,
until nothing is violated; without multipliers μ would have to grow beyond all bounds.

SCG (Møller 1993) is the conjugate gradient method for functions that are not quadratic, without a line
search: a step along the direction d is gᵀd/(dᵀHd + λ‖d‖²), with Hd from a difference of two gradients,
and λ rises and falls with how well the quadratic model foretold the decrease, as in Levenberg and
Marquardt's method.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.semidefinite import is_positive_semidefinite
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.claims import is_near

_SIGMA = 1e-4  # size of the step that Hd is measured with, Møller's own
_LAMBDA, _LEAST, _MOST = 1e-6, 1e-15, 1e100
_GROWTH = 10.0  # of μ where an outer iteration leaves more than a quarter of the violation
# Relative change of f below which it is taken from the gradients at both ends of the step, to second
# order: the difference of two values would be rounding (Hager & Zhang 2005).
_ROUNDED = 1e-6
_BLOCK = 50  # iterations between two yields

Function = Callable[[Vector], tuple[float, Vector]]


class Progress(NamedTuple):
    """Where a minimisation is: x, after so many iterations, and whether it has converged."""

    x: Vector
    iterations: int
    converged: bool


@dataclass(frozen=True)
class SCG(Solver):
    """Scaled conjugate gradient for any box QP whose matrix fits in memory.

    Attributes
    ----------
    tol : largest violation of a constraint, and of the Lagrangian's gradient, at which it stops;
        relative to the largest entry of p and the size of x.
    max_iter : iterations of SCG in all, each of two gradients.
    """

    tol: float | None = None
    max_iter: int = 50_000

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Møller 1993; Hestenes 1969; Anderson's notes"

    def refuses(self, form: BoxQP) -> str | None:
        """Each iteration multiplies by the whole Q."""
        if not form.Q.fits:
            return f"SCG works on the whole matrix Q, which for {form.n} variables does not fit"
        if not is_positive_semidefinite(form.gram):
            return (
                "SCG needs a positive semidefinite kernel: penalties leave an indefinite dual open"
            )
        return None

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield within and after each minimisation of the Lagrangian, projected onto the box."""
        lagrangian = _Lagrangian(form)
        x = np.zeros(form.n) if form.start is None else form.start.copy()
        spent, before = 0, np.inf
        accuracy = self.tolerance * max(1.0, float(np.abs(form.p).max()))
        claim: Claim = "none"
        while claim == "none":
            now = Progress(x, 0, False)
            for now in minimise(lagrangian, x, accuracy, self.max_iter - spent):
                yield FormPoint(form.project(now.x), iterations=spent + now.iterations)
            x, spent = now.x, spent + now.iterations
            violation = lagrangian.update(x)
            if now.converged and violation <= self.tolerance * float(np.abs(x).max()):
                feasible = form.project(x)
                near = is_near(form, feasible, lagrangian.Q @ feasible + form.p)
                claim = "optimal" if near else "stopped"
            elif spent >= self.max_iter:
                claim = "stopped"
            elif violation > 0.25 * before:
                lagrangian.mu *= _GROWTH
            before = violation
        yield FormPoint(form.project(x), iterations=spent, claim=claim)


class _Lagrangian:
    """L(x) and its gradient at the present multipliers and μ."""

    def __init__(self, form: BoxQP) -> None:
        self.form, self.Q = form, form.Q.dense()
        self.mu = max(1.0, float(np.trace(self.Q)) / form.n)
        self.nu = np.zeros(form.delta.size)
        self.lower, self.upper = np.zeros(form.n), np.zeros(form.n)

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        form, mu = self.form, self.mu
        Qx = self.Q @ x
        low = np.maximum(0.0, self.lower + mu * (form.lb - x))
        high = np.maximum(0.0, self.upper + mu * (x - form.ub))
        value = 0.5 * float(x @ Qx) + float(form.p @ x) + float(low @ low + high @ high) / (2 * mu)
        gradient = Qx + form.p - low + high
        for k, (i, a, delta) in enumerate(form.equalities):
            off = float(a @ x[i]) - delta
            value += self.nu[k] * off + 0.5 * mu * off**2
            gradient[i] += (self.nu[k] + mu * off) * a
        return value, gradient

    def update(self, x: Vector) -> float:
        """Take the multipliers that x gives; return the largest violation of a constraint."""
        form = self.form
        violation = float(np.abs(x - np.clip(x, form.lb, form.ub)).max())
        self.lower = np.maximum(0.0, self.lower + self.mu * (form.lb - x))
        self.upper = np.maximum(0.0, self.upper + self.mu * (x - form.ub))
        for k, (i, a, delta) in enumerate(form.equalities):
            off = float(a @ x[i]) - delta
            self.nu[k] += self.mu * off
            violation = max(violation, abs(off))
        return violation


def minimise(f: Function, x: Vector, tol: float, max_iter: int) -> Iterator[Progress]:
    """Minimise a smooth function by scaled conjugate gradients, yielding now and then.

    The last one is where it stopped: converged, with every entry of the gradient at most `tol`, or
    after `max_iter` iterations. `f` returns the value and the gradient (n,).
    """
    value, gradient = f(x)
    r = -gradient
    d, lam, lifted, success = r.copy(), _LAMBDA, 0.0, True
    curvature = 0.0
    for k in range(max_iter):
        if float(np.abs(r).max()) <= tol:
            yield Progress(x, k, True)
            return
        norm_squared = float(d @ d)
        if success:
            sigma = _SIGMA / np.sqrt(norm_squared)
            curvature = float(d @ (f(x + sigma * d)[1] + r)) / sigma
        curvature += (lam - lifted) * norm_squared
        if curvature <= 0:  # make the model convex
            lifted = 2.0 * (lam - curvature / norm_squared)
            curvature, lam = -curvature + lam * norm_squared, lifted
        step = float(d @ r) / curvature
        new, new_gradient = f(x + step * d)
        gain = value - new
        if abs(gain) <= _ROUNDED * abs(value):
            gain = 0.5 * step * float(d @ (r - new_gradient))
        foretold = 2.0 * curvature * gain / float(d @ r) ** 2
        success = foretold >= 0
        if success:
            x, value, old, r = x + step * d, new, r, -new_gradient
            lifted = 0.0
            again = (k + 1) % x.size == 0
            d = r.copy() if again else r + (float(r @ r) - float(r @ old)) / float(d @ old) * d
            if foretold >= 0.75:
                lam = max(0.25 * lam, _LEAST)
        else:
            lifted = lam
        if foretold < 0.25:
            lam = min(lam + curvature * (1 - foretold) / norm_squared, _MOST)
        if (k + 1) % _BLOCK == 0:
            yield Progress(x, k + 1, False)
    yield Progress(x, max_iter, False)
