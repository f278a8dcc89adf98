"""A proximal step on a box QP over a linear Gram matrix, by semismooth Newton steps on its dual.

    min ½‖Mᵀx‖² + pᵀx + Σ (xₖ − cₖ)²/(2sₖ)   s.t. lb ≤ x ≤ ub
has the dual  max −½‖v‖² + Σ min over xₖ,  where the best x is x(v) = clip(c − s∘u, lb, ub) with
u = Mv + p. Its gradient is Mᵀx(v) − v and its Hessian −(I + M_FᵀS_F M_F) with F the variables
strictly inside the box. A Newton step solves min(|F|, d) equations, however many variables change sides,
followed by a line search on the concave, piecewise quadratic dual (Qi & Sun 1993; for support vector
machines Yan & Li 2020). ½‖Mᵀx(v) − v‖² is the exact duality gap of the step: once it is a tenth of the
distance term, the step is accurate enough, as the objective has decreased.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import numba
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dposv

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Pool
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.solvers.dual_coordinate_descent.blocks import (
    VariableBlock,
    combine,
    dense_normal_matrix,
    normal_matrix,
    row_products,
    scores,
)
from dualgap.solvers.dual_coordinate_descent.tuning import TUNING


class ProximalStep:
    """One proximal step; with an equality its samples have an additional feature √ρ·a.

    Parameters
    ----------
    block : the k variables. centre, step : c and s, shape (k,).
    w : Mᵀc (d,), and √ρ·(aᵀc − delta) as last entry if ρ > 0. v : the start, of the same shape.
    nu, rho : the multiplier of the equality and its penalty, both 0 without an equality.

    Attributes
    ----------
    x : x(v) (k,). target : w at x. u : the scores Mv + p + ν·a. free : the indices F.
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
        """Take one Newton step or more, until the step is solved or fails; pause after each."""
        for count in range(max_steps):
            if (self.solved and count > 0) or not self.residual.any():
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
        """Update x, F and the gradient of the dual for the current u."""
        block = self.block
        self.x, free = np.empty(self.u.size), np.empty(self.u.size, np.int64)
        arguments = self.centre, self.step, self.u, block.lb, block.ub
        count, distance = _respond(*arguments, self.x, free)
        self.free = free[:count].copy()
        self.target = self.w.copy()
        t = combine(block, self.x - self.centre, self.target, self.pool)
        if self.equality:
            self.target[-1] += self.weight * t
        self.residual = self.target - self.v
        gap = 0.5 * float(self.residual @ self.residual)
        # a tenth of the distance term; a gap of 1e-24·‖v‖² is rounding
        self.solved = gap <= 0.1 * distance + 1e-24 * float(self.v @ self.v)

    def _newton_direction(self) -> Vector:
        """Return (I + ZᵀZ)⁻¹·residual for Z = S_F^½·M_F, by solving the smaller of two systems.

        (I + ZᵀZ)⁻¹ = I − Zᵀ(I + ZZᵀ)⁻¹Z. Only the lower triangle of either matrix is computed.
        """
        free, root = self.block.take(self.free), np.sqrt(self.step[self.free])
        extra = self.weight * free.a * root  # Z's last column, with an equality
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
        """Move v along the direction, by at most a full step, to about the maximum of the dual."""
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
    """Return a step size in (0, 1] with |slope| at most a tenth of `first`, its value at 0; or 1."""
    low, high, at_low, at_high = 0.0, 1.0, first, slope(1.0)
    if at_high >= -0.1 * first:
        return 1.0
    step_size = 1.0
    for k in range(20):
        bisect = k % 3 == 2  # the secant alone may converge slowly
        step_size = (
            0.5 * (low + high) if bisect else low + (high - low) * at_low / (at_low - at_high)
        )
        now = slope(step_size)
        if abs(now) <= 0.1 * first:
            break
        if now > 0:
            low, at_low = step_size, now
        else:
            high, at_high = step_size, now
    return step_size


def _solved(A: Block, right: Vector) -> Vector:
    """Return (I + A)⁻¹·right for a semidefinite A given by its lower triangle; A is overwritten.

    Large systems use a float32 factor and refinement if A's condition and range permit: on farm-ads,
    with 1500 equations per step, this took half the time of a float64 factor. Refinement to 1e-6 instead
    of 1e-10 took twice the Newton steps.
    """
    A.flat[:: right.size + 1] += 1.0
    upper = A.T  # in LAPACK's storage order, which avoids a copy
    # the largest diagonal entry bounds all entries
    if right.size >= TUNING.min_float32_equations and upper.diagonal().max() <= 1e30:
        with suppress(LinAlgError):
            factor = cho_factor(upper.astype(np.float32), overwrite_a=True, check_finite=False)
            y, residual = np.zeros(right.size), right
            for _ in range(5):  # refinements
                scale = float(np.abs(residual).max()) or 1.0  # float32 has a small range
                scaled = (residual / scale).astype(np.float32)
                y += scale * cho_solve(factor, scaled, check_finite=False).astype(np.float64)
                residual = right - dsymv(1.0, upper, y)
                if np.linalg.norm(residual) <= 1e-10 * np.linalg.norm(right):
                    return y
    _, solution, info = dposv(upper, right, overwrite_a=True)
    if info:
        raise LinAlgError("the system is not positive definite to working precision")
    return solution


@numba.njit(cache=True, fastmath=FASTMATH)
def _respond(
    c: Vector, s: Vector, u: Vector, lb: Vector, ub: Vector, x: Vector, free: Indices
) -> tuple[int, float]:
    """Write x = clip(c − s∘u, lb, ub) and the free indices; return their number and ½Σ(x − c)²/s."""
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


@numba.njit(cache=True, fastmath=FASTMATH)
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
