"""What may be claimed of a point of a box QP, by a method that judges itself by something else."""

from __future__ import annotations

import numpy as np

from problems.certificates.box_gap import best_multiplier, gap_terms, middle
from problems.dataset import Vector
from problems.forms import BoxQP

FAR = 1e-2  # relative gap with which nothing is claimed to be optimal


def is_near(form: BoxQP, x: Vector, g: Vector) -> bool:
    """Whether the duality gap allows to call x (n,) optimal: where C is huge, no small violation does.

    `g` is the gradient Qx + p. A box with infinite bounds has no gap to go by.
    """
    below, above = x - form.lb, form.ub - x
    if not np.isfinite(form.ub).all():
        return True
    r = g
    if form.a is not None:
        constant = form.delta - float(form.a @ form.lb)
        r = g + middle(*best_multiplier(g, form.a, form.ub - form.lb, constant)) * form.a
    gap, value = float(gap_terms(r, below, above).sum()), 0.5 * float(x @ (g + form.p))
    return gap <= FAR * max(abs(value), abs(value - gap))
