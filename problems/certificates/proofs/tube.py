"""Bounds of ν-SVR that are theorems about the stored data, from those of regression with its tube.

With P and D the objectives of regression with the tube ε, for every ε ≥ 0
    D(β) + ε‖β‖₁  ≤  optimum  ≤  P(w, b) + ε·budget      for Σβᵢ = 0, |βᵢ| ≤ Cᵢ, ‖β‖₁ ≤ budget,
and for ‖β‖₁ = budget/s above it s times the left side is a bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from flint import arb, ctx, fmpq

from problems.certificates.certificate import WRONG_GAP, Certificate, with_bounds
from problems.certificates.proofs.balls import above, below
from problems.certificates.proofs.exact import Exact, exact_value
from problems.certificates.proofs.kernels import ball_gram
from problems.certificates.proofs.rigorous import proven
from problems.dual_problem.dual import DualProblem

_BITS = 212


def proven_tube(tube: DualProblem, budget: float, certificate: Certificate) -> Certificate:
    """Return the certificate of ν-SVR with proven bounds in place of the float64 ones.

    Parameters
    ----------
    tube : regression with the ε of the certificate.
    budget : the largest ‖β‖₁, which is also the price of ε.
    """
    offsets = certificate.offsets
    known = proven(tube, replace(certificate, offsets=(sum(offsets) / 2,)))
    known = replace(known, offsets=offsets)
    alpha = certificate.point.alpha
    if np.isnan(known.gap) or alpha is None:
        return known
    beta = Exact(tube).beta(alpha, ball_gram(tube.kernel, tube.X))  # that which the proof is of
    size = sum((abs(v) for v in beta), fmpq(0))
    epsilon, most = exact_value(tube.tube), exact_value(budget)
    with ctx.workprec(_BITS):
        upper = above(arb(known.primal_objective) + arb(epsilon * most))
        lower = arb(known.dual_objective) + arb(epsilon * size)
        lower = below(lower * min(fmpq(1), most / size) if size else lower)
    made = with_bounds(known, upper, lower, certificate.unit)
    if not certificate.is_undecided(WRONG_GAP):
        return made
    return replace(made, resolution=made.resolution + certificate.resolution)  # nor is ε any better
