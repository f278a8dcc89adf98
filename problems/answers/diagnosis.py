"""What is wrong with an answer, and in which step of SMO such a fault comes about.

An answer α, b of a support vector machine is optimal if it keeps to the box and the equalities of the
dual, and if no pair of multipliers can improve it (Platt 1998; Straka, NPFL129 lecture 7, 2020). Which
of these conditions fails, and how, tells textbook errors apart:

    −α in place of α                                     the sign of the answer, or of every step
    a multiplier outside its box, the equality kept      the ends L and H, to which αⱼ is clipped
    within the box, the equality lost                    αᵢ, which moves against αⱼ
    α = 0 though no sample is right                      no step had room: the sign of η, or L and H
    every α at 0 or C                                    steps go to an end in any case: L and H, or E
    a dual objective below that of α = 0                 steps lead downhill: errors E of an earlier α
    α ends at a fraction of C                            the weight of the losses
    a b that no sample has                               the update of b

Everything is found from the point, the data and the claim alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from problems.box_gap import middle, violating_pair, violators
from problems.certificates.certificate import Certificate
from problems.dataset import Vector
from problems.dual_problem.offsets import best_intercept
from problems.forms import Claim, Point
from problems.formulations.formulation import Formulation
from problems.gram.products import gram_scores

Condition = Literal["box", "equality", "stationarity", "scale", "intercept"]

FAR = 1e-2  # relative gap, or excess of the objective, that tolerances do not explain
# relative to the largest α: first-order methods stay some 1e-4 off their constraints, Pegasos 3e-3
_OFF = 1e-2
_SAME = 1e-6  # relative difference of multipliers that are at one bound

_ENDS = (
    "L and H: for equal labels L = max(0, αᵢ + αⱼ − C), H = min(C, αᵢ + αⱼ), for different ones "
    "L = max(0, αⱼ − αᵢ), H = min(C, C + αⱼ − αᵢ); the new αⱼ is clipped to them before αᵢ follows"
)
_SIGN = "the sign of the answer, or of every step: w = Σ αᵢyᵢxᵢ with αᵢ ≥ 0, in regression Σ αᵢxᵢ"
_PARTNER = "the second multiplier: when αⱼ changes, αᵢ must change by −yᵢyⱼ times as much"
_NO_ROOM = (
    "the first step: for αⱼ + yⱼ(Eᵢ − Eⱼ)/η the curvature is η = Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ > 0, and with a wrong "
    "sign of η αⱼ is clipped back to 0; or [L, H] has no room, as L and H are swapped, or are those of "
    "equal labels where labels differ"
)
_FLAT = "the step without curvature, η = 0: then αⱼ goes to the better end of [L, H] (Platt 1998)"
_ERRORS = (
    "the errors Eᵢ = f(xᵢ) − yᵢ: every step changes f at all samples, so the error cache must be "
    "refreshed for all of them; from the right errors no step lowers the dual objective"
)
_BIAS = (
    "the update of b: b − Eᵢ − yᵢΔαᵢKᵢᵢ − yⱼΔαⱼKᵢⱼ where 0 < αᵢ < C, the same with j where 0 < αⱼ < C, "
    "else their mean"
)


class Diagnosis(NamedTuple):
    """The first condition that an answer does not meet.

    Attributes
    ----------
    condition : which one.
    amount : by how much, in the condition's own unit.
    sample : where it is worst, counted from 0; None where it is of all samples.
    finding : the same as a sentence.
    step : what to look at in SMO, or in another method's way to the same; empty if nothing points to it.
    """

    condition: Condition
    amount: float
    sample: int | None
    finding: str
    step: str = ""

    @property
    def text(self) -> str:
        """The condition, the finding and the step in one sentence."""
        look_at = f". Look at {self.step}" if self.step else ""
        return f"{self.condition}: {self.finding}{look_at}"


@np.errstate(over="ignore", invalid="ignore")  # as in `certify`: an answer may be of any size
def diagnose(
    problem: Formulation, point: Point, certificate: Certificate, claimed: Claim = "optimal"
) -> Diagnosis | None:
    """Return what is wrong with a dual point, or None if nothing is that tolerances do not explain.

    Parameters
    ----------
    problem : any formulation; without a piecewise linear loss and one output nothing is diagnosed.
    point : the answer as the solver gave it, with its own intercept `b` if it has one.
    certificate : of this point.
    claimed : what the solver says of it. An answer that was cut short ("none") may be far from
        optimal, but not off its constraints, nor worse than α = 0; one called optimal has to be near.
    """
    alpha = point.alpha
    if alpha is None or alpha.shape != (problem.n,) or not np.isfinite(alpha).all():
        return None
    if problem.pieces is None or certificate.infeasible:
        return None
    own_b = float(point.b) if isinstance(point.b, (int, float)) else None
    size = _size(problem, alpha)
    if certificate.primal_residual > _OFF * size:
        opposite = _opposite(problem, alpha, certificate)
        return opposite or _off_constraints(problem, alpha, own_b, size)
    far = certificate.relative_gap > FAR
    checks = (_opposite, _downhill)
    checks = checks if claimed == "none" else (_stuck, _at_ends, *checks, _plateau)
    made = (check(problem, alpha, certificate) for check in checks if far)
    found = next(filter(None, made), None)
    return found or _by_scores(problem, alpha, own_b, certificate, far and claimed == "optimal")


def most_frequent(diagnoses: Iterable[Diagnosis]) -> tuple[int, Diagnosis] | None:
    """Return the first of the diagnoses that point to one step most often, and how often they do."""
    found = list(diagnoses)
    counts = Counter((diagnosis.condition, diagnosis.step) for diagnosis in found)
    if not counts:
        return None
    named, count = counts.most_common(1)[0]
    return count, next(d for d in found if (d.condition, d.step) == named)


def _size(problem: Formulation, alpha: Vector) -> float:
    """Return the largest |α| that there may be, or that there is."""
    return float(problem.upper.max() if problem.is_bounded else np.abs(alpha).max())


def _opposite(problem: Formulation, alpha: Vector, certificate: Certificate) -> Diagnosis | None:
    """Return that −α keeps to the constraints, and has a dual objective above the 0 of α = 0."""
    tolerance = _OFF * _size(problem, alpha)
    if problem.infeasibility(-alpha) > tolerance:
        return None
    beta = problem.beta(-alpha)
    linear = float(problem.box.p @ problem.to_box_variables(-alpha))
    dual = -linear - 0.5 * float(beta @ gram_scores(problem.gram(memory=0), beta))
    if dual <= 0:
        return None
    finding = f"all signs are opposite: −α is feasible, and its dual objective {dual:.3g}"
    if certificate.primal_residual > tolerance:
        return Diagnosis("box", certificate.primal_residual, None, finding, _SIGN)
    return Diagnosis("stationarity", certificate.relative_gap, None, finding, _SIGN)


def _off_constraints(
    problem: Formulation, alpha: Vector, own_b: float | None, size: float
) -> Diagnosis:
    """Return which constraint is violated most, and what that is a sign of."""
    low, high = problem.limits
    outside = np.maximum(alpha - high, low - alpha)
    i = int(outside.argmax())
    box, all_of_it = float(outside[i]), problem.infeasibility(alpha)
    y, hinge = problem.y, not problem.is_regression
    if box > _OFF * size:
        bounds = f"0 ≤ α ≤ {high[i]:.3g}" if low[i] == 0 else f"{low[i]:.3g} ≤ α ≤ {high[i]:.3g}"
        finding = (
            f"off its constraints by {box:.3g} (α = {alpha[i]:.3g} at sample {i}, must be {bounds})"
        )
        step = _ENDS if hinge and problem.intercept else ""
        if hinge and problem.infeasibility(y * alpha) <= _OFF * size:
            step = "the answer: it must be the multipliers αᵢ ≥ 0, not αᵢyᵢ"
        elif hinge and _ignores_bound(problem, alpha, size):
            step = "C: the box ends at α = C, and these α solve the hard margin, which has no C"
        return Diagnosis("box", box, i, finding, step)
    total = "Σαᵢyᵢ must be 0" if hinge else "Σ(αᵢ − αᵢ*) must be 0"
    if problem.costs.any() or problem.groups is not None:
        total = "one sum of each group's coefficients is given"
    finding = f"off its constraints by {all_of_it:.3g} ({total})"
    return Diagnosis("equality", all_of_it, None, finding, _lost(problem, alpha, own_b, size))


def _lost(problem: Formulation, alpha: Vector, own_b: float | None, size: float) -> str:
    """Return what an answer does that violates the equality and nothing else."""
    if problem.is_regression or problem.groups is not None:
        return ""
    largest = [float(alpha[problem.y == label].max(initial=0.0)) for label in (-1.0, 1.0)]
    if min(largest) <= _SAME * size < max(largest):
        return "the labels: they are −1 and +1; one class has no multiplier, as if its label were 0"
    if own_b:  # it has an intercept
        return _PARTNER
    scores = gram_scores(problem.gram(memory=0), problem.beta(alpha))
    x, box = problem.to_box_variables(alpha), problem.box
    if violating_pair(problem.box_gradient(scores), None, x - box.lb, box.ub - x) <= FAR:
        return "the intercept: these α solve the problem without one, which has no equality"
    return _PARTNER


def _ignores_bound(problem: Formulation, alpha: Vector, size: float) -> bool:
    """Whether α is optimal but for its upper bound: every sample with α > 0 lies on its margin."""
    if alpha.min() < -_OFF * size:
        return False
    scores = gram_scores(problem.gram(memory=0), problem.beta(alpha))
    off = (problem.y - scores)[alpha > _OFF * size]
    return bool(np.ptp(off) <= 2 * FAR)


def _stuck(problem: Formulation, alpha: Vector, _: Certificate) -> Diagnosis | None:
    """Return that no step was ever taken, with a pair that should have taken one."""
    if alpha.any():
        return None
    finding = "every α is 0: no step was ever taken"
    if problem.is_regression or not _has_pairs(problem):
        return Diagnosis("stationarity", 1.0, None, finding)
    pair = np.array([problem.y.argmax(), problem.y.argmin()])
    K, C = problem.gram(memory=0).block(pair, pair), float(problem.weight[pair].min())
    eta = float(K[0, 0] + K[1, 1] - 2 * K[0, 1])
    best = min(2.0 / eta, C) if eta > 0 else C
    finding += (
        f"; samples {pair[0]} and {pair[1]}, of different labels, have Eᵢ − Eⱼ = −2, η = {eta:.3g}, "
        f"L = 0, H = {C:.3g}, and should go to α = {best:.3g}"
    )
    step = _NO_ROOM if eta > 0 else _FLAT
    return Diagnosis("stationarity", 1.0, int(pair[0]), finding, step)


def _has_pairs(problem: Formulation) -> bool:
    """Whether SMO moves pairs along one equality, with samples of both classes."""
    return problem.intercept and problem.groups is None and bool(np.ptp(problem.y) > 0)


def _at_ends(problem: Formulation, alpha: Vector, certificate: Certificate) -> Diagnosis | None:
    """Return that every multiplier is at a bound."""
    size, C = np.abs(alpha), problem.upper
    at_C = size >= (1 - _SAME) * C
    if not at_C.any() or (size[~at_C] > _SAME * _SAME * size.max()).any():
        return None
    finding = "every α is at an end of its box, 0 or C, and none between"
    step = f"{_ENDS}; or, if these are right, {_ERRORS}" if _has_pairs(problem) else ""
    return Diagnosis("stationarity", certificate.relative_gap, None, finding, step)


def _downhill(problem: Formulation, _: Vector, certificate: Certificate) -> Diagnosis | None:
    """Return that the dual objective is below that of α = 0, which is 0."""
    dual = certificate.dual_objective
    if dual >= 0 or problem.costs.any():
        return None
    finding = f"the dual objective is {dual:.3g}, below the 0 that it begins with"
    return Diagnosis("stationarity", -dual, None, finding, _ERRORS)


def _plateau(problem: Formulation, alpha: Vector, _: Certificate) -> Diagnosis | None:
    """Return that α ends at a fraction of C, where several samples are at that bound."""
    size, C = float(np.abs(alpha).max()), problem.upper
    at_end = int((np.abs(alpha) >= size * (1 - _SAME)).sum())
    if not problem.is_bounded or np.ptp(C) or size > (1 - FAR) * C[0] or at_end < 3:
        return None
    share = C[0] / size
    is_mean = abs(share - problem.n) < FAR * problem.n
    finding = f"{at_end} samples have the largest α, {size:.3g}, as if C = {C[0]:.3g} were that"
    what = "the weights: the losses are summed, and C/n is that of their mean" if is_mean else "C"
    return Diagnosis("scale", share, None, finding, what)


def _by_scores(
    problem: Formulation, alpha: Vector, own_b: float | None, certificate: Certificate, far: bool
) -> Diagnosis | None:
    """Return what is wrong with a feasible answer's intercept or, if it is far off, with its steps."""
    one_offset = problem.intercept and problem.groups is None and problem.is_bounded
    if not far and (own_b is None or not one_offset):
        return None
    scores = gram_scores(problem.gram(memory=0), problem.beta(alpha))
    if own_b is not None and one_offset:
        wrong = _wrong_intercept(problem, scores, own_b, certificate)
        if wrong is not None or not far:
            return wrong
    found, b = _most_violating(problem, alpha, scores)
    if not found:
        return None
    places: list[str] = []
    for i in found:
        f, y = scores[i] + b, problem.y[i]
        place = f"f − y = {f - y:.3g}" if problem.is_regression else f"yf = {y * f:.3g}"
        places.append(f"sample {i} has α = {alpha[i]:.3g} although {place}")
    offset = "b" if problem.groups is None else "their offset"
    pair = f", with {offset} = {b:.3g}: no pair violates more" if len(found) > 1 else ""
    multiple = "" if problem.is_bounded else ", and no multiple of α leaves less"
    finding = (
        f"not stationary: {', and '.join(places)}{pair}; "
        f"a share of {certificate.relative_gap:.2g} of the objective is to be gained{multiple}"
    )
    step = "" if problem.is_regression else f"{_ERRORS}; or the b in them: {_BIAS}"
    return Diagnosis("stationarity", certificate.relative_gap, found[0], finding, step)


def _most_violating(problem: Formulation, alpha: Vector, scores: Vector) -> tuple[list[int], float]:
    """Return the samples of the most violating pair, and the b at which both violate equally.

    One sample and b = 0 without an equality. What an interior point method leaves of an α that should
    be 0, or short of C, violates only where nothing else does.
    """
    box, x, g = problem.box, problem.to_box_variables(alpha), problem.box_gradient(scores)
    found, left = np.empty(0, np.int64), _SAME * float(np.abs(alpha).max())
    for least in (left, 0.0):
        below, above = (np.where(room > least, room, 0.0) for room in (x - box.lb, box.ub - x))
        found = violators(g, box.a, below, above, box.groups)[1] if not found.size else found
    b = -float((g[found] / box.a[found]).mean()) if box.a is not None and found.size > 1 else 0.0
    return [int(i) % problem.n for i in found], b


def _wrong_intercept(
    problem: Formulation, scores: Vector, own: float, certificate: Certificate
) -> Diagnosis | None:
    """Return that the solver's own b is wrong: far from every sample's, or costly where α is right."""
    low, high = best_intercept(problem, scores)
    best = middle(low, high)
    kinks = problem.y - scores
    reach = float(kinks.max() - kinks.min())
    nowhere = not kinks.min() - reach <= own <= kinks.max() + reach
    at_own, at_best = (
        float(problem.weight @ problem.loss.value(problem.y, scores + b)) for b in (own, best)
    )
    least = FAR if nowhere else max(FAR, certificate.relative_gap)
    if not at_own - at_best > least * max(abs(certificate.primal_objective), certificate.unit):
        return None
    finding = f"b = {own:.3g}, where the best is {best:.3g}"
    opposite = abs(own + best) <= FAR * abs(best)
    step = "the sign of b: f(x) = Σ αᵢyᵢK(xᵢ, x) + b, and not − b" if opposite else _BIAS
    return Diagnosis("intercept", abs(own - best), None, finding, step)
