"""What a point is worth: bounds on the optimum from the point and the original data alone.

Weak duality: for any feasible α, and any w and offsets u,
    dual(α) = Σ −Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) − ½βᵀKβ  ≤  optimum  ≤  primal(w, u) = ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ).
A point off the feasible set is projected first, u is always the exact minimiser of the primal, and a
solver's own multipliers and bias are never used. All views of a problem are certified in the scale
½‖w‖² + Σ Cᵢ·lossᵢ.
"""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dualgap.problems.certificates.certificate import WRONG_GAP, Certificate, not_proven
from dualgap.problems.forms import Point
from dualgap.problems.formulations.convex_qp import ConvexQP
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels.samples import entries

# Of a proof, on one core: for each kernel value, or each entry of a sample where none is needed, and
# for each sample.
_PER_VALUE, _PER_PRODUCT, _PER_ENTRY, _PER_SAMPLE = 1e-6, 5e-9, 5e-7, 2e-5
_MOST_SECONDS = 20.0


@np.errstate(over="ignore", invalid="ignore")
def certify(
    problem: Formulation,
    solution_or_point: Any,
    rigorous: bool = False,
    target_gap: float = 1e-6,
) -> Certificate:
    """Return the certificate of an answer to a problem, in float64 from the problem's own data.

    Parameters
    ----------
    problem : any formulation.
    solution_or_point : a `Solution`, a `Point`, or anything else with `alpha` or `w`, None where not
        known. An array is neither: every view of a problem has both. Of a `ConvexQP`, x as an array,
        or anything with x, and perhaps z and y.
    rigorous : evaluate both bounds in ball arithmetic, rounded outwards, so that they are theorems
        about the stored data; see `certificates.arb` for the cost.
    target_gap : where float64's rounding hides whether the relative gap is above it, or above that of
        a wrong answer, the bounds are evaluated in ball arithmetic all the same if that takes some
        seconds; else the reason says what float64 resolves. inf for float64 alone.

    Raises
    ------
    TypeError
        If it has neither `alpha` nor `w`.
    ValueError
        If `alpha` or `w` has the wrong shape.
    """
    point = _as_point(problem, solution_or_point)
    given = [v for v in (point.alpha, point.w) if v is not None]
    if problem.in_blocks:
        return _of_blocks(problem, point, rigorous, target_gap)
    if not given:
        return problem.without_point("the solver gave no point")
    if not all(np.isfinite(v).all() for v in given):
        return problem.without_point("the point has NaN or infinite entries")
    certificate = problem.bounds(point)
    if rigorous or not problem.has_samples:  # of which all bounds are proven
        return problem.proven(certificate)
    gaps = (target_gap, WRONG_GAP) if np.isfinite(target_gap) else ()
    careful = problem.kernel.careful(problem.X)
    if careful is not None and any(map(certificate.is_undecided, gaps)):
        certificate = replace(problem, kernel=careful).bounds(point)  # type: ignore[type-var]
    # a sum may be good enough where a part of it is not
    undecided = any(
        own.is_undecided(gap) for own in (certificate, *certificate.parts) for gap in gaps
    )
    if undecided and _seconds(problem, certificate) < _MOST_SECONDS:
        proven = problem.proven(certificate)
        certificate = certificate if np.isnan(proven.gap) else proven
    if not certificate.is_undecided(target_gap):
        return certificate
    resolves = f"float64 resolves this only to {certificate.resolution:.1g}"
    return replace(certificate, reason="; ".join(filter(None, (certificate.reason, resolves))))


def _of_blocks(
    problem: Formulation, point: Point, rigorous: bool, target_gap: float
) -> Certificate:
    """Return the certificate of weights, and of what the solver left of dual variables, if it did."""
    b = 0.0 if point.b is None else point.b
    if point.w is None or not (np.isfinite(point.w).all() and np.isfinite(b).all()):
        return problem.without_point("the point has no weights, or NaN or infinite ones")
    certificate = problem.bounds(point)
    if rigorous:
        return not_proven(certificate, "the samples are in blocks, which float64 alone bounds")
    if not certificate.is_undecided(target_gap):
        return certificate
    resolves = f"float64 resolves this only to {certificate.resolution:.1g}"
    return replace(certificate, reason="; ".join(filter(None, (certificate.reason, resolves))))


def _seconds(problem: Formulation, certificate: Certificate) -> float:
    """Return about how long a proof takes."""
    alpha = certificate.point.alpha
    if alpha is None:
        return np.inf
    least = _PER_SAMPLE * problem.n * problem.outputs
    if problem.is_linear:
        return least + _PER_ENTRY * entries(problem.X).size * problem.outputs
    each = _PER_VALUE + _PER_PRODUCT * problem.d
    return least + each * problem.n * int(np.count_nonzero(alpha))


def _as_point(problem: Formulation, answer: Any) -> Point:
    if isinstance(problem, ConvexQP):
        return problem.point(answer)
    answer = getattr(answer, "point", answer)
    if not (hasattr(answer, "alpha") or hasattr(answer, "w")):
        raise TypeError(
            f"solution_or_point: must be a Solution, a Point, or have alpha or w, got "
            f"{type(answer).__name__}; state what an array holds: Point(alpha=...) or Point(w=...)"
        )
    point = Point(*(getattr(answer, name, None) for name in ("alpha", "w", "b", "rule")))
    for name, whole in (("alpha", (problem.n, problem.outputs)), ("w", problem.weights_shape)):
        value, shape = getattr(point, name), whole[:1] if whole[-1] == 1 else whole
        if value is None or value.shape == shape:
            continue
        if value.size != prod(shape):
            raise ValueError(f"{name}: has {value.size} entries, expected {prod(shape)}")
        if value.ndim == 2 and 1 not in value.shape:
            raise ValueError(f"{name}: has shape {value.shape}, expected {shape}")
        point = replace(point, **{name: value.reshape(shape)})
    if point.w is not None and point.alpha is None and not problem.is_linear:
        raise ValueError("alpha: is needed with a kernel, where w has no coordinates")
    return point
