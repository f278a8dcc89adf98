"""Duality gaps by which solvers decide whether to claim an optimum, and what to say if they cannot."""

from math import inf

import numpy as np

from dualgap.problems.box import gap_terms
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import ERM, BoxQP, KernelQP
from dualgap.problems.problem.certificate import WRONG_GAP, Bounds

# Float64 cannot tell a thin margin from none; only a proof in rationals calls a problem infeasible.
NO_MARGIN = "in float64 the dual objective is unbounded, as if no hyperplane separated the samples"


def has_small_gap(form: BoxQP, x: Vector, g: Vector, rounding: float = 0.0) -> bool:
    """Whether the duality gap of x (n,) permits a claim; small violations do not if C is huge.

    `g` is the gradient Qx + p. Terms that an error of a variable or of its gradient may have caused, by
    `rounding` relative to its box or costs, count as 0. A box with infinite bounds has no gap: True.
    """
    if not np.isfinite(form.ub).all():
        return True
    r, below, above = form.lagrangian_gradient(g), x - form.lb, form.ub - x
    terms, value = gap_terms(r, below, above), 0.5 * float(x @ (g + form.p))
    lower = value - float(terms.sum())
    terms[np.abs(r) <= rounding * (np.abs(g) + np.abs(form.p))] = 0.0
    terms[np.where(r > 0, below, above) <= rounding * (form.ub - form.lb)] = 0.0
    return float(terms.sum()) <= WRONG_GAP * max(abs(value), abs(lower))


def may_claim(form: BoxQP | KernelQP, x: Vector, gap: float, target: float | None = None) -> bool:
    """Whether the relative gap of x (n,) permits a claim: is at most `target`, 1e-2 by default.

    It is infinite if a bound is, which permits the claim, or if the dual objective is not below 0, as at
    an optimum of 0: then `has_small_gap` decides, without what rounding may have caused.
    """
    if np.isfinite(gap):
        return gap <= (WRONG_GAP if target is None else target)
    if not form.is_bounded:
        return True
    if isinstance(form, KernelQP):
        form, x = form.box, form.split_point(x)
    return has_small_gap(form, x, form.Q.matvec(x) + form.p, 1e-12)


def relative_gap(form: ERM, beta: Vector, b: float = 0.0) -> float:
    """Return the relative duality gap of coefficients β (n,) of a risk, with w = Σ βᵢφ(xᵢ).

    Its modulus: rounding may make a gap of 0 negative. With an intercept `b`, it is a duality gap only
    if the coefficients sum to 0.
    """
    slopes = -beta / form.C
    if not form.loss.in_domain(form.y, slopes).all():
        return inf
    scores = form.gram.matvec(beta)
    half_norm2 = 0.5 * float((beta * scores).sum())  # `@` would wake BLAS's threads
    primal = half_norm2 + float((form.C * form.loss.value(form.y, scores + b)).sum())
    dual = -half_norm2 - float((form.C * form.loss.conjugate(form.y, slopes)).sum())
    return Bounds(dual, primal).relative(abs(primal - dual))
