"""Steps of projected gradient methods, on any quadratic that has a product with its matrix.

Of many variables a working set of 512 is minimised at a time, in SMO's nested levels, by steps on all
of it, on a block of K that stays in the processor's cache (Serafini, Zanghirati & Zanni 2005). What SMO
does beside its pair steps is done here too.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dualgap.problems.box_gap import violating_pair
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.projection import project
from dualgap.solvers.smo.pairs import WorkingSet

_POWER_ITERATIONS = 20
_MOST_STEPS = 500  # on a working set
_MEMORY = 10  # objective values that the line search compares with: Birgin et al. take 10
_SUFFICIENT = 1e-4  # share of the predicted decrease that a step must reach
_STEPS = 1e-12, 1e12  # bounds of a Barzilai-Borwein step in units of the first one
_REFRESH = 100  # steps after which a gradient kept by updates is computed afresh


@dataclass(frozen=True, eq=False)
class Box:
    """min ½xᵀQx + pᵀx s.t. the equalities of a `BoxQP`, lb ≤ x ≤ ub, with p known through a gradient.

    Attributes
    ----------
    product : v ↦ Qv.
    x, g : where to begin, and the gradient there; shape (n,), as all vectors.
    """

    product: Callable[[Vector], Vector]
    x: Vector
    g: Vector
    a: Vector | None
    groups: Indices | None
    delta: Vector
    lb: Vector
    ub: Vector

    def gradient(self, x: Vector) -> Vector:
        """Return Qx + p."""
        return self.g + self.product(x - self.x)

    def nearest(self, z: Vector) -> Vector:
        """Return Π(z)."""
        return project(z, self.lb, self.ub, self.a, self.delta, self.groups)

    def free(self, x: Vector) -> Vector:
        """Return 1 for each variable between its bounds, 0 for others."""
        return ((x > self.lb) & (x < self.ub)).astype(np.float64)


def plain(box: Box, rate: float) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; end where a step no longer moves x."""
    x, g, L = box.x, box.g, _largest_eigenvalue(box)
    while True:
        yield x, g
        x_new = box.nearest(x - rate / L * g)
        s = x_new - x
        if not s.any():
            return
        g_new = box.gradient(x_new)
        L = max(L, float(s @ (g_new - g)) / float(s @ s))  # power iterations stop short of ‖Q‖
        x, g = x_new, g_new


def accelerated(box: Box, rate: float, restart: bool) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; z is the extrapolated point, its gradient follows from two others."""
    x, g, L, t = box.x, box.g, _largest_eigenvalue(box), 1.0
    z, g_z = x, g
    while True:
        yield x, g
        x_new = box.nearest(z - rate / L * g_z)
        g_new = box.gradient(x_new)
        s = x_new - z
        if not s.any() and t == 1.0:
            return
        if s.any():
            L = max(L, float(s @ (g_new - g_z)) / float(s @ s))
        uphill = restart and float(s @ (x_new - x)) < 0
        t_new = 1.0 if uphill else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))
        momentum = 0.0 if uphill else (t - 1.0) / t_new
        z, g_z = x_new + momentum * (x_new - x), g_new + momentum * (g_new - g)
        x, g, t = x_new, g_new, t_new


def barzilai_borwein(box: Box) -> Iterator[tuple[Vector, Vector]]:
    """Yield x and its gradient; end where no descent is left in floating point."""
    x, g, value = box.x, box.g, 0.0  # the objective, from where it began
    d = box.nearest(x - g) - x  # along it the first step is exact
    curvature = float(d @ box.product(d))
    first = step = float(d @ d) / curvature if curvature > 0 else 1.0
    free, count = box.free(x), 0
    recent: deque[float] = deque(maxlen=_MEMORY)
    while True:
        yield x, g
        recent.append(value)
        # a multiple of a in g moves no projection, but its rounding would drown a small slope
        r = _without_normal(g, box, free)
        target = box.nearest(x - step * r)
        d = target - x
        slope = float(r @ d)
        if slope >= 0:
            return
        Qd = box.product(d)
        curvature = float(d @ Qd)
        decrease = -slope - 0.5 * curvature  # of the full step
        full = value - decrease <= max(recent) + _SUFFICIENT * slope
        share = 1.0 if full else min(1.0, -slope / curvature)
        # what reaches a bound is put there exactly: x + d may miss it by a rounding error
        x = target if share == 1.0 else np.clip(x + share * d, box.lb, box.ub)
        value += share * slope + 0.5 * share**2 * curvature
        g = g + share * Qd
        count += 1
        if count % _REFRESH == 0:
            g = box.gradient(x)
        free = box.free(x)
        step = _spectral_step(d, Qd, curvature, box, free, count % 2 == 1)
        step = float(np.clip(step, first * _STEPS[0], first * _STEPS[1]))


def _spectral_step(
    d: Vector, Qd: Vector, curvature: float, box: Box, free: Vector, short: bool
) -> float:
    """Return dᵀd/dᵀQd, or the short step dᵀQd/‖v‖² with v = Qd on the free variables' plane aᵀv = 0.

    What Qd is at the bounds and along a takes no part in the motion, and would make the step too short
    (Crisci, Porta, Ruggiero & Zanni 2020).
    """
    if curvature <= 0:
        return np.inf
    if short:
        v = _without_normal(Qd, box, free) * free
        size = float(v @ v)
        if size > 0:
            return curvature / size
    return float(d @ d) / curvature


def _without_normal(v: Vector, box: Box, free: Vector) -> Vector:
    """Return v minus the multiples of a, one a group, that make its free part orthogonal to a."""
    if box.a is None:
        return v
    normal = box.a * free
    if box.groups is None:
        size = float(normal @ normal)
        return v - float(normal @ v) / size * box.a if size > 0 else v
    group, count = box.groups + 1, box.delta.size + 1  # with the variables in none first
    size, along = np.bincount(group, normal**2, count), np.bincount(group, normal * v, count)
    share = np.divide(along, size, out=np.zeros(count), where=size > 0)
    share[0] = 0.0
    return v - share[group] * box.a


def _largest_eigenvalue(box: Box) -> float:
    """Return a lower estimate of ‖Q‖ by power iterations; 1 for Q = 0."""
    v = np.random.default_rng(0).standard_normal(box.x.size)
    largest = 0.0
    for _ in range(_POWER_ITERATIONS):
        v = box.product(v / np.linalg.norm(v))
        largest = float(np.linalg.norm(v))
        if largest == 0:
            return 1.0
    return largest


def minimise_by_gradients(given: WorkingSet, target: float, most: int) -> tuple[Vector, int, bool]:
    """Return z at a violation of `target`, or a share of what it is, the steps, and False."""
    K, z, u, lo, hi, groups, _ = given
    a = None if groups[0] < 0 else np.ones(z.size)
    box = Box(lambda v: K @ v.astype(K.dtype), z, -u, a, None, z.sum(keepdims=True), lo, hi)
    # at 0.3 of its violation a set is left: 0.1 takes 1.7 times as long
    target, taken = max(target, 0.3 * violating_pair(-u, a, z - lo, hi - z)), 0
    for taken, (z, g) in enumerate(barzilai_borwein(box)):
        if violating_pair(g, a, z - lo, hi - z) <= target or taken >= min(most, _MOST_STEPS):
            break
    return z, taken, False
