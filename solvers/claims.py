"""What may be claimed of a point of a box QP, by a method that judges itself by something else."""

from __future__ import annotations

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP

FAR = 1e-2  # relative gap with which nothing is claimed to be optimal


def is_near(form: BoxQP, x: Vector, g: Vector) -> bool:
    """Whether the duality gap allows to call x (n,) optimal: where C is huge, no small violation does.

    `g` is the gradient Qx + p. A box with infinite bounds has no gap to go by.
    """
    if not np.isfinite(form.ub).all():
        return True
    gap, value = float(form.gap_terms(g, x).sum()), 0.5 * float(x @ (g + form.p))
    return gap <= FAR * max(abs(value), abs(value - gap))
