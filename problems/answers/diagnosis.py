"""What is wrong with an answer, and in which step of SMO such a fault comes about.

An answer α, b of a support vector machine is optimal if it keeps to the box and the equalities of the
dual, and if no pair of multipliers can improve it (Platt 1998; Straka, NPFL129 lecture 7, 2020). Which
of these conditions fails, and how, tells textbook errors apart:

    −α in place of α                                     the sign of the answer, or of every step
    a multiplier outside its box, the equality kept      the ends L and H, to which αⱼ is clipped
    within the box, the equality lost                    αᵢ, which moves against αⱼ
    α = 0 though no sample is right                      no step had room: the sign of η, or L and H
    αᵢ = αᵢ* for every sample of a regression            the linear term, which has the targets
    every α at 0 or C                                    steps go to an end in any case: L and H, or E
    a dual objective below that of α = 0                 steps lead downhill: errors E of an earlier α
    α ends at a fraction of C                            the weight of the losses
    a b that no sample has                               the update of b

Everything is found from the point, the data and the claim alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from dualgap.problems.box_gap import middle, violating_pair, violators
from dualgap.problems.certificates.certificate import Certificate
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.offsets import best_intercept
from dualgap.problems.forms import Claim, Point
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.gram.products import gram_scores

Condition = Literal["box", "equality", "stationarity", "scale", "intercept"]

_FAR_GAP = 1e-2  # relative gap, or excess of the objective, that tolerances do not explain
# relative to the largest α: first-order methods stay some 1e-4 off their constraints, Pegasos 3e-3
_OFF_CONSTRAINTS = 1e-2
_NEAR_GAP = (
    0.1  # relative gap up to which an early end explains a far answer; faulty steps leave more
)
_SAME_MULTIPLIER = 1e-6  # relative difference of multipliers that are at one bound

_ENDS = (
    "L and H: for equal labels L = max(0, αᵢ + αⱼ − C), H = min(C, αᵢ + αⱼ), for different ones "
    "L = max(0, αⱼ − αᵢ), H = min(C, C + αⱼ − αᵢ); the new αⱼ is clipped to them before αᵢ follows"
)
_SIGN = "the sign of the answer, or of every step: w = Σ αᵢyᵢxᵢ with αᵢ ≥ 0, in regression Σ αᵢxᵢ"
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
_LINEAR_TERM = (
    "the linear term form.p: the soft margin alone has p = −1, regression has ε − y for αᵢ and ε + y "
    "for αᵢ*; with −1 in its place αᵢ = αᵢ* = C is optimal. A solver of soft margins alone states this "
    "in `refuses`"
)
_STOPPING = (
    "the stopping rule: this is near the optimum, but a pair that was never tried improves it"
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
    return next(_faults(_Answer(problem, alpha, own_b, certificate), claimed), None)


def most_frequent(
    diagnoses: Iterable[tuple[str, Diagnosis]],
) -> tuple[int, str, Diagnosis] | None:
    """Return how often the most frequent faulty step was diagnosed, and where it was first.

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
    """An α as a solver gave it, with its own b if it has one, and what several checks ask of it."""

    problem: Formulation
    alpha: Vector
    own_b: float | None
    certificate: Certificate

    @property
    def tolerance(self) -> float:
        """What α may be off its constraints, relative to the largest |α| that may be, or that is."""
        largest = self.problem.upper if self.problem.is_bounded else np.abs(self.alpha)
        return _OFF_CONSTRAINTS * float(largest.max())

    @cached_property
    def scores(self) -> Vector:
        """Kβ, shape (n,)."""
        return gram_scores(self.problem.gram(memory=0), self.problem.beta(self.alpha))


def _faults(answer: _Answer, claimed: Claim) -> Iterator[Diagnosis]:
    """Yield what is wrong, what says most of the faulty step first."""
    c = answer.certificate
    if c.primal_residual > answer.tolerance:
        yield from _opposite(answer)
        yield _off_constraints(answer)
        return
    far = c.relative_gap > _FAR_GAP
    if far and claimed != "none":
        yield from _no_targets(answer)
        yield from _at_ends(answer)
    if far:
        yield from _opposite(answer)
        # a bound of 0 is moved outwards
        rounding = _SAME_MULTIPLIER * float(np.nan_to_num(abs(c.primal_objective), posinf=0.0))
        if c.dual_objective < -rounding and not answer.problem.costs.any():
            finding = (
                f"the dual objective is {c.dual_objective:.3g}, below the 0 that it begins with"
            )
            yield Diagnosis("stationarity", -c.dual_objective, None, finding, _ERRORS)
    if far and claimed != "none":
        yield from _plateau(answer)
    yield from _wrong_intercept(answer)
    if far and claimed == "optimal":
        yield from _not_stationary(answer)


def _opposite(answer: _Answer) -> Iterator[Diagnosis]:
    """−α keeps to the constraints, and has a dual objective above the 0 of α = 0."""
    problem, alpha, certificate = answer.problem, answer.alpha, answer.certificate
    linear = float(problem.box.p @ problem.to_box_variables(-alpha))
    dual = -linear - 0.5 * float(problem.beta(alpha) @ answer.scores)
    if dual <= 0 or problem.infeasibility(-alpha) > answer.tolerance:
        return
    finding = f"all signs are opposite: −α is feasible, and its dual objective {dual:.3g}"
    off, gap = certificate.primal_residual, certificate.relative_gap
    condition, amount = ("box", off) if off > answer.tolerance else ("stationarity", gap)
    yield Diagnosis(condition, amount, None, finding, _SIGN)


def _off_constraints(answer: _Answer) -> Diagnosis:
    """Return which constraint is violated most, and what that is a sign of."""
    problem, alpha, tolerance = answer.problem, answer.alpha, answer.tolerance
    low, high = problem.limits
    outside = np.maximum(alpha - high, low - alpha)
    i = int(outside.argmax())
    box, all_of_it = float(outside[i]), problem.infeasibility(alpha)
    labelled = not low.any()  # αᵢ ≥ 0; in regression it has either sign
    if box > tolerance:
        bounds = f"0 ≤ α ≤ {high[i]:.3g}" if low[i] == 0 else f"{low[i]:.3g} ≤ α ≤ {high[i]:.3g}"
        finding = (
            f"off its constraints by {box:.3g} (α = {alpha[i]:.3g} at sample {i}, must be {bounds})"
        )
        step = _ENDS if labelled and problem.intercept else ""
        if problem.infeasibility(problem.signs * alpha) <= tolerance:
            step = "the answer: it must be the multipliers αᵢ ≥ 0, not αᵢyᵢ"
        elif labelled and alpha.min() >= -tolerance:
            on_margin = (problem.y - answer.scores)[alpha > tolerance]
            if np.ptp(on_margin) <= 2 * _FAR_GAP:  # every sample with α > 0 lies there
                step = "C: the box ends at α = C, and these α solve the hard margin, which has no C"
        return Diagnosis("box", box, i, finding, step)
    total = "Σαᵢyᵢ must be 0" if labelled else "Σ(αᵢ − αᵢ*) must be 0"
    if problem.costs.any() or problem.groups is not None:
        total = "one sum of each group's coefficients is given"
    finding = f"off its constraints by {all_of_it:.3g} ({total})"
    step = _lost(answer) if labelled and problem.groups is None else ""
    return Diagnosis("equality", all_of_it, None, finding, step)


def _lost(answer: _Answer) -> str:
    """Return what an answer does that violates the equality and nothing else."""
    problem, alpha = answer.problem, answer.alpha
    largest = [float(alpha[problem.y == label].max(initial=0.0)) for label in (-1.0, 1.0)]
    if min(largest) <= _SAME_MULTIPLIER * answer.tolerance / _OFF_CONSTRAINTS < max(largest):
        return "the labels: they are −1 and +1; one class has no multiplier, as if its label were 0"
    x, box = problem.to_box_variables(alpha), problem.box
    violation = violating_pair(problem.box_gradient(answer.scores), None, x - box.lb, box.ub - x)
    if violation <= _FAR_GAP and not answer.own_b:
        return "the intercept: these α solve the problem without one, which has no equality"
    return "the second multiplier: when αⱼ changes, αᵢ must change by −yᵢyⱼ times as much"


def _no_targets(answer: _Answer) -> Iterator[Diagnosis]:
    """Every coefficient of a regression is about 0, as if no sample had a target."""
    problem, gap = answer.problem, answer.certificate.relative_gap
    size = float(np.abs(answer.alpha).max())
    if problem.loss.is_regression and gap > 1 - _FAR_GAP and size <= answer.tolerance:
        finding = f"every αᵢ − αᵢ* is about 0 (at most {size:.2g}), as if no sample had a target"
        yield Diagnosis("stationarity", gap, None, finding, _LINEAR_TERM)


def _at_ends(answer: _Answer) -> Iterator[Diagnosis]:
    """No step was ever taken, with a pair that should have taken one; or every α is at a bound."""
    problem, size, C = answer.problem, np.abs(answer.alpha), answer.problem.upper
    # SMO moves pairs along one equality, with samples of both classes
    has_pairs = problem.intercept and problem.groups is None and bool(np.ptp(problem.signs) > 0)
    at_C = size >= (1 - _SAME_MULTIPLIER) * C
    if not size.any():
        finding, sample, step = "every α is 0: no step was ever taken", None, ""
        if has_pairs:
            pair = np.array([problem.y.argmax(), problem.y.argmin()])
            K, end = problem.gram(memory=0).block(pair, pair), float(problem.weight[pair].min())
            eta = float(K[0, 0] + K[1, 1] - 2 * K[0, 1])
            best = min(2.0 / eta, end) if eta > 0 else end
            finding += (
                f"; samples {pair[0]} and {pair[1]}, of different labels, have Eᵢ − Eⱼ = −2, "
                f"η = {eta:.3g}, L = 0, H = {end:.3g}, and should go to α = {best:.3g}"
            )
            sample, step = int(pair[0]), _NO_ROOM if eta > 0 else _FLAT
        yield Diagnosis("stationarity", 1.0, sample, finding, step)
    elif at_C.any() and (size[~at_C] <= _SAME_MULTIPLIER * _SAME_MULTIPLIER * size.max()).all():
        finding = "every α is at an end of its box, 0 or C, and none between"
        step = f"{_ENDS}; or, if these are right, {_ERRORS}" if has_pairs else ""
        yield Diagnosis("stationarity", answer.certificate.relative_gap, None, finding, step)


def _plateau(answer: _Answer) -> Iterator[Diagnosis]:
    """α ends at a fraction of C, where several samples are at that bound."""
    problem, sizes = answer.problem, np.abs(answer.alpha)
    size, C = float(sizes.max()), problem.upper
    at_end = int((sizes >= size * (1 - _SAME_MULTIPLIER)).sum())
    if not problem.is_bounded or np.ptp(C) or size > (1 - _FAR_GAP) * C[0] or at_end < 3:
        return
    share = C[0] / size
    is_mean = abs(share - problem.n) < _FAR_GAP * problem.n
    finding = f"{at_end} samples have the largest α, {size:.3g}, as if C = {C[0]:.3g} were that"
    what = "the weights: the losses are summed, and C/n is that of their mean" if is_mean else "C"
    yield Diagnosis("scale", share, None, finding, what)


def _wrong_intercept(answer: _Answer) -> Iterator[Diagnosis]:
    """The solver's own b is wrong: far from every sample's, or costly where α is right."""
    problem, own, certificate = answer.problem, answer.own_b, answer.certificate
    # the two of ν-SVR are b + ε and b − ε, neither of which follows from b
    one_offset = problem.costs.size == 1 and problem.groups is None and problem.is_bounded
    if own is None or not one_offset:
        return
    scores, cost = answer.scores, float(problem.costs[0])
    best = middle(*best_intercept(problem, scores))
    kinks = problem.y - scores
    reach = float(kinks.max() - kinks.min())
    nowhere = not kinks.min() - reach <= own <= kinks.max() + reach
    at_own, at_best = (
        cost * b + float(problem.weight @ problem.loss.value(problem.y, scores + b))
        for b in (own, best)
    )
    least = _FAR_GAP if nowhere else max(_FAR_GAP, certificate.relative_gap)
    if at_own - at_best > least * max(abs(certificate.primal_objective), certificate.unit):
        finding = f"b = {own:.3g}, where the best is {best:.3g}"
        opposite = abs(own + best) <= _FAR_GAP * abs(best)
        step = "the sign of b: f(x) = Σ αᵢyᵢK(xᵢ, x) + b, and not − b" if opposite else _BIAS
        yield Diagnosis("intercept", abs(own - best), None, finding, step)


def _not_stationary(answer: _Answer) -> Iterator[Diagnosis]:
    """The samples of the most violating pair, at the b at which both violate equally.

    One sample and b = 0 without an equality. What an interior point method leaves of an α that should
    be 0, or short of C, violates only where nothing else does.
    """
    problem, alpha = answer.problem, answer.alpha
    box, x, g = problem.box, problem.to_box_variables(alpha), problem.box_gradient(answer.scores)
    found, left = np.empty(0, np.int64), _SAME_MULTIPLIER * float(np.abs(alpha).max())
    for least in (left, 0.0):
        below, above = (np.where(room > least, room, 0.0) for room in (x - box.lb, box.ub - x))
        found = violators(g, box.a, below, above, box.groups)[1] if not found.size else found
    if not found.size:
        return
    b = -float((g[found] / box.a[found]).mean()) if box.a is not None and found.size > 1 else 0.0
    samples, targets = [int(i) % problem.n for i in found], problem.loss.is_regression
    places: list[str] = []
    for i in samples:
        f, y = answer.scores[i] + b, problem.y[i]
        place = f"f − y = {f - y:.3g}" if targets else f"yf = {y * f:.3g}"
        places.append(f"sample {i} has α = {alpha[i]:.3g} although {place}")
    offset = "b" if problem.groups is None else "their offset"
    pair = f", with {offset} = {b:.3g}: no pair violates more" if len(samples) > 1 else ""
    multiple = "" if problem.is_bounded else ", and no multiple of α leaves less"
    gap = answer.certificate.relative_gap
    finding = (
        f"not stationary: {', and '.join(places)}{pair}; "
        f"a share of {gap:.2g} of the objective is to be gained{multiple}"
    )
    steps = f"{_ERRORS}; or the b in them: {_BIAS}"
    steps = f"{_STOPPING}; else {steps}" if gap <= _NEAR_GAP else steps
    step = "" if targets else steps
    yield Diagnosis("stationarity", gap, samples[0], finding, step)
