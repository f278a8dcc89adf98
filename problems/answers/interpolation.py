"""Answers between two values of C, lam or epsilon: convex combinations of both, with their bounds.

At C = (1 − t)·C₁ + t·C₂ the point (1 − t)·(α₁, w₁, b₁) + t·(α₂, w₂, b₂) is feasible. The dual objective
is concave in C and α together, and the loss is convex in w and b. If L is the sum of losses for C = 1,
and Δ = ‖w₁ − w₂‖²,
    dual(α)       ≥  (1 − t)·dual₁ + t·dual₂ + ½t(1 − t)Δ
    primal(w, b)  ≤  (1 − t)·primal₁ + t·primal₂ − ½t(1 − t)Δ + t(1 − t)(C₂ − C₁)(L₁ − L₂)
    gap           ≤  (1 − t)·gap₁ + t·gap₂ + t(1 − t)·[(C₂ − C₁)(L₁ − L₂) − Δ]
For lam, 1/lam takes the place of C. Along epsilon α stays feasible, and the loss is convex in w, b and
epsilon together, so (epsilon₂ − epsilon₁)(‖β₁‖₁ − ‖β₂‖₁) takes the place of the product with L, now in
the bound of the dual. If the optima in between are on a line, as they are piecewise (Hastie, Rosset,
Tibshirani & Zhu 2004, "The entire regularization path for the support vector machine"), the bracket is 0
for two optima. Others hold one answer fixed instead (Giesen, Jaggi & Laue 2012, "Approximating
parameterized convex optimization problems").

The bounds of the certificates include their rounding errors; those made here are included too.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import UNIT
from dualgap.problems.dataset import Vector
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.gram.products import gram_products
from dualgap.problems.problem import replace_fields
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.validation import check_positive

Parameter = Literal["C", "lam", "epsilon"]


def with_value(problem: Formulation, parameter: Parameter, value: float) -> Formulation:
    """Return the problem with another C, lam or epsilon; if C is a vector, `value` is its maximum."""
    value, current = check_positive(value, parameter, zero=True), getattr(problem, parameter)
    new = value if np.ndim(current) == 0 else value * (current / current.max())
    return replace_fields(problem, **{parameter: new})


def primal_excess(problem: Formulation, certificate: Certificate) -> float:
    """Return how far the primal value at w = Σ βᵢφ(xᵢ) may be from a certificate's, at s·w with s ≥ 1.

    By convexity, a loss at f/s is at most ℓ(f)/s + (1 − 1/s)·ℓ(0). It is at least ℓ(f)/s², as s ≠ 1 is
    only taken for losses with a margin of 1.
    """
    if certificate.scale == 1.0:
        return 0.0
    risk = problem.risk
    at_zero = float(risk.C @ risk.loss.value(risk.y, np.zeros(risk.n)))
    return 1.01 * (certificate.scale - 1.0) * (at_zero + 2.0 * certificate.primal_objective)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The convex combinations of two answers, and bounds for the values of a parameter in between.

    A fraction t from 0 to 1 stands for the value at which C, 1/lam or epsilon is 1 − t times that of the
    first answer plus t times that of the second.

    Attributes
    ----------
    problem : with any value of the parameter.
    values : at which the answers were computed, in increasing order.
    certificates : of each answer's α alone, w = Σ βᵢφ(xᵢ).
    """

    problem: Formulation
    parameter: Parameter
    values: tuple[float, float]
    certificates: tuple[Certificate, Certificate]

    def fraction(self, value: Vector | float) -> Vector:
        """Return the fraction t of values of the parameter."""
        first, second, at = (self._multiplier(v) for v in (*self.values, value))
        return np.clip((at - first) / (second - first), 0.0, 1.0)

    def alpha(self, value: float) -> Vector:
        """Return the α for a value of the parameter, shape (n,)."""
        t, (first, second) = float(self.fraction(value)), self.certificates
        return (1.0 - t) * first.point.alpha + t * second.point.alpha

    @property
    def middle(self) -> float:
        """The value at the fraction ½."""
        middle = 0.5 * sum(self._multiplier(value) for value in self.values)
        return float(self._multiplier(middle))

    @cached_property
    def relative_gaps(self) -> Vector:
        """Upper bounds on the relative gap at all values in each of 64 equal ranges of fractions."""
        t, (first, second) = np.linspace(0.0, 1.0, 65), self.certificates
        dual, primal, _ = self._curvatures
        lower = _minimum(first.dual_objective, second.dual_objective, t) - _maximum_bump(-dual, t)
        upper = _maximum(*self._primal_bounds, t) + _maximum_bump(primal, t)
        scales = first.unit, second.unit  # proportional to C; along epsilon they fall
        unit = min(scales) if self.parameter == "epsilon" else _minimum(*scales, t)
        sizes, gaps = np.maximum(np.maximum(lower, -upper), unit), self.gaps(t)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gaps > 0, _rounded_up(gaps / np.maximum(sizes, 0.0)), 0.0)

    def gaps(self, fractions: Vector) -> Vector:
        """Return upper bounds on the gap between each two of `fractions` (k + 1,), shape (k,)."""
        pairs = zip(self._primal_bounds, self.certificates, strict=True)
        first, second = (upper - c.dual_objective for upper, c in pairs)
        curvature = max(0.0, self._curvatures[2])
        return _rounded_up(_maximum(first, second, fractions) + _maximum_bump(curvature, fractions))

    def radii(self, fractions: Vector) -> Vector:
        """Return how far optimal weights may be from those of answers, between each two of `fractions`.

        ‖w* − w‖ ≤ r (k,) for w* and w at a value between two of the k + 1 fractions: both objectives are
        1-strongly convex, so ½‖w* − w‖² is at most primal − optimum and at most optimum − dual.
        """
        rounding = max(_weights_error(certificate) for certificate in self.certificates)
        return _rounded_up(np.sqrt(self.gaps(fractions)) + rounding)

    @cached_property
    def _curvatures(self) -> tuple[float, float, float]:
        """The factors of t(1 − t) in the bounds of the dual, of the primal, and of the gap."""
        multipliers = [Intervals(value) for value in self.values]
        if self.parameter == "lam":
            multipliers = [1.0 / value for value in multipliers]
        step, half = multipliers[1] - multipliers[0], 0.5 * self._least_distance2
        if self.parameter == "epsilon":
            norms1 = [_norm1(certificate) for certificate in self.certificates]
            product = step * (norms1[0] - norms1[1])
            dual, primal = half - product, Intervals(-half)
        else:
            primals = zip(self._primals, self.certificates, multipliers, strict=True)
            losses = [(value - 0.5 * _norm2(c)) / C for value, c, C in primals]
            product = step * (losses[0] - losses[1])
            dual, primal = Intervals(half), product - half
        return float(dual.low), float(primal.high), float((product - 2.0 * half).high)

    @property
    def _least_distance2(self) -> float:
        """A lower bound on ‖w₁ − w₂‖²."""
        first, second = self.certificates
        beta = [self.problem.risk.beta(c.point.alpha) for c in self.certificates]
        change = Intervals(beta[1]) - beta[0]
        if first.point.w is not None:
            difference = Intervals(second.point.w) - first.point.w
            squared = (difference * difference).sum()
        else:
            gram = self.problem.samples.gram(memory=0)
            scores = [Intervals(*gram_products(gram, values)) for values in beta]
            squared = (change * (scores[1] - scores[0])).sum()
        error = sum(_weights_error(certificate) for certificate in self.certificates)
        distance = max(0.0, float(np.sqrt(max(0.0, squared.low)) / _rounded_up(1.0)) - error)
        # K may be indefinite up to δI
        return distance**2 - 1.01 * self.problem.samples.psd_shift * float(
            (change * change).sum().high
        )

    @cached_property
    def _primals(self) -> list[Intervals]:
        """The primal values of both answers at w = Σ βᵢφ(xᵢ)."""
        values = list[Intervals]()
        for value, c in zip(self.values, self.certificates, strict=True):
            half = 0.5 * c.bounds.rounding
            excess = primal_excess(with_value(self.problem, self.parameter, value), c)
            values.append(Intervals(c.primal_objective - half, half).widened(excess))
        return values

    @property
    def _primal_bounds(self) -> tuple[float, float]:
        first, second = self._primals
        return float(first.high), float(second.high)

    def _multiplier(self, value: Vector | float) -> Vector:
        """Return what is linear in the fraction: C, 1/lam or epsilon."""
        values = np.asarray(value, np.float64)
        return 1.0 / values if self.parameter == "lam" else values


def _norm2(certificate: Certificate) -> Intervals:
    """Return an enclosure of ‖w‖²."""
    low, high = certificate.norm2
    return Intervals(0.5 * low + 0.5 * high, 0.51 * (high - low) + UNIT * high)


def _norm1(certificate: Certificate) -> Intervals:
    """Return an enclosure of ‖β‖₁."""
    norm1 = Intervals(np.abs(certificate.point.alpha)).sum()
    # 2⁻⁴⁹ bounds the relative change of coefficients that makes a point exactly feasible
    return norm1.widened(2.0**-49 * norm1.mid)


def _weights_error(certificate: Certificate) -> float:
    """Return how far the exact w of either bound may be from the stored α's."""
    low, high = certificate.norm2
    return float(2.0 * np.sqrt(high - low) + abs(certificate.scale - 1.0) * np.sqrt(high))


def _rounded_up(values: Any) -> Any:
    """Return nonnegative numbers increased by more than the rounding errors of a few operations."""
    return (1.0 + 2.0**-40) * values


def _maximum(first: float, second: float, t: Vector) -> Vector:
    """Return the largest (1 − t)·first + t·second between each two of `t`."""
    values = (1.0 - t) * first + t * second
    return np.maximum(values[:-1], values[1:])


def _minimum(first: float, second: float, t: Vector) -> Vector:
    """Return the least (1 − t)·first + t·second between each two of `t`."""
    return -_maximum(-first, -second, t)


def _maximum_bump(curvature: float, t: Vector) -> Vector:
    """Return the largest curvature·t(1 − t) between each two of `t`."""
    values, at_half = curvature * t * (1.0 - t), (t[:-1] < 0.5) & (t[1:] > 0.5)
    ends = np.maximum(values[:-1], values[1:])
    return np.where(at_half, np.maximum(ends, 0.25 * curvature), ends)
