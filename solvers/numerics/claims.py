"""What may be claimed of a point: gaps for methods that judge themselves by something else."""

from __future__ import annotations

from math import inf

import numpy as np

from dualgap.problems.certificates.certificate import Bounds
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import ERM, BoxQP

# Float64 cannot tell a thin margin from none: a problem is called infeasible by a proof in rationals.
NO_MARGIN = "in float64 the dual objective has no limit, as if no hyperplane separated the samples"
FAR = 1e-2  # relative gap with which nothing is claimed to be optimal
_RESOLVED = 1e-12  # of the terms of a gap


def is_near(form: BoxQP, x: Vector, g: Vector, least: float = 0.0) -> bool:
    """Whether the duality gap allows to call x (n,) optimal: where C is huge, no small violation does.

    `g` is the gradient Qx + p, and a gap of `least` is none. A box with infinite bounds has no gap to go
    by.
    """
    if not np.isfinite(form.ub).all():
        return True
    gap, value = float(form.gap_terms(g, x).sum()), 0.5 * float(x @ (g + form.p))
    return gap <= max(least, FAR * max(abs(value), abs(value - gap)))


def may_claim(form: BoxQP, x: Vector, gap: float, target: float | None = None) -> bool:
    """Whether a relative gap allows to call x (n,) optimal; an infinite one says nothing.

    It has to be at most the `target`, `FAR` where there is none.

    It is infinite in a box with infinite bounds, or where the dual objective is 0. There a gap that is
    more than what float64 leaves of the terms that make it is too large.
    """
    if np.isfinite(gap):
        return gap <= (FAR if target is None else target)
    if not np.isfinite(form.ub).all():
        return True
    g = form.Q.matvec(x) + form.p
    terms = float(np.abs(form.p) @ (form.ub - form.lb)) + float(form.Q.diagonal() @ x**2)
    return is_near(form, x, g, _RESOLVED * terms)


def relative_gap(form: ERM, beta: Vector, b: float = 0.0) -> float:
    """Return the relative duality gap of coefficients β (n,) of a risk, with the w that they give.

    With an intercept `b` they sum to 0, as far as the gap is to be one.
    """
    slopes = -beta / form.C
    if not form.loss.in_domain(form.y, slopes).all():
        return inf
    scores = form.gram.matvec(beta)
    half_norm2 = 0.5 * float((beta * scores).sum())  # `@` would wake BLAS's threads
    primal = half_norm2 + float((form.C * form.loss.value(form.y, scores + b)).sum())
    dual = -half_norm2 - float((form.C * form.loss.conjugate(form.y, slopes)).sum())
    return Bounds(dual, primal).relative(primal - dual)
