"""One epoch of dual coordinate descent with shrinking (Hsieh et al. 2008, algorithm 3).

Each variable in turn goes to its own minimum in the box, x ← clip(x − g/h, lb, ub), and w = Mᵀx
follows. The equality is an augmented Lagrangian (Hestenes 1969): with t = aᵀx − delta,
    g = mᵀw + p + a·(ν + ρt),   h = mᵀm + ρa²,   and ν ← ν + ρt after each epoch,
as if the samples had one more feature √ρ·a. With ρ about the mean of mᵀm this takes no more epochs
than the problem without the equality.
"""

from __future__ import annotations

import numba

from problems.dataset import Indices, Vector
from solvers.dual_coordinate_descent.blocks import VariableBlock
from solvers.numerics.rows import FAST, add, dot


@numba.njit(cache=True, fastmath=FAST)
def epoch(
    block: VariableBlock,
    order: Indices,
    x: Vector,
    w: Vector,
    t: float,
    nu: float,
    rho: float,
    high: float,
    low: float,
) -> tuple[int, float, float, float]:
    """Visit the variables in `order`; return how many stay, the extreme projected gradients, and t.

    x, w and the order change in place: those that stay come first. A variable at a bound leaves if
    its gradient holds it there by more than last epoch's extremes `high` and `low`.
    """
    stay, most, least = 0, 0.0, 0.0
    for k in range(order.size):
        i = order[k]
        row, sign = int(block.row_of[i]), float(block.sign[i])
        g = sign * dot(block.rows, row, w) + float(block.p[i])
        a = float(block.a[i])
        g += a * (nu + rho * t)
        h = float(block.diagonal[i]) + rho * a**2
        projected = g
        if x[i] <= block.lb[i]:
            if g > high:
                continue
            projected = min(g, 0.0)
        elif x[i] >= block.ub[i]:
            if g < low:
                continue
            projected = max(g, 0.0)
        order[stay] = i
        stay += 1
        most, least = max(most, projected), min(least, projected)
        if projected != 0.0:
            lb, ub, old = float(block.lb[i]), float(block.ub[i]), float(x[i])
            goal = old - g / h if h > 0.0 else ub if g < 0.0 else lb
            x[i] = min(max(goal, lb), ub)
            change = float(x[i]) - old
            if change != 0.0:
                t += a * change
                add(block.rows, row, sign * change, w)
    return stay, most, least, t
