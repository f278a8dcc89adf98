"""Projected gradient methods for the box QP.

    min ½xᵀQx + pᵀx  s.t. aᵀx = delta, lb ≤ x ≤ ub

One step is x ← Π(x − λg) with g = Qx + p and Π the exact projection onto the feasible set. The
variants differ in λ and in what they add:

- plain: λ = rate/L, with L ≥ ‖Q‖ from power iterations (Levitin & Polyak 1966).
- accelerated: the same step from a point extrapolated along the last one (Beck & Teboulle 2009),
  restarted when momentum points uphill (O'Donoghue & Candès 2015, the gradient scheme).
- barzilai_borwein: λ = sᵀs/sᵀy and sᵀy/yᵀy in turn for the last step s and y = Qs, with a line search
  that lets the objective rise now and then (Birgin, Martínez & Raydan 2000, SPG2); a step that it
  turns down is made the exact minimiser, as the objective is quadratic (Dai & Fletcher 2006).
- notebook: the gradient ascent of Anderson's lecture notes on the hard margin's dual, which puts a
  penalty step α ← α − s(yᵀα)y in place of the equality, and then clips at 0. Its fixed point is the
  optimum of another problem: no intercept, and a constant added to the kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from problems.box_gap import violating_pair
from problems.dataset import Vector, check_positive
from problems.forms import BoxQP, Claim, FormPoint
from problems.projection import project
from solvers.base import Solver, warm_up

Mask = NDArray[np.bool_]
Variant = Literal["plain", "accelerated", "barzilai_borwein", "notebook"]

_DENSE = 8000  # samples up to which the Gram matrix is computed once, if it fits in memory
_POWER_ITERATIONS = 20
_MEMORY = 10  # objective values that the line search compares with: Birgin et al. take 10
_SUFFICIENT = 1e-4  # share of the predicted decrease that a step must reach
_STEPS = 1e-12, 1e12  # bounds of a Barzilai-Borwein step in units of the first one
_REFRESH = 100  # steps after which a gradient kept by updates is computed afresh


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """Projected gradient for any box QP, in four variants.

    Attributes
    ----------
    variant : "plain", "accelerated", "barzilai_borwein" or "notebook".
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning, as for SMO).
        The notebook's points are off the equality: it stops when no variable moves by more than
        tol times its step.
    max_iter : steps after which it stops without a claim.
    rate : plain, accelerated: the step in units of 1/L, None for 1. notebook: the step is rate/n,
        None for 0.1; above 2 its penalty step diverges. barzilai_borwein takes None only.
    """

    variant: Variant = "barzilai_borwein"
    tol: float = 1e-3
    max_iter: int = 100_000
    rate: float | None = None

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Birgin, Martínez & Raydan 2000; O'Donoghue & Candès 2015"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in get_args(Variant):
            raise ValueError(
                f"variant: must be one of {', '.join(get_args(Variant))}, got {self.variant!r}"
            )
        if self.rate is not None:
            check_positive(self.rate, "rate")
            if self.variant == "barzilai_borwein":
                raise ValueError(
                    f"rate: barzilai_borwein finds its own steps; leave out rate={self.rate!r}, "
                    "or take variant plain, accelerated or notebook"
                )

    def refuses(self, form: BoxQP) -> str | None:
        """The notebook's loop is written for one problem."""
        if self.variant == "notebook" and not _is_hard_margin_dual(form):
            return "the notebook's loop solves only the hard-margin dual with an intercept"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the projection."""
        if self.variant != "notebook":
            warm_up(self, form)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after every step."""
        if not form.gram.is_linear and form.gram.fits and form.gram.n <= _DENSE:
            form.gram.dense()  # every product with Q is then one with this matrix
        if self.variant == "notebook":
            yield from _notebook(form, self.rate or 0.1, self.tol, self.max_iter)
            return
        steps = {
            "plain": lambda: _plain(form, self.rate or 1.0),
            "accelerated": lambda: _accelerated(form, self.rate or 1.0),
            "barzilai_borwein": lambda: _barzilai_borwein(form),
        }[self.variant]()
        x, count = _start(form), 0
        for count, (x, g) in enumerate(steps):
            violation = violating_pair(g, form.a, x - form.lb, form.ub - x)
            claim: Claim = "optimal" if violation <= self.tol else "none"
            if claim == "none" and count >= self.max_iter:
                break
            yield FormPoint(x.copy(), iterations=count, claim=claim)
            if claim == "optimal":
                return
        yield FormPoint(x.copy(), iterations=count, claim="stopped")


def _plain(form: BoxQP, rate: float) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; end where a step no longer moves x."""
    x, L = _start(form), _largest_eigenvalue(form)
    Qx = form.Q.matvec(x)
    while True:
        yield x, Qx + form.p
        x_new = _project(x - rate / L * (Qx + form.p), form)
        Qx_new = form.Q.matvec(x_new)
        s, Qs = x_new - x, Qx_new - Qx
        if not s.any():
            return
        L = max(L, float(s @ Qs) / float(s @ s))  # power iterations stop short of ‖Q‖
        x, Qx = x_new, Qx_new


def _accelerated(form: BoxQP, rate: float) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; z is the extrapolated point, Qz follows from earlier products."""
    x, L, t = _start(form), _largest_eigenvalue(form), 1.0
    Qx = form.Q.matvec(x)
    z, Qz = x, Qx
    while True:
        yield x, Qx + form.p
        x_new = _project(z - rate / L * (Qz + form.p), form)
        Qx_new = form.Q.matvec(x_new)
        s, Qs = x_new - z, Qx_new - Qz
        if not s.any() and t == 1.0:
            return
        if s.any():
            L = max(L, float(s @ Qs) / float(s @ s))
        uphill = float(s @ (x_new - x)) < 0
        t_new = 1.0 if uphill else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))
        momentum = 0.0 if uphill else (t - 1.0) / t_new
        z, Qz = x_new + momentum * (x_new - x), Qx_new + momentum * (Qx_new - Qx)
        x, Qx, t = x_new, Qx_new, t_new


def _barzilai_borwein(form: BoxQP) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; end where no descent is left in floating point."""
    x = _start(form)
    g = form.Q.matvec(x) + form.p
    step = first = _first_step(form, x, g)
    recent: deque[float] = deque(maxlen=_MEMORY)
    count = 0
    while True:
        yield x, g
        recent.append(0.5 * float(x @ (g + form.p)))
        # a multiple of a in g moves no projection, but its rounding would drown a small slope
        r = _without_normal(g, form.a, (x > form.lb) & (x < form.ub))
        target = _project(x - step * r, form)
        d = target - x
        slope = float(r @ d)
        if slope >= 0:
            return
        Qd = form.Q.matvec(d)
        curvature = float(d @ Qd)
        decrease = -slope - 0.5 * curvature  # of the full step
        full = recent[-1] - decrease <= max(recent) + _SUFFICIENT * slope
        share = 1.0 if full else min(1.0, -slope / curvature)
        # what reaches a bound is put there exactly: x + d may miss it by a rounding error
        x = target if share == 1.0 else np.clip(x + share * d, form.lb, form.ub)
        g = g + share * Qd
        count += 1
        if count % _REFRESH == 0:
            g = form.Q.matvec(x) + form.p
        step = _spectral_step(form, x, d, Qd, curvature, count % 2 == 1)
        step = float(np.clip(step, first * _STEPS[0], first * _STEPS[1]))


def _spectral_step(
    form: BoxQP, x: Vector, d: Vector, Qd: Vector, curvature: float, short: bool
) -> float:
    """Return dᵀd/dᵀQd, or the short step dᵀQd/‖v‖² with v = Qd on the free variables' plane aᵀv = 0.

    What Qd is at the bounds and along a has no part in the motion, and would make the step too short
    (Crisci, Porta, Ruggiero & Zanni 2020).
    """
    if curvature <= 0:
        return np.inf
    free = (x > form.lb) & (x < form.ub)
    v = _without_normal(Qd, form.a, free) * free
    if short and v.any():
        return curvature / float(v @ v)
    return float(d @ d) / curvature


def _without_normal(v: Vector, a: Vector | None, free: Mask) -> Vector:
    """Return v minus the multiple of a that makes its free part orthogonal to a."""
    if a is None or not a[free].any():
        return v
    return v - float(a[free] @ v[free]) / float(a[free] @ a[free]) * a


def _notebook(form: BoxQP, rate: float, tol: float, max_iter: int) -> Iterator[FormPoint]:
    """Yield after every step α ← max(0, α⁺ − s(yᵀα⁺)y), α⁺ = α + s(1 − Qα), s = rate/n."""
    assert form.a is not None
    y, s = form.a, rate / form.n
    alpha = np.full(form.n, 0.5) if form.start is None else form.start.copy()
    for count in range(1, int(max_iter) + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # too large a rate diverges
            raised = alpha + s * (1.0 - form.Q.matvec(alpha))
            new = np.maximum(0.0, raised - s * float(y @ raised) * y)
            settled = float(np.abs(new - alpha).max()) <= tol * s
        alpha = new
        claim: Claim = "stopped" if settled or count == max_iter else "none"
        yield FormPoint(alpha.copy(), iterations=count, claim=claim)
        if claim == "stopped":
            return


def _is_hard_margin_dual(form: BoxQP) -> bool:
    linear = bool((form.p == -1).all()) and form.a is not None and form.delta == 0
    return linear and bool((form.lb == 0).all() and np.isposinf(form.ub).all())


def _start(form: BoxQP) -> Vector:
    """Return the given start, else the feasible point nearest to 0."""
    return _project(np.zeros(form.n), form) if form.start is None else form.start.copy()


def _project(z: Vector, form: BoxQP) -> Vector:
    """Return Π(z), by two projections: a far z leaves the first one too few digits for the equality."""
    near = project(z, form.lb, form.ub, form.a, form.delta)
    return project(near, form.lb, form.ub, form.a, form.delta)


def _first_step(form: BoxQP, x: Vector, g: Vector) -> float:
    """Return the exact minimiser along the projected gradient of a step of length one."""
    d = _project(x - g, form) - x
    curvature = float(d @ form.Q.matvec(d))
    return float(d @ d) / curvature if curvature > 0 else 1.0


def _largest_eigenvalue(form: BoxQP) -> float:
    """Return a lower estimate of ‖Q‖ by power iterations; 1 for Q = 0."""
    v = np.random.default_rng(0).standard_normal(form.n)
    largest = 0.0
    for _ in range(_POWER_ITERATIONS):
        v = form.Q.matvec(v / np.linalg.norm(v))
        largest = float(np.linalg.norm(v))
        if largest == 0:
            return 1.0
    return largest
