"""The gradient ascent of Anderson's lecture notes, on the dual of the hard margin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from problems.forms import BoxQP, Claim, FormPoint


def ascent(form: BoxQP, rate: float, tol: float, max_iter: int) -> Iterator[FormPoint]:
    """Yield after every step α ← max(0, α⁺ − s(yᵀα⁺)y), α⁺ = α + s(1 − Qα), s = rate/n."""
    assert form.a is not None
    y, s = form.a, rate / form.n
    alpha = np.full(form.n, 0.5) if form.start is None else form.start.copy()
    for count in range(1, int(max_iter) + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # too large a rate diverges
            raised = alpha + s * (1.0 - form.Q.matvec(alpha))
            new = np.maximum(0.0, raised - s * float(y @ raised) * y)
            converged = float(np.abs(new - alpha).max()) <= tol * s
        alpha = new
        claim: Claim = "stopped" if converged or count == max_iter else "none"
        yield FormPoint(alpha.copy(), iterations=count, claim=claim)
        if claim == "stopped":
            return


def is_hard_margin_dual(form: BoxQP) -> bool:
    """Whether the notes' loop is meant for this problem."""
    one_equality = form.a is not None and form.groups is None and not form.delta.any()
    cone = bool((form.lb == 0).all() and np.isposinf(form.ub).all())
    return one_equality and cone and bool((form.p == -1).all())
