"""The variables SMO works on: one per sample, with the equality Σz = delta.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

With z = ax (z = sign·x where there is no equality) the coefficients of the equality become 1, and for
classification Q becomes K itself. Regression's two variables of a sample are the two sides of one:
z = α − α*, and their common cost epsilon·(α + α*) is the tube.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP

ONE_SET = 1024  # variables up to which one working set holds all, so that its block of K is kept


class Terms(NamedTuple):
    """Everything but K: costs, bounds and equalities of variables, shape (n,) each.

    `groups` is the index of each variable's equality, Σ_{i∈g} zᵢ = delta_g; 0 throughout if there is one
    equality, −1 throughout if there is none.
    """

    q: Vector
    tube: Vector
    lo: Vector
    hi: Vector
    groups: Indices

    def of(self, chosen: Indices) -> Terms:
        """Return the terms of the chosen variables."""
        q, tube, lo, hi, groups = self
        return Terms(q[chosen], tube[chosen], lo[chosen], hi[chosen], groups[chosen])

    @property
    def several(self) -> bool:
        """Whether there are several equalities."""
        return int(self.groups.max(initial=0)) > 0


@dataclass(frozen=True, eq=False)
class Variables:
    """Terms and start of z (n,); z = `multiplier`·x.

    Variable k is the coefficient of `scale[k]`·φ(x_sample[k]); a `scale` of None means 1. If `doubled`,
    z = x[:n] − x[n:].
    """

    form: BoxQP
    sample: Indices
    scale: Vector | None
    terms: Terms
    start: Vector
    multiplier: Vector
    doubled: bool

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.sample.size

    def to_form(self, z: Vector) -> Vector:
        """Return the form's variables x."""
        if self.doubled:
            return np.concatenate([np.maximum(z, 0.0), np.maximum(-z, 0.0)])
        x = z / self.multiplier
        return np.clip(x, self.form.lb, self.form.ub, out=x)  # rounding may leave the box


def from_form(form: BoxQP) -> Variables:
    """Return the variables of a box QP, starting at its start or at a feasible point near 0."""
    x = _at_bounds(form) if form.start is None and form.delta.any() else form.first_point()
    a = form.Q.sign if form.a is None else form.a
    ends = form.lb * a, form.ub * a
    lo, hi, q, z = np.minimum(*ends), np.maximum(*ends), form.p / a, x * a
    groups = np.full(form.n, -1 if form.a is None else 0)
    if form.groups is not None:
        groups = form.groups.astype(np.int64)
    if _is_doubled(form):
        n = form.n // 2
        tube, q, z = (q[:n] - q[n:]) / 2, (q[:n] + q[n:]) / 2, z[:n] + z[n:]
        terms = Terms(q, tube, lo[n:], hi[:n], groups[:n])
        return Variables(form, form.Q.index[:n], None, terms, z, a[:n], True)
    scale = form.Q.sign / a
    terms = Terms(q, np.zeros(form.n), lo, hi, groups)
    scaled = None if (scale == 1).all() else scale
    return Variables(form, form.Q.index, scaled, terms, z, a, False)


def _at_bounds(form: BoxQP) -> Vector:
    """Return a feasible point with few nonzero variables, nearly all of them at a bound.

    LIBSVM starts there too. The feasible point nearest to 0 moves all variables by the same amount, and
    nearly all of them have to move again.
    """
    x = np.clip(0.0, form.lb, form.ub)
    for i, a, delta in form.equalities:
        shortfall = delta - float(a @ x[i])
        slack = np.abs(a) * np.where(a * shortfall > 0, form.ub[i] - x[i], x[i] - form.lb[i])
        before = np.concatenate([[0.0], np.cumsum(slack)[:-1]])
        x[i] += np.sign(shortfall) / a * np.clip(abs(shortfall) - before, 0.0, slack)
    return form.project(x)  # raises an error if the form is infeasible


def _is_doubled(form: BoxQP) -> bool:
    """Whether every sample has two variables, one per side of its tube, as in regression."""
    n = form.n // 2
    twice = form.n == 2 * n and np.array_equal(form.Q.index[:n], form.Q.index[n:])
    if form.groups is not None or not twice:
        return False
    sides = np.repeat([1.0, -1.0], n)
    has_tube = bool((form.lb == 0).all() and (form.p[:n] + form.p[n:] >= 0).all())
    one_sign = form.a is None or bool((form.a == sides).all())
    return has_tube and one_sign and bool((form.Q.sign == sides).all())
