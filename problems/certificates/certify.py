"""Certification of a point: bounds on the optimum from the point and the original data alone.

Weak duality: for any feasible α, and any w and offsets u,
    dual(α) = Σ −Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) − ½βᵀKβ  ≤  optimum  ≤  primal(w, u) = ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ).
An infeasible point is projected first, u is always the exact minimiser of the primal, and the
multipliers and bias reported by a solver are never used. All formulations of a problem are certified
in the scale ½‖w‖² + Σ Cᵢ·lossᵢ.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.problems.certificates.hard_margin import certificate_without_point
from dualgap.problems.forms import Point
from dualgap.problems.kernels.samples import entries
from dualgap.problems.problem import join_certificates, split
from dualgap.problems.problem.certificate import WRONG_GAP, Certificate

_MAX_PROOF_S = 20.0  # estimated duration up to which an undecided certificate is proven


@np.errstate(over="ignore", invalid="ignore")
def certify_samples(problem: Any, point: Point, rigorous: bool, target_gap: float) -> Certificate:
    """Return the certificate of a point of a formulation; see `dualgap.problems.problem.certify`."""
    arrays = [v for v in (point.alpha, point.w) if v is not None]
    if not arrays:
        return _without_point(problem, "the solver gave no point")
    if not all(np.isfinite(v).all() for v in arrays):
        return _without_point(problem, "the point has NaN or infinite entries")
    certificate = _bounds(problem, point)
    if rigorous:
        return _proven(problem, certificate)
    gaps = (target_gap, WRONG_GAP) if np.isfinite(target_gap) else ()
    # the sum may be decided although one of its parts is not
    undecided = any(
        part.is_undecided(gap) for part in (certificate, *certificate.parts) for gap in gaps
    )
    if undecided and _proof_seconds(problem, certificate) < _MAX_PROOF_S:
        proven = _proven(problem, certificate)
        certificate = certificate if np.isnan(proven.gap) else proven
    if not certificate.is_undecided(target_gap):
        return certificate
    resolves = f"float64 resolves this only to {certificate.resolution:.1g}"
    return replace(certificate, reason="; ".join(filter(None, (certificate.reason, resolves))))


def _bounds(problem: Any, point: Point) -> Certificate:
    """Return bounds on the optimum from a point: the sums of those of the parts."""
    pairs = zip(problem.parts, split(problem, point), strict=True)
    return join_certificates(problem, [part.problem.bounds(answer) for part, answer in pairs])


def _proven(problem: Any, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds: the sums of those of the parts."""
    pairs = zip(problem.parts, certificate.parts or [certificate], strict=True)
    return join_certificates(problem, [part.problem.proven(c) for part, c in pairs])


def _without_point(problem: Any, reason: str) -> Certificate:
    """Return the certificate of an answer without a usable point, perhaps proving infeasibility."""
    if problem.may_be_infeasible:
        return certificate_without_point(problem.risk, reason)
    return Certificate(reason=reason)


def _proof_seconds(problem: Any, certificate: Certificate) -> float:
    """Estimate the duration of a proof in seconds on one core, from measured durations of its parts."""
    alpha = certificate.point.alpha
    if alpha is None:
        return np.inf
    base_seconds = 2e-5 * problem.n * problem.outputs
    if problem.samples.is_linear:
        return base_seconds + 5e-7 * entries(problem.X).size * problem.outputs
    seconds_per_value = 1e-6 + 5e-9 * problem.d
    return base_seconds + seconds_per_value * problem.n * int(np.count_nonzero(alpha))
