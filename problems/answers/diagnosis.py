"""Diagnosis of wrong answers: the violated condition, and the step of SMO that typically causes it.

An answer α, b of a support vector machine is optimal if it satisfies the box and the equalities of the
dual, and if no pair of multipliers can improve it (Platt 1998; Straka, NPFL129 lecture 7, 2020). Which
of these conditions is violated, and how, distinguishes textbook errors:

    −α instead of α                                      the sign of the answer, or of every step
    outside the box, but the equality holds              the ends L and H, to which αⱼ is clipped
    inside the box, but the equality is violated         αᵢ, which moves against αⱼ
    α = 0 although samples are misclassified             no step was possible: the sign of η, or L and H
    αᵢ = αᵢ* for every sample of a regression            the linear term, which contains the targets
    every α at 0 or C                                    every step goes to an end: L and H, or E
    a dual objective below that of α = 0                 steps lead downhill: outdated errors E
    α ends at a fraction of C                            the weight of the losses
    a b that fits no sample                              the update of b

A diagnosis depends only on the point, the data and the claim.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from dualgap.problems.box import middle, violating_pair, violators
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Claim, Point
from dualgap.problems.formulations.formulation import Formulation, SampleProblem
from dualgap.problems.gram.products import gram_scores
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.risk.dual_point import infeasibility
from dualgap.problems.risk.offsets import best_intercept
from dualgap.problems.risk.risk import Risk, box_point

Condition = Literal["box", "equality", "stationarity", "scale", "intercept"]

# relative gap, or violation of constraints, beyond any solver's tolerance: Pegasos violates them by 3e-3
_FAULT_RTOL = 1e-2
_MULTIPLIER_RTOL = 1e-6  # relative difference up to which multipliers are at the same bound

# steps of SMO that a diagnosis may suggest
_CLIPPING = (
    "L and H: for equal labels L = max(0, αᵢ + αⱼ − C), H = min(C, αᵢ + αⱼ), for different ones "
    "L = max(0, αⱼ − αᵢ), H = min(C, C + αⱼ − αᵢ); the new αⱼ is clipped to them before αᵢ follows"
)
_ERRORS = (
    "the errors Eᵢ = f(xᵢ) − yᵢ: every step changes f at all samples, so the error cache must be "
    "refreshed for all of them; with correct errors no step lowers the dual objective"
)
_BIAS = (
    "the update of b: b − Eᵢ − yᵢΔαᵢKᵢᵢ − yⱼΔαⱼKᵢⱼ if 0 < αᵢ < C, the same with j if 0 < αⱼ < C, "
    "else their mean"
)


class Diagnosis(NamedTuple):
    """The first condition that an answer violates.

    Attributes
    ----------
    condition : name of the condition.
    amount : size of the violation, in the condition's unit.
    sample : sample with the largest violation, counted from 0; None if it concerns all samples.
    finding : the violation as a sentence.
    step : the step of SMO, or its counterpart in another method, to look at; empty if unknown.
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
    problem: SampleProblem, point: Point, certificate: Certificate, claimed: Claim = "optimal"
) -> Diagnosis | None:
    """Return the first fault of a dual point that tolerances do not explain, or None.

    Parameters
    ----------
    problem : any problem on samples; it is diagnosed if it has a piecewise linear loss and one output.
    point : the answer as the solver returned it, with the solver's intercept `b` if it has one.
    certificate : certificate of this point.
    claimed : the solver's claim. An unfinished answer ("none") may be far from optimal, but must not
        violate its constraints or be worse than α = 0; one called optimal must be near the optimum.
    """
    alpha = point.alpha
    if alpha is None or alpha.shape != (problem.n,) or not np.isfinite(alpha).all():
        return None
    if certificate.infeasible or not isinstance(problem, Formulation):
        return None
    if problem.risk.terms is None:
        return None
    solver_b = float(point.b) if isinstance(point.b, (int, float)) else None
    return next(_faults(_Answer(problem.risk, alpha, solver_b, certificate), claimed), None)


def most_frequent(
    diagnoses: Iterable[tuple[str, Diagnosis]],
) -> tuple[int, str, Diagnosis] | None:
    """Return the most frequent faulty step, how often it was diagnosed, and the first problem with it.

    Parameters
    ----------
    diagnoses : pairs of a problem's name and a diagnosis of an answer to it.

    Returns
    -------
    tuple or None
        The count, the name of the first problem with this diagnosis, and the diagnosis.
    """
    pairs = list(diagnoses)
    counts = Counter((diagnosis.condition, diagnosis.step) for _, diagnosis in pairs)
    if not counts:
        return None
    step, count = counts.most_common(1)[0]
    return count, *next((name, d) for name, d in pairs if (d.condition, d.step) == step)


@dataclass(frozen=True, eq=False)
class _Answer:
    """The α returned by a solver, the solver's b if it has one, and values shared by the checks."""

    risk: Risk
    alpha: Vector
    solver_b: float | None
    certificate: Certificate

    @property
    def tolerance(self) -> float:
        """Accepted violation of constraints, relative to the largest |α| allowed, or attained."""
        largest = float(self.limits.max())
        return _FAULT_RTOL * (largest if largest < np.inf else float(np.abs(self.alpha).max()))

    @property
    def limits(self) -> Vector:
        """The largest |αᵢ| allowed, shape (n,)."""
        return self.risk.C * self.risk.loss.lipschitz

    @cached_property
    def scores(self) -> Vector:
        """Kβ, shape (n,)."""
        return gram_scores(self.risk.samples.gram(memory=0), self.risk.beta(self.alpha))


def _faults(answer: _Answer, claimed: Claim) -> Iterator[Diagnosis]:
    """Yield all faults, those that identify the faulty step best first."""
    c = answer.certificate
    if c.primal_residual > answer.tolerance:
        yield from _opposite_signs(answer)
        yield _constraint_violation(answer)
        return
    far = c.relative_gap > _FAULT_RTOL
    if far and claimed != "none":
        yield from _missing_targets(answer)
        yield from _all_at_bounds(answer)
    if far:
        yield from _opposite_signs(answer)
        # a bound of 0 is rounded outwards
        rounding = _MULTIPLIER_RTOL * float(np.nan_to_num(abs(c.primal_objective), posinf=0.0))
        if c.dual_objective < -rounding and not answer.risk.costs.any():
            finding = f"the dual objective is {c.dual_objective:.3g}, below its value 0 at α = 0"
            yield Diagnosis("stationarity", -c.dual_objective, None, finding, _ERRORS)
    if far and claimed != "none":
        yield from _plateau(answer)
    yield from _wrong_intercept(answer)
    if far and claimed == "optimal":
        yield from _not_stationary(answer)


def _opposite_signs(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield a fault if −α is feasible and its dual objective is above that of α = 0."""
    risk, alpha, certificate = answer.risk, answer.alpha, answer.certificate
    linear = float(risk.form.box.p @ box_point(risk, -alpha))
    dual = -linear - 0.5 * float(risk.beta(alpha) @ answer.scores)
    if dual <= 0 or infeasibility(risk, -alpha) > answer.tolerance:
        return
    finding = f"all signs are opposite: −α is feasible, with dual objective {dual:.3g}"
    off, gap = certificate.primal_residual, certificate.relative_gap
    condition, amount = ("box", off) if off > answer.tolerance else ("stationarity", gap)
    step = (
        "the sign of the answer, or of every step: w = Σ αᵢyᵢxᵢ with αᵢ ≥ 0, in regression Σ αᵢxᵢ"
    )
    yield Diagnosis(condition, amount, None, finding, step)


def _constraint_violation(answer: _Answer) -> Diagnosis:
    """Return the most violated constraint and the faulty step that this suggests."""
    risk, alpha, tolerance = answer.risk, answer.alpha, answer.tolerance
    low, high = risk.loss.limits(risk.y, risk.C)
    outside = np.maximum(alpha - high, low - alpha)
    i = int(outside.argmax())
    box, total_violation = float(outside[i]), infeasibility(risk, alpha)
    labelled = not low.any()  # αᵢ ≥ 0; in regression it has either sign
    if box > tolerance:
        bounds = f"0 ≤ α ≤ {high[i]:.3g}" if low[i] == 0 else f"{low[i]:.3g} ≤ α ≤ {high[i]:.3g}"
        finding = (
            f"violates its constraints by {box:.3g} "
            f"(α = {alpha[i]:.3g} at sample {i}, must be {bounds})"
        )
        step = _CLIPPING if labelled and risk.costs.size else ""
        if infeasibility(risk, risk.loss.signs(risk.y) * alpha) <= tolerance:
            step = "the answer: it must be the multipliers αᵢ ≥ 0, not αᵢyᵢ"
        elif labelled and alpha.min() >= -tolerance:
            on_margin = (risk.y - answer.scores)[alpha > tolerance]
            if np.ptp(on_margin) <= 2 * _FAULT_RTOL:  # all samples with α > 0 are on the margin
                step = "C: the box ends at α = C, and these α solve the hard margin, which has no C"
        return Diagnosis("box", box, i, finding, step)
    total = "Σαᵢyᵢ must be 0" if labelled else "Σ(αᵢ − αᵢ*) must be 0"
    if risk.costs.any() or risk.groups is not None:
        total = "the sum of each group's coefficients is fixed"
    finding = f"violates its constraints by {total_violation:.3g} ({total})"
    step = _equality_step(answer) if labelled and risk.groups is None else ""
    return Diagnosis("equality", total_violation, None, finding, step)


def _equality_step(answer: _Answer) -> str:
    """Return the faulty step of an answer that violates only the equality."""
    risk, alpha = answer.risk, answer.alpha
    largest = [float(alpha[risk.y == label].max(initial=0.0)) for label in (-1.0, 1.0)]
    if min(largest) <= _MULTIPLIER_RTOL * answer.tolerance / _FAULT_RTOL < max(largest):
        return "the labels: they must be −1 and +1; one class has α = 0, as if its label were 0"
    x, box = box_point(risk, alpha), risk.form.box
    violation = violating_pair(box.gradient(answer.scores), None, x - box.lb, box.ub - x)
    if violation <= _FAULT_RTOL and not answer.solver_b:
        return "the intercept: these α solve the problem without one, which has no equality"
    return "the second multiplier: when αⱼ changes, αᵢ must change by −yᵢyⱼ times as much"


def _missing_targets(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield a fault if every coefficient of a regression is about 0, as if there were no targets."""
    risk, gap = answer.risk, answer.certificate.relative_gap
    size = float(np.abs(answer.alpha).max())
    if risk.loss.is_regression and gap > 1 - _FAULT_RTOL and size <= answer.tolerance:
        finding = f"every αᵢ − αᵢ* is about 0 (at most {size:.2g}), as if there were no targets"
        step = (
            "the linear term form.p: only the soft margin has p = −1, regression has ε − y for αᵢ and "
            "ε + y for αᵢ*; with −1 instead αᵢ = αᵢ* = C is optimal. A solver for soft margins only "
            "states this in `refuses`"
        )
        yield Diagnosis("stationarity", gap, None, finding, step)


def _all_at_bounds(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield a fault if every α is 0, with a pair that should have moved, or if every α is at a bound."""
    risk, size, C = answer.risk, np.abs(answer.alpha), answer.limits
    # SMO moves pairs along one equality, with samples of both classes
    has_pairs = (
        risk.costs.size and risk.groups is None and bool(np.ptp(risk.loss.signs(risk.y)) > 0)
    )
    at_C = size >= (1 - _MULTIPLIER_RTOL) * C
    if not size.any():
        finding, sample, step = "every α is 0: no step was ever taken", None, ""
        if has_pairs:
            pair = np.array([risk.y.argmax(), risk.y.argmin()])
            K, end = risk.samples.gram(memory=0).block(pair, pair), float(risk.C[pair].min())
            eta = float(K[0, 0] + K[1, 1] - 2 * K[0, 1])
            best = min(2.0 / eta, end) if eta > 0 else end
            finding += (
                f"; samples {pair[0]} and {pair[1]}, of different labels, have Eᵢ − Eⱼ = −2, "
                f"η = {eta:.3g}, L = 0, H = {end:.3g}, and should move to α = {best:.3g}"
            )
            sample = int(pair[0])
            step = (
                "the first step: for αⱼ + yⱼ(Eᵢ − Eⱼ)/η the curvature is η = Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ > 0, and "
                "with a wrong sign of η αⱼ is clipped back to 0; or [L, H] is empty, as L and H are "
                "swapped, or are those of equal labels although the labels differ"
                if eta > 0
                else "the step without curvature, η = 0: then αⱼ goes to the better end of [L, H] "
                "(Platt 1998)"
            )
        yield Diagnosis("stationarity", 1.0, sample, finding, step)
    elif at_C.any() and (size[~at_C] <= _MULTIPLIER_RTOL * _MULTIPLIER_RTOL * size.max()).all():
        finding = "every α is at an end of its box, 0 or C, and none in between"
        step = f"{_CLIPPING}; or, if these are right, {_ERRORS}" if has_pairs else ""
        yield Diagnosis("stationarity", answer.certificate.relative_gap, None, finding, step)


def _plateau(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield a fault if several samples share a largest α that is only a fraction of C."""
    risk, sizes = answer.risk, np.abs(answer.alpha)
    size, C = float(sizes.max()), answer.limits
    at_end = int((sizes >= size * (1 - _MULTIPLIER_RTOL)).sum())
    if risk.is_hard or np.ptp(C) or size > (1 - _FAULT_RTOL) * C[0] or at_end < 3:
        return
    factor = C[0] / size
    is_mean = abs(factor - risk.n) < _FAULT_RTOL * risk.n
    finding = f"{at_end} samples have the largest α, {size:.3g}, as if that were C = {C[0]:.3g}"
    step = "the weights: losses are summed; C/n is that of their mean" if is_mean else "C"
    yield Diagnosis("scale", factor, None, finding, step)


def _wrong_intercept(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield a fault if the solver's b is far from every sample's, or costs more than α explains."""
    risk, solver_b, certificate = answer.risk, answer.solver_b, answer.certificate
    # ν-SVR has two offsets, b + ε and b − ε, which do not follow from b
    one_offset = risk.costs.size == 1 and risk.groups is None and not risk.is_hard
    if solver_b is None or not one_offset:
        return
    scores, cost = answer.scores, float(risk.costs[0])
    best = middle(*best_intercept(risk, scores))
    kinks = risk.y - scores
    width = float(kinks.max() - kinks.min())
    is_user_class = not kinks.min() - width <= solver_b <= kinks.max() + width
    solver_cost, best_cost = (
        cost * b + float(risk.C @ risk.loss.value(risk.y, scores + b)) for b in (solver_b, best)
    )
    rtol = _FAULT_RTOL if is_user_class else max(_FAULT_RTOL, certificate.relative_gap)
    if solver_cost - best_cost > rtol * max(abs(certificate.primal_objective), certificate.unit):
        finding = f"b = {solver_b:.3g}, but the best is {best:.3g}"
        opposite = abs(solver_b + best) <= _FAULT_RTOL * abs(best)
        step = "the sign of b: f(x) = Σ αᵢyᵢK(xᵢ, x) + b, not − b" if opposite else _BIAS
        yield Diagnosis("intercept", abs(solver_b - best), None, finding, step)


def _not_stationary(answer: _Answer) -> Iterator[Diagnosis]:
    """Yield the samples of the most violating pair, at the b at which both violate equally.

    Without an equality this is one sample, with b = 0. Distances to a bound at the level of rounding, as
    left by interior point methods, count only if there is no other violation.
    """
    risk, alpha = answer.risk, answer.alpha
    box, x = risk.form.box, box_point(risk, alpha)
    g = box.gradient(answer.scores)
    worst, rounding = np.empty(0, np.int64), _MULTIPLIER_RTOL * float(np.abs(alpha).max())
    for tolerance in (rounding, 0.0):
        below, above = (np.where(d > tolerance, d, 0.0) for d in (x - box.lb, box.ub - x))
        worst = violators(g, box.a, below, above, box.groups)[1] if not worst.size else worst
    if not worst.size:
        return
    b = -float((g[worst] / box.a[worst]).mean()) if box.a is not None and worst.size > 1 else 0.0
    samples, targets = [int(i) % risk.n for i in worst], risk.loss.is_regression
    descriptions: list[str] = []
    for i in samples:
        f, y = answer.scores[i] + b, risk.y[i]
        value = f"f − y = {f - y:.3g}" if targets else f"yf = {y * f:.3g}"
        descriptions.append(f"sample {i} has α = {alpha[i]:.3g} although {value}")
    offset = "b" if risk.groups is None else "their offset"
    is_pair = len(samples) > 1
    pair = f", with {offset} = {b:.3g}: this is the most violating pair" if is_pair else ""
    scaling_hint = ", even for the best multiple of α" if risk.is_hard else ""
    gap = answer.certificate.relative_gap
    finding = (
        f"not stationary: {', and '.join(descriptions)}{pair}; "
        f"the objective could still improve by {100 * gap:.3g} %{scaling_hint}"
    )
    steps = f"{_ERRORS}; or the b in them: {_BIAS}"
    if gap <= 0.1:  # an early stop explains it; faulty steps leave a larger gap
        steps = (
            "the stopping rule: this is near the optimum, but a pair that was never tried improves it; "
            f"else {steps}"
        )
    step = "" if targets else steps
    yield Diagnosis("stationarity", gap, samples[0], finding, step)
