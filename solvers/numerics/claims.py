"""Duality gaps that decide whether a method that stops by another criterion may claim optimality."""

from __future__ import annotations

from math import inf

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import ERM, BoxQP, KernelQP
from dualgap.problems.problem.certificate import WRONG_GAP, Bounds

# Float64 cannot tell a thin margin from none; only a proof in rationals calls a problem infeasible.
NO_MARGIN = "in float64 the dual objective is unbounded, as if no hyperplane separated the samples"


def has_small_gap(form: BoxQP, x: Vector, g: Vector, negligible: float = 0.0) -> bool:
    """Whether the duality gap of x (n,) permits a claim; small violations do not if C is huge.

    `g` is the gradient Qx + p, and a gap of `negligible` counts as 0. A box with infinite bounds has no
    gap: True.
    """
    if not np.isfinite(form.ub).all():
        return True
    gap, value = float(form.gap_terms(g, x).sum()), 0.5 * float(x @ (g + form.p))
    return gap <= max(negligible, WRONG_GAP * max(abs(value), abs(value - gap)))


def may_claim(form: BoxQP | KernelQP, x: Vector, gap: float, target: float | None = None) -> bool:
    """Whether the relative gap of x (n,) permits a claim: is at most `target`, 1e-2 by default.

    It is infinite if a bound is, which permits the claim, or if the dual objective is 0. Then the gap
    must not exceed the rounding of its terms.
    """
    if np.isfinite(gap):
        return gap <= (WRONG_GAP if target is None else target)
    if not form.is_bounded:
        return True
    if isinstance(form, KernelQP):
        form, x = form.box, form.split_point(x)
    g = form.Q.matvec(x) + form.p
    terms = float(np.abs(form.p) @ (form.ub - form.lb)) + float(form.Q.diagonal() @ x**2)
    # up to rounding, relative to the terms of the gap
    return has_small_gap(form, x, g, 1e-12 * terms)


def relative_gap(form: ERM, beta: Vector, b: float = 0.0) -> float:
    """Return the relative duality gap of coefficients β (n,) of a risk, with w = Σ βᵢφ(xᵢ).

    With an intercept `b`, it is a duality gap only if they sum to 0.
    """
    slopes = -beta / form.C
    if not form.loss.in_domain(form.y, slopes).all():
        return inf
    scores = form.gram.matvec(beta)
    half_norm2 = 0.5 * float((beta * scores).sum())  # `@` would wake BLAS's threads
    primal = half_norm2 + float((form.C * form.loss.value(form.y, scores + b)).sum())
    dual = -half_norm2 - float((form.C * form.loss.conjugate(form.y, slopes)).sum())
    return Bounds(dual, primal).relative(primal - dual)
