"""Bounds on the optimum by Fenchel duality, for every formulation with a convex loss.

    −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ),    f = Kβ + u_g
for Σ_{i∈g} βᵢ = c_g (Rockafellar 1970, theorem 31.3; Shalev-Shwartz & Zhang 2013), with an offset u_g
for each group of samples and a linear cost c_g of it.

Both sides are written once and evaluated in an arithmetic A that tracks its own rounding: `Float64`, or
`Arb`, in which they are theorems. In float64 an equality holds only up to rounding, so one coefficient
with slack absorbs the remainder: the lower bound belongs to an exactly feasible point.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import inf, nextafter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from dualgap.problems.arithmetic import Balls, Intervals
from dualgap.problems.arithmetic.intervals import WEIGHT_RTOL, gamma
from dualgap.problems.box import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.losses import ScalarLoss
from dualgap.problems.risk.dual_point import EnclosureT, Weights, budget, required_sums
from dualgap.problems.risk.offsets import Interval, root_offsets
from dualgap.problems.risk.risk import Risk, by_side, groups_of, losses_at, shifts
from dualgap.problems.validation import is_ours

Positions = Indices | tuple[Indices, Indices]  # of coefficients: samples, or samples and outputs


class Arithmetic(ABC, Generic[EnclosureT]):
    """A problem's numbers as enclosures of one class.

    Attributes
    ----------
    array : the class of its enclosures.
    min_improvement : smallest relative decrease of the primal value for which a rescaled w is accepted.
    y, C, costs : the problem's targets, weights (1 if infinite) and costs of the offsets.
    """

    array: type[EnclosureT]
    min_improvement: ClassVar[float]
    y: Vector | EnclosureT
    C: EnclosureT
    costs: EnclosureT

    @abstractmethod
    def coefficients(self, risk: Risk, alpha: Vector) -> EnclosureT:
        """Return β for `alpha`, within its limits up to their rounding."""

    @abstractmethod
    def norm2(self, risk: Risk, at: Positions, moves: EnclosureT) -> EnclosureT:
        """Return ‖Σ movesᵢφ(xᵢ)‖² for changes `moves` of the coefficients `at`."""


def targets(risk: Risk, array: type[EnclosureT]) -> Vector | EnclosureT:
    """Return the targets as an `array`, with their error if they are kernel values; labels as they are.

    `Intervals` cover the error of the kernel value and of three products.
    """
    y, factor, enclosure = risk.y, risk.target_factor, cast(Any, array)
    if factor is None:
        return enclosure(y) if risk.loss.is_regression else y
    if issubclass(array, Intervals):
        value_errors = 1.01 * factor * risk.samples.gram(memory=0).radius() ** 2
        return enclosure(y, gamma(4) * np.abs(y) + value_errors)
    kernel, X = risk.samples.kernel, risk.samples.X
    return enclosure.joined([kernel.balls(X, i, i) for i in np.arange(risk.n)[:, None]]) * factor


class Float64(Arithmetic[Intervals]):
    """Arithmetic on float64 midpoints with radii."""

    array = Intervals
    min_improvement = 1e-12

    def __init__(self, risk: Risk, y: Vector | Intervals) -> None:
        self.y = y
        self.C = Intervals(np.where(np.isinf(risk.C), 1.0, risk.C))
        self.costs = Intervals(risk.costs)

    def coefficients(self, risk: Risk, alpha: Vector) -> Intervals:
        """Return β for `alpha`."""
        return Intervals(risk.beta(alpha))

    def norm2(self, risk: Risk, at: Positions, moves: Intervals) -> Intervals:
        """Return a ball around ‖Σ movesᵢφ(xᵢ)‖², from the triangle inequality."""
        rows = at[0] if isinstance(at, tuple) else at
        length = abs(moves).high @ np.sqrt(risk.samples.kernel.diagonal(risk.samples.X)[rows])
        half = 0.51 * float(length * length)
        return Intervals(half, half)


Exact = TypeVar("Exact", Vector, Balls)  # offsets: float64 numbers, or exact balls with more digits


class Primal(NamedTuple, Generic[EnclosureT, Exact]):
    """The primal objective `value` at scale·(w, offsets)."""

    value: EnclosureT
    offsets: Exact
    scale: float = 1.0


def dual_terms(
    risk: Risk, A: Arithmetic[EnclosureT], beta: EnclosureT, weights: Weights[EnclosureT]
) -> tuple[EnclosureT, EnclosureT]:
    """Return −Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) and ‖Σ βᵢφ(xᵢ)‖² at an exactly feasible point next to β.

    `weights` is Σ βᵢφ(xᵢ).

    Raises
    ------
    ArithmeticError
        If no such point is found, or its conjugate is infinite.
    """
    exact, norm2 = make_exactly_feasible(risk, A, beta, weights)
    linear, size = linear_term(risk, A, exact), abs(exact).sum()
    if by_side(risk) and size.mid:  # scale β to the budget: the dual is concave, and 0 at 0
        factor = float(np.minimum((budget(risk) / size).low, 1.0))
        linear, norm2 = factor * linear, factor * norm2
    return linear, norm2


def linear_term(risk: Risk, A: Arithmetic[EnclosureT], beta: EnclosureT) -> EnclosureT:
    """Return −Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ); ArithmeticError if a conjugate is infinite."""
    is_user_loss = isinstance(risk.loss, ScalarLoss) and not is_ours(type(risk.loss))
    if is_user_loss and not risk.is_hard:
        _check_domain(risk, beta.mid)  # its dual range may be wrong
    C = A.C.reshape(-1, *(1 for _ in beta.shape[1:]))
    return -(A.C * risk.loss.conjugate(A.y, -(beta / C))).sum()


def total_loss(
    risk: Risk, A: Arithmetic[EnclosureT], scores: EnclosureT, offsets: Vector | Balls
) -> EnclosureT:
    """Return Σ Cᵢℓ(yᵢ, fᵢ) for decisions fᵢ = score + offset."""
    return (A.C * losses_at(risk, A.y, scores, offsets)).sum()


@np.errstate(all="ignore")
def _check_domain(risk: Risk, beta: Vector) -> None:
    """Raise ArithmeticError if s·f − ℓ(y, f) is unbounded for s = −β/C, so that ℓ*(y, s) is infinite."""
    loss, y, s = risk.loss, risk.y, -beta / risk.C
    conjugate = loss.conjugate(y, s)
    for f in (-1e100, 1e100):  # where only the slopes of the loss matter, up to rounding
        value = loss.value(y, np.full(y.size, f))
        outside = value + conjugate - s * f < -(2.0**-40) * (np.abs(value) + np.abs(s * f))
        if outside.any():
            i = int(outside.argmax())
            raise ArithmeticError(
                f"no dual bound: the loss {loss.name} has no slope {s[i]:.3g} at sample {i}; correct "
                "its dual_range, the range of α/C"
            )


def make_exactly_feasible(
    risk: Risk, A: Arithmetic[EnclosureT], beta: EnclosureT, weights: Weights[EnclosureT]
) -> tuple[EnclosureT, EnclosureT]:
    """Return an exactly feasible point next to β, and its ‖Σ βᵢφ(xᵢ)‖²."""
    # with several outputs, the coefficients of a sample add up to 0: change the farthest below its limit
    if len(beta.shape) > 1:
        _, high = risk.loss.limits(risk.y, risk.C)
        at: Positions = np.arange(risk.n), (high - beta.mid).argmax(axis=1)
        moves = -beta.sum(axis=1)
    else:
        at, moves = _moves(risk, A, beta)
    if not len(moves) or not abs(moves).high.any():
        return beta, weights.norm2
    norm2 = weights.norm2 + 2 * (moves * weights.scores[at]).sum() + A.norm2(risk, at, moves)
    return beta.replaced(at, beta[at] + moves), norm2


def _moves(risk: Risk, A: Arithmetic[EnclosureT], beta: EnclosureT) -> tuple[Positions, EnclosureT]:
    """Return indices and changes of coefficients after which each equality holds exactly.

    Per group one coefficient changes, or a few of which all but one reach a limit.
    """
    moved, sums = beta.mid.copy(), required_sums(risk)
    low, high = np.sort([risk.beta(end) for end in risk.loss.limits(risk.y, risk.C)], axis=0)
    ends = np.maximum(np.abs(low), np.abs(high))
    spare = WEIGHT_RTOL * np.where(np.isfinite(ends), ends, 0.0)
    original, moves = beta, dict[int, EnclosureT]()
    for members, total in zip(groups_of(risk, sums.size), sums.tolist(), strict=True):
        for _ in range(32):  # each coefficient takes up a part of the sum's rounding error
            move = beta[members].shortfall(total)
            size = float(abs(move).high)
            if not size:
                break
            below, above = moved[members] - low[members], high[members] - moved[members]
            slack = above if move.mid > 0 else below
            free = np.where(slack - spare[members] >= 2 * size, np.minimum(below, above), -1.0)
            if free.max() >= 0:
                j = int(members[free.argmax()])  # may have reached a limit before
                moves[j] = moves[j] + move if j in moves else move
                break
            i = int(members[slack.argmax()])
            moved[i] = (high if move.mid > 0 else low)[i]
            at_limit = A.coefficients(risk, risk.alpha(moved))
            moves[i] = at_limit[i] - original[i]
            beta = beta.replaced([i], at_limit[[i]])
        else:
            raise ArithmeticError("no dual point that meets every equality exactly was found")
    return np.array([*moves], np.intp), A.array.joined([*moves.values()])


def primal_value(
    risk: Risk,
    A: Arithmetic[EnclosureT],
    weights: Weights[EnclosureT],
    offsets: Vector | Balls,
) -> EnclosureT:
    """Return ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ)."""
    value = total_loss(risk, A, weights.scores, offsets) + 0.5 * weights.norm2
    return value + (A.costs * offsets).sum() if risk.costs.any() else value


def best_primal(
    risk: Risk,
    A: Arithmetic[EnclosureT],
    weights: Weights[EnclosureT],
    choices: Iterable[Exact],
) -> Primal[EnclosureT, Exact]:
    """Return the best of the primal points (w, u) and (s·w, s·u) for `choices` of u and some s near 1.

    For a huge C, a margin that rounding leaves 1e-13 below 1 costs C·1e-13.
    """
    primals = [Primal(primal_value(risk, A, weights, u), u) for u in choices]
    best = min(primals, key=lambda primal: float(primal.value.high))
    short = np.empty(0)
    if risk.loss.unit_margin:
        short = (1 - (weights.scores + shifts(risk, best.offsets)) * A.y).high
    for tolerance in (1e-12, 1e-10, 1e-8):  # a margin this close below 1 is rounding
        shortfalls = short[(short > 0) & (short < tolerance)]
        if not shortfalls.size:
            continue
        s = nextafter(1 / (1 - float(shortfalls.max())), inf)  # raises these margins to 1
        value = primal_value(risk, A, stretched(weights, s), s * best.offsets)
        previous = best.value.high
        if value.high < previous - A.min_improvement * abs(previous):
            best = Primal(value, best.offsets, s)
    return best


def stretched(weights: Weights[EnclosureT], s: float) -> Weights[EnclosureT]:
    """Return the weights s·w."""
    w = None if weights.w is None else s * weights.w
    return Weights(s * weights.scores, s * (s * weights.norm2), w)


def corrections(
    risk: Risk,
    A: Arithmetic[EnclosureT],
    scores: EnclosureT,
    offsets: Vector | Balls | None = None,
) -> list[Interval]:
    """Return the interval of best changes of each offset (default: offsets of 0), in float64.

    Residuals are rounded once, so a correction has digits beyond those of its offset.
    """
    if not risk.costs.size:
        return []
    if risk.terms is None:
        predictions = scores if offsets is None else scores + shifts(risk, offsets)
        if risk.loss.depends_on_residual:
            differences = -(predictions - A.y).mid
            if not np.isfinite(differences).all():
                return [(0.0, 0.0)] * risk.costs.size
            roots = root_offsets(risk, 0.0 * differences, differences)
        else:
            roots = root_offsets(risk, predictions.mid)
        return [(b, b) for b in roots]
    groups, sides = risk.form.box.groups, risk.form.sides
    if A.y is not risk.y or groups is not None:
        terms = risk.loss.terms(A.y)
        assert terms is not None
        sides = terms.sides()
    if offsets is None:
        offsets = np.zeros(risk.costs.size)
    if groups is None:
        added = [offsets[0]] * len(sides)
    else:
        added = np.concatenate([offsets, [0.0]])[groups].reshape(len(sides), -1)
    residuals = [side.residual(scores + u).mid for side, u in zip(sides, added, strict=True)]
    return risk.form.box.multipliers(np.concatenate(residuals))


def middles(intervals: list[Interval]) -> Vector:
    """Return the middle of each interval."""
    return np.array([middle(*interval) for interval in intervals])


def shifted(weights: Weights[EnclosureT], beta: EnclosureT, delta: float) -> Weights[EnclosureT]:
    """Return weights Σ βᵢφ(xᵢ) in the feature space of K + δI.

    If K ⪰ 0 is known only up to δ, the dual and primal objectives D and P satisfy
        D_K(α) = D_{K+δI}(α) + ½δ‖α‖²  ≤  P_{K+δI}(w, u) + ½δ Σ max αᵢ²   for all feasible α,
    which encloses the maximum of the dual of K itself.
    """
    change = delta * beta
    return Weights(weights.scores + change, weights.norm2 + (change * beta).sum(), weights.w)
