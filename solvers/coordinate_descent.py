"""Textbook coordinate descent: minimise over one variable at a time, with the others fixed.

    loop until convergence
        for i in 1, ..., n:   xᵢ ← argmin over xᵢ of f(x₁, ..., xₙ)

The general loop of M. Straka, NPFL129 lecture 7 (2020), which leads to SMO: with an intercept, the
equality constraint of a support vector machine fixes each variable given the others, so SMO changes
two. Without an intercept one variable can change, and the argmin of ½xᵀQx + pᵀx in its box is known,
    xᵢ ← clip(xᵢ − gᵢ/Qᵢᵢ, lbᵢ, ubᵢ),   g = Qx + p
(Hsieh et al. 2008, with all of Q instead of w, so that it works for any kernel).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from dualgap.problems.box import violating_pair
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.kernels import Block
from dualgap.solvers.base import ENTRIES_PER_YIELD, Solver
from dualgap.solvers.needs import DENSE, NO_EQUALITY
from dualgap.solvers.numerics.claims import has_small_gap


def minimise(
    f: Callable[[Vector], float], x: Vector, sweeps: int = 100, tol: float = 1e-6
) -> Block:
    """Minimise a smooth, strictly convex function along its coordinates in turn.

    If f has kinks it may stop at one that is not the minimum.

    Parameters
    ----------
    f : function of a vector (d,).
    x : starting point, shape (d,).
    sweeps : limit on the sweeps over all coordinates.
    tol : stop after a sweep that changed no coordinate by more. A line search by values alone finds an
        argmin to about √(machine epsilon), so changes below 1e-8 are never reached.

    Returns
    -------
    ndarray (steps + 1, d)
        The path: x, then the point after each step along one coordinate; f never rises on it.

    Raises
    ------
    ValueError
        If `x` is not a vector of finite numbers.
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - slow to import

    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"x: must be a vector of finite numbers, got {x!r}")

    def on_line(t: float, x: Vector, unit: Vector) -> float:
        return f(x + t * unit)

    path = [x]
    for _ in range(sweeps):
        for unit in np.eye(x.size):
            line_minimum: Any = minimize_scalar(on_line, args=(path[-1], unit))
            path.append(path[-1] + float(line_minimum.x) * unit)
        if np.abs(path[-1] - path[-1 - x.size]).max(initial=0.0) <= tol:
            break
    return np.array(path)


@dataclass(frozen=True)
class CoordinateDescent(Solver):
    """Exact steps on one dual variable after another, for any kernel, without an intercept.

    Attributes
    ----------
    tol : the projected gradient's largest entry minus its smallest, with 0 among the entries, at which
        it stops (as in LIBLINEAR); without a claim if the relative duality gap is above 1e-2.
    max_iter : sweeps over all variables after which it stops without a claim.
    """

    tol: float | None = None
    max_iter: int = 10_000

    form: ClassVar = BoxQP
    needs: ClassVar = (NO_EQUALITY, DENSE)
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Straka, NPFL129 lecture 7 (2020); Hsieh et al. 2008"

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each sweep, or after several short ones."""
        Q, sweeps = form.Q.dense(), 0
        x = np.clip(0.0, form.lb, form.ub) if form.start is None else form.start.copy()
        block = max(1, ENTRIES_PER_YIELD // form.n**2)
        while True:
            g = Q @ x + form.p  # from scratch: rounding accumulates over sweeps
            violation = violating_pair(g, None, x - form.lb, form.ub - x)
            if violation <= self.tolerance or sweeps >= self.max_iter:
                break
            for _ in range(min(block, self.max_iter - sweeps)):
                _sweep(Q, x, g, form.lb, form.ub)
                sweeps += 1
            yield FormPoint(x.copy(), iterations=sweeps)
        optimal = violation <= self.tolerance and has_small_gap(form, x, g)
        yield FormPoint(x, iterations=sweeps, claim="optimal" if optimal else "stopped")


@numba.njit(cache=True)
def _sweep(Q: Block, x: Vector, g: Vector, lb: Vector, ub: Vector) -> None:
    """Minimise over each variable in turn, changing x and its gradient g in place."""
    for i in range(x.size):
        row, low, high = Q[i], lb[i], ub[i]
        if row[i] > 0.0:
            new = x[i] - g[i] / row[i]
            new = low if new < low else high if new > high else new
        else:  # linear or concave in xᵢ: downhill to the bound, if finite
            end = low if g[i] > 0.0 else high
            new = end if g[i] != 0.0 and np.isfinite(end) else x[i]
        change = new - x[i]
        if change != 0.0:
            x[i] = new
            for t in range(row.size):
                g[t] += change * row[t]
