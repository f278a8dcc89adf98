"""A step on the face of the variables strictly inside their box, by conjugate gradients.

    min ½‖Mᵀ(x + s)‖² + pᵀ(x + s) + the terms of the equality   s.t. lb ≤ x + s ≤ ub
One product reads each sample twice, as an epoch does, but one behind the other; 20 to 60 products reach
what hundreds of epochs would. The direction is followed along its projection onto the box, so that many
variables reach a bound at once (Moré & Toraldo 1991); epochs in between release others. Proximal Newton
steps with inexact systems took three times as long, as each must be solved to the end of its own face.
"""

from typing import NamedTuple

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.gram.threads import Pool
from dualgap.solvers.dual_coordinate_descent.blocks import VariableBlock, combine, scores
from dualgap.solvers.numerics.projected_cg import conjugate_gradients


class Face(NamedTuple):
    """Some variables, all others fixed, with the Hessian MMᵀ + rho·aaᵀ.

    `rho` is the penalty of the equality, `features` the number d of columns of M.
    """

    block: VariableBlock
    rho: float
    features: int
    pool: Pool

    def moved(self, s: Vector) -> tuple[Vector, float]:
        """Return Mᵀs (d,) and aᵀs."""
        w = np.zeros(self.features)
        t = combine(self.block, s, w, self.pool)
        return w, t

    def product(self, v: Vector) -> Vector:
        """Return the Hessian times v (k,)."""
        w, t = self.moved(v)
        return scores(self.block, w, self.rho * t, self.pool)

    def step(
        self, x: Vector, slope: Vector, inverse: Vector, max_products: int
    ) -> tuple[Vector, Vector, float]:
        """Return a step s (k,) inside the box that lowers the objective, Mᵀs (d,) and aᵀs.

        `slope` (k,) is the gradient at `x` (k,), and `inverse` that of the Hessian's diagonal. The step
        is 0 if none is found, as at the minimum.
        """
        start = np.zeros(x.size)
        direction = conjugate_gradients(
            self.product, lambda r: inverse * r, start, slope, max_products, accuracy=0.1
        )
        for halvings in range(20):
            goal = np.clip(x + 0.5**halvings * direction, self.block.lb, self.block.ub)
            step = goal - x
            w, t = self.moved(step)
            first, second = float(slope @ step), float(w @ w) + self.rho * t**2
            if first + 0.5 * second < 0.0:
                length = 1.0 if second <= -first else -first / second  # the minimum along the step
                return length * step, length * w, length * t
        return start, np.zeros(self.features), 0.0
