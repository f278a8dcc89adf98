"""What a point is worth: bounds on the optimum from the point and the original data alone.

Weak duality: for any feasible α, and any (w, b),
    dual(α) = Σ −Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) − ½βᵀKβ  ≤  optimum  ≤  primal(w, b) = ½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ + b).
A point off the feasible set is projected first, b is always the exact minimiser of the primal, and a
solver's own multipliers and bias are never used. All faces of a problem are certified in the scale
½‖w‖² + Σ Cᵢ·lossᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from problems.box_gap import gap_terms, kkt_violation, middle, violating_pair
from problems.dataset import Vector
from problems.dual_point import DualPoint, dual_from_weights, feasible_dual, lost_norm2
from problems.fenchel import gap_between, missing_bound, relative, risk_bounds
from problems.forms import Point
from problems.formulation import Formulation
from problems.intercept import best_intercept, box_gradient, one_class, widest_margin
from problems.multiclass import Multiclass, summed_bounds
from problems.notebook import html_table, shown
from problems.reductions import box_bounds, to_box_variables
from problems.structured import ChainMargin, chain_bounds

NAN = float("nan")
INF = float("inf")
_REACHES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # too short to excuse weights of a wrong length
_NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on a problem's optimum, and how far a point is from optimal.

    Attributes
    ----------
    primal_objective, dual_objective : dual ≤ optimum ≤ primal, in the scale ½‖w‖² + Σ Cᵢ·lossᵢ.
    gap : primal − dual; relative_gap : gap / max(|primal|, |dual|), 0 when the gap is 0.
    kkt_violation : the natural residual, see `box_gap.kkt_violation`.
    violating_pair : the maximal violating pair, see `box_gap.violating_pair`.
    primal_residual : largest violation of α's box and equality before it was projected.
    dual_residual : largest violation of a margin that no slack may absorb (hard margin; else 0).
    complementarity : largest product of a variable's distance to a bound and that bound's multiplier.
    projection_distance : ‖α − projection of α‖.
    bound_source : "alpha" (both bounds from α), "alpha and w" (the primal at the solver's own w),
        "recovered from w" (no α was given), "none"; "proven: ..." where the bounds are theorems.
    point : the point that is certified: α feasible, w for linear kernels, b the best one.
    b_interval : all best b for that w.
    length : of the primal's w, as a multiple of Σ βᵢφ(xᵢ) or the solver's w: 1 but for rounding.
    infeasible : True if no point separates the samples, proven exactly.
    reason : why a bound is missing, or empty.
    parts : for several binary problems the certificate of each; this one is their sum.
    """

    primal_objective: float = NAN
    dual_objective: float = NAN
    gap: float = NAN
    relative_gap: float = NAN
    kkt_violation: float = NAN
    violating_pair: float = NAN
    primal_residual: float = NAN
    dual_residual: float = NAN
    complementarity: float = NAN
    projection_distance: float = NAN
    bound_source: str = "none"
    point: Point = Point()  # noqa: RUF009 - frozen
    b_interval: tuple[float, float] = (NAN, NAN)
    length: float = 1.0
    infeasible: bool = False
    reason: str = ""
    parts: tuple[Certificate, ...] = ()

    def _repr_html_(self) -> str:
        rows = {
            "optimum ≤": shown(self.primal_objective, ".10g") or "unknown",
            "optimum ≥": shown(self.dual_objective, ".10g") or "unknown",
            "infeasible": "proven" if self.infeasible else "",
            "gap": shown(self.gap),
            "relative gap": shown(self.relative_gap),
            "KKT violation": shown(self.kkt_violation),
            "distance of the projection": shown(self.projection_distance),
            "bounds from": self.bound_source,
            "reason": self.reason,
        }
        return html_table("Certificate", rows.items())


def certify(problem: Formulation, solution_or_point: Any, rigorous: bool = False) -> Certificate:
    """Return the certificate of an answer to a problem, in float64 from the problem's own data.

    Parameters
    ----------
    problem : any formulation.
    solution_or_point : a `Solution`, a `Point`, or anything else with `alpha` or `w`, None where not
        known. An array is neither: every face of a problem has both.
    rigorous : evaluate both bounds in ball arithmetic, rounded outwards, so that they are theorems
        about the stored data; see `rigorous` for the cost.

    Raises
    ------
    TypeError
        If it has neither `alpha` nor `w`.
    ValueError
        If `alpha` or `w` has the wrong shape.
    """
    point = _as_point(problem, solution_or_point)
    given = [v for v in (point.alpha, point.w) if v is not None]
    if not given:
        return _without_point(problem, "the solver gave no point")
    if not all(np.isfinite(v).all() for v in given):
        return _without_point(problem, "the point has NaN or infinite entries")
    with np.errstate(over="ignore", invalid="ignore"):
        own_w = point.w if problem.is_linear else None
        if isinstance(problem, Multiclass):
            pairs = zip(problem.parts, problem.split(point), strict=True)
            parts = [certify(part.problem, answer, rigorous) for part, answer in pairs]
            return Certificate(**summed_bounds(problem, parts))
        if isinstance(problem, ChainMargin):
            certificate = Certificate(**chain_bounds(problem, point.alpha, own_w))
            return _proven(problem, certificate) if rigorous else certificate
        if problem.family in ("risk", "softmax"):
            certificate = Certificate(**risk_bounds(problem, point.alpha, own_w))
            return _proven(problem, certificate) if rigorous else certificate
        if point.alpha is None:
            assert own_w is not None
            dual, source = dual_from_weights(problem, own_w), "recovered from w"
        else:
            dual = feasible_dual(problem, point.alpha)
            source = "alpha" if own_w is None else "alpha and w"
        bounds = _hard_bounds if problem.family == "hard_margin" else _soft_bounds
        certificate = bounds(problem, dual, own_w, source)
    return _proven(problem, certificate) if rigorous else certificate


def _proven(problem: Formulation, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    from problems.rigorous import Unprovable, proven_bounds  # noqa: PLC0415 - needs python-flint

    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # in rationals already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    try:
        b = float(point.b or 0.0)
        bounds = proven_bounds(problem, point.alpha, point.w, b, certificate.length)
    except Unprovable as missing:
        reason = "; ".join(filter(None, (certificate.reason, f"not proven: {missing}")))
        unknown = {"primal_objective": NAN, "dual_objective": NAN, "gap": NAN, "relative_gap": NAN}
        return replace(certificate, **unknown, reason=reason)
    separates = np.isfinite(bounds.upper)
    return replace(
        certificate,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=bounds.gap,
        relative_gap=_relative(problem, bounds.gap, bounds.upper, bounds.lower),
        bound_source=source,
        reason="" if separates else _no_margin(bounds.lower),
    )


def _is_infeasible(problem: Formulation) -> bool:
    from problems.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(problem) is not None


def _without_point(problem: Formulation, reason: str) -> Certificate:
    """Return a certificate without bounds, but for a hard margin that is proven infeasible."""
    if problem.family == "hard_margin" and _is_infeasible(problem):
        return Certificate(INF, INF, infeasible=True, reason=_NO_HYPERPLANE)
    return Certificate(reason=reason)


def _as_point(problem: Formulation, answer: Any) -> Point:
    answer = getattr(answer, "point", answer)
    if not (hasattr(answer, "alpha") or hasattr(answer, "w")):
        raise TypeError(
            f"solution_or_point: must be a Solution, a Point, or have alpha or w, got "
            f"{type(answer).__name__}; tell what an array holds: Point(alpha=...) or Point(w=...)"
        )
    point = Point(*(getattr(answer, name, None) for name in ("alpha", "w", "b")))
    for name, size in (("alpha", problem.n * problem.outputs), ("w", problem.n_weights)):
        value = getattr(point, name)
        if value is not None and value.size != size:
            raise ValueError(f"{name}: has {value.size} entries, expected {size}")
    if point.w is not None and point.alpha is None and not problem.is_linear:
        raise ValueError("alpha: is needed with a kernel, where w has no coordinates")
    return point


def _soft_bounds(
    problem: Formulation, dual: DualPoint, own_w: Vector | None, source: str
) -> Certificate:
    p, a, ub = box_bounds(problem)
    x = to_box_variables(problem, dual.alpha)
    g = box_gradient(problem, dual.scores)
    below, above = x, ub - x
    interval = best_intercept(problem, dual.scores)
    r = g if a is None else g + middle(*interval) * a
    terms = gap_terms(r, below, above)
    w, scores, beta = _weights(problem, dual.alpha), dual.scores, problem.beta(dual.alpha)
    norm2 = float(beta @ scores)
    lost = lost_norm2(problem, beta, norm2)
    norm2 += lost
    dual_objective = -0.5 * float(x @ (g + p)) - 0.5 * lost
    gap = float(terms.sum()) + lost
    primal_objective = float(np.maximum(0.0, dual_objective + gap))
    if own_w is not None:
        w, scores, norm2 = own_w, problem.X @ own_w, float(own_w @ own_w)
        interval = best_intercept(problem, scores)
        primal_objective = _primal(problem, norm2, scores + middle(*interval))
        gap = gap_between(primal_objective, dual_objective)
    better, length = _lengthened(problem, norm2, scores + middle(*interval))
    if better >= primal_objective:
        length = 1.0
    else:
        primal_objective, gap = better, gap_between(better, dual_objective)
        w, interval = (
            None if w is None else length * w,
            (length * interval[0], length * interval[1]),
        )
    if not problem.is_psd:
        primal_objective = gap = NAN
    return Certificate(
        primal_objective=primal_objective,
        dual_objective=dual_objective,
        gap=gap,
        relative_gap=_relative(problem, gap, primal_objective, dual_objective),
        kkt_violation=kkt_violation(g, a, below, above),
        violating_pair=violating_pair(g, a, below, above),
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        complementarity=float(terms.max()),
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, w, middle(*interval) if problem.intercept else 0.0),
        b_interval=interval if problem.intercept else (0.0, 0.0),
        length=length,
        reason=missing_bound(problem, gap),
    )


def _primal(problem: Formulation, norm2: float, decision: Vector) -> float:
    """Return ½‖w‖² + Σ Cᵢ·lossᵢ."""
    return 0.5 * norm2 + float(problem.upper @ problem.loss.value(problem.y, decision))


def _lengthened(problem: Formulation, norm2: float, decision: Vector) -> tuple[float, float]:
    """Return the least primal value over (s·w, s·b), s within rounding of 1, and that s.

    Where C is huge, a margin that rounding left 1e-13 short of one costs C·1e-13.
    """
    best, length = INF, 1.0
    margins = problem.y * decision
    for reach in () if problem.is_regression else _REACHES:
        short = margins[(margins < 1) & (margins > 1 - reach)]
        if short.size:
            s = 1.0 / float(short.min())
            value = _primal(problem, s * s * norm2, s * decision)
            best, length = min((best, length), (value, s))
    return best, length


def _hard_bounds(
    problem: Formulation, dual: DualPoint, own_w: Vector | None, source: str
) -> Certificate:
    """Both bounds are the best on a ray: α scaled to its best length, w to a smallest margin of one."""
    # any multiple gives the same bounds: one whose squares neither underflow nor overflow
    unit = float(dual.alpha.max()) or 1.0
    alpha, scores = dual.alpha / unit, dual.scores / unit
    w = _weights(problem, alpha)
    # ‖w‖² keeps digits that βᵀKβ loses where large entries cancel
    norm2 = float(problem.beta(alpha) @ scores if w is None else w @ w)
    scale, dual_objective = _best_length(problem, alpha, norm2)
    if own_w is not None:
        size = 1.0 if one_class(problem) else float(np.abs(own_w).max())
        w = own_w / (size or 1.0)
        scores, norm2 = problem.X @ w, float(w @ w)
    b, margin = widest_margin(problem, scores)
    separates = margin > 0
    primal_objective = 0.5 * norm2 / margin / margin if separates else INF
    infeasible = not separates and _is_infeasible(problem)
    if infeasible:
        dual_objective = INF
    if not problem.is_psd:
        primal_objective = NAN
    gap = NAN if infeasible else gap_between(primal_objective, dual_objective)
    g = box_gradient(problem, dual.scores)
    a = problem.y if problem.intercept else None
    r = g if a is None else g + widest_margin(problem, dual.scores)[0] * a
    if separates:
        b, w = b / margin, None if w is None else w / margin
    return Certificate(
        primal_objective=primal_objective,
        dual_objective=dual_objective,
        gap=gap,
        relative_gap=_relative(problem, gap, primal_objective, dual_objective),
        kkt_violation=kkt_violation(g, a, dual.alpha, np.full(problem.n, INF)),
        violating_pair=violating_pair(g, a, dual.alpha, np.full(problem.n, INF)),
        primal_residual=dual.primal_residual,
        dual_residual=max(0.0, float((-r).max())),
        complementarity=float((dual.alpha * np.maximum(r, 0.0)).max()),
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(alpha * scale, w, b),
        b_interval=(b, b),
        infeasible=infeasible,
        reason=_hard_reason(problem, separates, infeasible, dual_objective, gap),
    )


def _hard_reason(
    problem: Formulation, separates: bool, infeasible: bool, dual: float, gap: float
) -> str:
    if infeasible:
        return _NO_HYPERPLANE
    if separates or not problem.is_psd:
        return missing_bound(problem, gap)
    return _no_margin(dual)


def _no_margin(dual: float) -> str:
    return f"no margin above {2 / np.sqrt(2 * dual):.3g}" if dual > 0 else "the point is zero"


def _best_length(problem: Formulation, alpha: Vector, quadratic: float) -> tuple[float, float]:
    """Return s = 1ᵀα / αᵀQα and the dual value (1ᵀα)² / (2αᵀQα) of sα."""
    total = float(alpha.sum())
    # αᵀQα below its own rounding error tells nothing about its size
    length = float(alpha @ np.sqrt(problem.kernel.diagonal(problem.X)))
    eps = float(np.finfo(float).eps)
    quadratic = max(quadratic, (eps * length) ** 2 if problem.is_linear else eps * length**2)
    if total <= 0 or quadratic <= 0:
        return 1.0, 0.0
    return total / quadratic, 0.5 * total * (total / quadratic)


def _relative(problem: Formulation, gap: float, primal: float, dual: float) -> float:
    """Return the relative gap; where the optimum is 0 itself, relative to the objective at 0."""
    return relative(gap, primal, dual, _size_at_zero(problem) if dual <= 0 else 0.0)


def _size_at_zero(problem: Formulation) -> float:
    """Return the objective at w = 0, b = 0 if w = 0 is optimal with no loss at its best b, else 0."""
    zero = np.zeros(problem.n)
    if (
        problem.family == "hard_margin"
    ):  # it has no loss: the w that is as long as a sample's inverse
        largest = float(problem.kernel.diagonal(problem.X).max()) or 1.0
        return 0.5 / largest if problem.intercept and one_class(problem) else 0.0
    b = middle(*best_intercept(problem, zero))
    if problem.loss.value(problem.y, zero + b).any():
        return 0.0
    at_zero = float(problem.upper @ problem.loss.value(problem.y, zero))
    # a tube that holds all targets: the loss of missing each by as much as the tube is wide
    return at_zero or float(problem.upper.sum()) * (problem.tube or 1.0)


def _weights(problem: Formulation, alpha: Vector) -> Vector | None:
    """Return w = Xᵀβ for a linear kernel."""
    return problem.X.T @ problem.beta(alpha) if problem.is_linear else None
