"""A proximal step on a box QP over a linear Gram matrix, by semismooth Newton steps on its dual.

    min ½‖Mᵀx‖² + pᵀx + Σ (xₖ − cₖ)²/(2sₖ)   s.t. lb ≤ x ≤ ub
has the dual  max −½‖v‖² + Σ min over xₖ,  where the best x is x(v) = clip(c − s∘u, lb, ub) with
u = Mv + p. Its gradient is Mᵀx(v) − v and its Hessian −(I + M_FᵀS_F M_F) with F the variables
strictly inside the box. A Newton step solves min(|F|, d) equations however many variables change
sides, and the concave, piecewise quadratic dual is searched along it (Qi & Sun 1993; for support
vector machines Yan & Li 2020). ½‖Mᵀx(v) − v‖² is the exact duality gap of the step: once that is a
tenth of the distance term the step is good enough, for the objective has gone down.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numba
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Pool
from dualgap.problems.kernels import Block
from dualgap.solvers.dual_coordinate_descent.blocks import (
    VariableBlock,
    combine,
    dense_normal_matrix,
    normal_matrix,
    row_products,
    scores,
)
from dualgap.solvers.numerics.rows import FAST

_ACCURACY = 0.1  # of a step's gap, as a share of its distance term
_ROUNDING = 1e-24  # of ‖v‖²: a gap this small is rounding
_SLOPE = 0.1  # the search along a Newton direction ends at this share of the first slope
_SEARCH_STEPS = 20
_LARGE = 500  # equations from which a float32 factor is tried first
_LARGEST_FLOAT32 = 1e30  # no entry of a semidefinite matrix is larger than its diagonal's largest
_REFINEMENTS, _REFINED = 5, 1e-10  # with 1e-6 farm-ads took twice the Newton steps


class ProximalStep:
    """One proximal step; under an equality its samples have one more feature √ρ·a.

    Parameters
    ----------
    block : the k variables. centre, step : c and s, shape (k,).
    w : Mᵀc (d,), and √ρ·(aᵀc − delta) as last entry if ρ > 0. v : where to start, of the same shape.
    nu, rho : the multiplier of the equality and its penalty, both 0 without an equality.

    Attributes
    ----------
    x : x(v) (k,). target : what w is at x. u : the scores Mv + p + ν·a. free : the indices F.
    solved : whether v is accurate enough.
    """

    def __init__(
        self,
        block: VariableBlock,
        centre: Vector,
        step: Vector,
        w: Vector,
        v: Vector,
        nu: float,
        rho: float,
        pool: Pool,
    ) -> None:
        self.pool = pool
        self.block, self.centre, self.step, self.w, self.v = block, centre, step, w, v
        self.equality, self.weight = rho > 0, float(np.sqrt(rho))
        self.d = w.size - self.equality
        self.u = self._scores(block, v) + block.p + nu * block.a
        self._respond()

    def run(self, max_steps: int) -> Iterator[None]:
        """Take one Newton step, and more until the step is solved or cannot be; pause after each."""
        for taken in range(max_steps):
            if (self.solved and taken > 0) or not self.residual.any():
                return
            try:
                direction = self._newton_direction()
            except LinAlgError:
                return
            self._search(direction)
            self._respond()
            yield

    def _scores(self, block: VariableBlock, v: Vector) -> Vector:
        bias = self.weight * float(v[-1]) if self.equality else 0.0
        return scores(block, v, bias, self.pool)

    def _respond(self) -> None:
        """Bring x, F and the dual's gradient up to date with u."""
        block = self.block
        self.x, free = np.empty(self.u.size), np.empty(self.u.size, np.int64)
        given = self.centre, self.step, self.u, block.lb, block.ub
        count, distance = _respond(*given, self.x, free)
        self.free = free[:count].copy()
        self.target = self.w.copy()
        t = combine(block, self.x - self.centre, self.target, self.pool)
        if self.equality:
            self.target[-1] += self.weight * t
        self.residual = self.target - self.v
        gap = 0.5 * float(self.residual @ self.residual)
        self.solved = gap <= _ACCURACY * distance + _ROUNDING * float(self.v @ self.v)

    def _newton_direction(self) -> Vector:
        """Return (I + ZᵀZ)⁻¹·residual for Z = S_F^½·M_F, by the smaller of two systems.

        (I + ZᵀZ)⁻¹ = I − Zᵀ(I + ZZᵀ)⁻¹Z. Of either matrix the lower half counts.
        """
        free, root = self.block.take(self.free), np.sqrt(self.step[self.free])
        extra = self.weight * free.a * root  # Z's last column, under an equality
        if free.sign.size == 0:
            return self.residual
        dense, size = free.rows.dense, self.v.size
        if free.sign.size >= size:
            if dense.size > 0:
                H = dense_normal_matrix(free, root, extra, self.pool)[:size, :size]
                return _solved(np.ascontiguousarray(H), self.residual)
            H = normal_matrix(free, root**2, size)
            if self.equality:
                across = np.zeros(size)
                combine(free, root * extra, across)
                across[-1] = extra @ extra
                H[-1] = across
            return _solved(H, self.residual)
        if dense.size > 0:
            Z = dense[free.row_of] * (free.sign * root)[:, None]
            K = Z @ Z.T
        else:
            K = row_products(free, root, self.d)
        if self.equality:
            K += np.multiply.outer(extra, extra)
        y = root * _solved(K, root * self._scores(free, self.residual))
        direction = self.residual.copy()
        t = combine(free, -y, direction)
        if self.equality:
            direction[-1] += self.weight * t
        return direction

    def _search(self, direction: Vector) -> None:
        """Move v along the direction, at most by all of it, to where the dual is about highest."""
        block = self.block
        change = self._scores(block, direction)
        constant = float((self.w - self.v) @ direction)
        curvature = float(direction @ direction)

        def slope(step_size: float) -> float:
            sides = _slope(self.centre, self.step, self.u, change, block.lb, block.ub, step_size)
            return constant - step_size * curvature + sides

        step_size = _falling_root(slope, float(self.residual @ direction))
        self.v = self.v + step_size * direction
        self.u = self.u + step_size * change


def _falling_root(slope: Callable[[float], float], first: float) -> float:
    """Return a step_size in (0, 1] where |slope| is below a tenth of `first`, its value at 0; else 1."""
    low, high, at_low, at_high = 0.0, 1.0, first, slope(1.0)
    if at_high >= -_SLOPE * first:
        return 1.0
    step_size = 1.0
    for k in range(_SEARCH_STEPS):
        bisect = k % 3 == 2  # the secant alone may creep
        step_size = (
            0.5 * (low + high) if bisect else low + (high - low) * at_low / (at_low - at_high)
        )
        now = slope(step_size)
        if abs(now) <= _SLOPE * first:
            break
        if now > 0:
            low, at_low = step_size, now
        else:
            high, at_high = step_size, now
    return step_size


def _solved(A: Block, right: Vector) -> Vector:
    """Return (I + A)⁻¹·right for a semidefinite A, of which the lower half counts; A is spent.

    Large systems by a float32 factor and refinement, where A's condition allows it: on farm-ads, with
    1500 equations a step, it took half the time of a float64 factor.
    """
    A.flat[:: right.size + 1] += 1.0
    upper = A.T  # as LAPACK stores matrices, which saves it a copy
    if right.size >= _LARGE and upper.diagonal().max() <= _LARGEST_FLOAT32:
        with suppress(LinAlgError):
            factor = cho_factor(upper.astype(np.float32), overwrite_a=True, check_finite=False)
            y, residual = np.zeros(right.size), right
            for _ in range(_REFINEMENTS):
                scale = float(np.abs(residual).max()) or 1.0  # float32 has a short range
                scaled = (residual / scale).astype(np.float32)
                y += scale * cho_solve(factor, scaled, check_finite=False).astype(np.float64)
                residual = right - dsymv(1.0, upper, y)
                if np.linalg.norm(residual) <= _REFINED * np.linalg.norm(right):
                    return y
    factor = cho_factor(upper, overwrite_a=True, check_finite=False)
    return cho_solve(factor, right, check_finite=False)


@numba.njit(cache=True, fastmath=FAST)
def _respond(
    c: Vector, s: Vector, u: Vector, lb: Vector, ub: Vector, x: Vector, free: Indices
) -> tuple[int, float]:
    """Write x = clip(c − s∘u, lb, ub) and the indices strictly inside; return their number.

    And ½Σ(x − c)²/s.
    """
    count, distance = 0, 0.0
    for k in range(c.size):
        goal, low, high = c[k] - s[k] * u[k], lb[k], ub[k]
        if low < goal < high:
            free[count] = k
            count += 1
        goal = low if goal < low else goal
        goal = high if goal > high else goal
        x[k] = goal
        distance += (goal - c[k]) * (goal - c[k]) / s[k]
    return count, 0.5 * distance


@numba.njit(cache=True, fastmath=FAST)
def _slope(
    c: Vector, s: Vector, u: Vector, change: Vector, lb: Vector, ub: Vector, step_size: float
) -> float:
    """Return changeᵀ(x − c), with x the response to u + step_size·change."""
    total = 0.0
    for k in range(c.size):
        goal, low, high = c[k] - s[k] * (u[k] + step_size * change[k]), lb[k], ub[k]
        goal = low if goal < low else goal
        goal = high if goal > high else goal
        total += change[k] * (goal - c[k])
    return total
