"""Bounds of one answer at other values of C, lam or epsilon, as functions of the parameter.

With C' = sC, sα is feasible, and w, b stay the same:
    s·dual(α) + ½s(1 − s)‖w‖²  ≤  optimum at sC  ≤  s·primal(w, b) + ½(1 − s)‖w‖²
a quadratic and a linear function of C' (Giesen, Jaggi & Laue 2012, "Approximating parameterized convex
optimization problems"; Ndiaye, Le, Fercoq, Salmon & Takeuchi 2019, "Safe grid search with optimal
complexity"). A risk has C = 1/(n·lam), so s = lam/lam'. With another epsilon α stays feasible:
    dual(α) − (epsilon' − epsilon)·‖β‖₁  ≤  optimum at epsilon'  ≤  ½‖w‖² + Σ Cᵢ·max(0, |rᵢ| − epsilon')
for residuals r of w and b. In each case dual − (1 − gap)·primal is concave (in 1/lam for lam), so an
answer meets a gap on an interval.

The bounds of the certificate include its rounding errors; those made here are included too.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import UNIT
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.problem import replace_fields
from dualgap.problems.problem.certificate import Bounds, Certificate, make_certificate
from dualgap.problems.risk.dual_point import feasible_dual
from dualgap.problems.validation import check_positive

Parameter = Literal["C", "lam", "epsilon"]


def with_value(problem: Formulation, parameter: Parameter, value: float) -> Formulation:
    """Return the problem with another C, lam or epsilon; if C is a vector, `value` is its maximum."""
    value, current = check_positive(value, parameter, zero=True), getattr(problem, parameter)
    new = value if np.ndim(current) == 0 else value * (current / current.max())
    return replace_fields(problem, **{parameter: new})


@dataclass(frozen=True, eq=False)
class ParametricBounds:
    """The bounds of one answer along a parameter.

    Attributes
    ----------
    problem : the problem whose parameter has the value `base_value`, at which the answer was computed.
    certificate : certificate of the answer's α alone, w = Σ βᵢφ(xᵢ).
    """

    problem: Formulation
    parameter: Parameter
    base_value: float
    certificate: Certificate

    def at(self, value: float) -> Certificate:
        """Return the certificate of sα, w and b at another value of the parameter."""
        c, s = self.certificate, self.scale(value)
        assert c.point.alpha is not None
        return make_certificate(
            self._bounds([value])[0],
            s * c.unit,
            bound_source=f"alpha and w found at {self.parameter} = {self.base_value:.6g}",
            point=Point(s * c.point.alpha, c.point.w, c.point.b),
            b_interval=c.b_interval,
            offsets=c.offsets,
            norm2=c.norm2,
            scale=c.scale / s,
            reason=c.reason,
        )

    def relative_gap(self, value: float) -> float:
        """Return the relative gap at another value of the parameter, including rounding."""
        return self._relative_gaps([value])[0]

    def _relative_gaps(self, values: list[float]) -> list[float]:
        units = [self.scale(value) * self.certificate.unit for value in values]
        bounds = self._bounds(values)
        return [b.relative(b.gap, unit) for b, unit in zip(bounds, units, strict=True)]

    def reach(self, end: float, gap: float) -> float:
        """Return the value closest to `end` up to which the relative gap is at most `gap`."""
        base, length, good, bad = self.base_value, end - self.base_value, 0.0, 1.0
        rtol = 1e-7  # of the distance
        fractions, N = [1.0], 0.5 * sum(self.certificate.norm2)
        if self.parameter != "epsilon" and N > 0 and length:
            # where dual = (1 − gap)·primal: Ns² − 2Bs + (1 − gap)N = 0, N = ‖w‖²
            c, ratio = self.certificate, 1.0 - gap
            B = c.dual_objective - ratio * c.primal_objective + 0.5 * (1.0 + ratio) * N
            root = np.sqrt(max(0.0, B * B - ratio * N * N))
            s = (B + root if self.scale(end) > 1.0 else B - root) / N
            guess = ((base * s if self.parameter == "C" else base / s) - base) / length
            fractions += [f for f in ((1.0 - rtol) * guess, (1.0 + rtol) * guess) if 0 < f < 1]
        for _ in range(50):  # a safeguard: about 25 bisections attain `rtol`
            gaps = self._relative_gaps([base + f * length if f < 1.0 else end for f in fractions])
            for fraction, reached in zip(fractions, gaps, strict=True):
                if reached <= gap:
                    good = max(good, fraction)
                else:
                    bad = min(bad, fraction)
            if bad - good <= 3 * rtol * bad:
                break
            fractions = [0.5 * (good + bad)]
        return float(base + good * length) if good < 1.0 else end

    def balls(self, values: list[float]) -> list[tuple[float, float]]:
        """Return c and r for each two consecutive values so that ‖w* − c·w‖ ≤ r for all w* in between.

        The distances of w* from w and sw are at most √(2·(primal − optimum)) and √(2·(optimum − dual)),
        whose squares add up to 2·gap, so w* is within √(gap − ¼(1 − s)²‖w‖²) of ½(1 + s)w. The radicand
        is convex and therefore largest at an end.
        """
        scales, (low_norm2, high_norm2) = [self.scale(v) for v in values], self.certificate.norm2
        squares = [
            bounds.gap - 0.25 * (1 - 1e-12) * (1 - s) ** 2 * low_norm2
            for bounds, s in zip(self._bounds(values), scales, strict=True)
        ]
        # distance of the stored w from the exact one
        rounding = 2.0 * np.sqrt(high_norm2 - low_norm2)
        rounding += abs(self.certificate.scale - 1.0) * np.sqrt(high_norm2)
        result = list[tuple[float, float]]()
        for (low, first), (high, second) in pairwise(zip(scales, squares, strict=True)):
            # distance of the common centre from that of an end
            center_shift = 0.25 * abs(high - low) * np.sqrt(high_norm2)
            radius = np.sqrt(max(0.0, first, second)) + center_shift + rounding
            result.append((0.5 + 0.25 * (low + high), (1 + 1e-12) * float(radius)))
        return result

    def scale(self, value: float) -> float:
        """Return s = C'/C for another value of the parameter, 1 for another epsilon."""
        if self.parameter == "epsilon":
            return 1.0
        return value / self.base_value if self.parameter == "C" else self.base_value / value

    def _bounds(self, values: list[float]) -> list[Bounds]:
        """Return both bounds at each value, rounded outwards."""
        scales = np.array([self.scale(value) for value in values])
        if self.parameter == "epsilon":
            both = zip(*(self._bounds_at_epsilon(value) for value in values), strict=True)
            lower, upper = (Intervals.joined(bounds) for bounds in both)
        else:
            lower, upper = self._scaled_bounds(np.array(values))
        rounding = scales * self.certificate.bounds.rounding + 2 * (upper.rad + lower.rad)
        ends = lower.low.tolist(), upper.high.tolist(), rounding.tolist()
        return [Bounds(*bounds) for bounds in zip(*ends, strict=True)]

    def _scaled_bounds(self, values: Vector) -> tuple[Intervals, Intervals]:
        """Return the lower and upper bounds at other values of C or lam, (k,)."""
        c, risk, (low, high) = self.certificate, self.problem.risk, self.certificate.norm2
        s = Intervals(values) / self.base_value
        if self.parameter == "lam":
            s = Intervals(self.base_value) / values
        norm2 = Intervals(0.5 * low + 0.5 * high, 0.51 * (high - low) + UNIT * high)
        upper = s * c.primal_objective + 0.5 * ((1.0 - s) * norm2)
        limits = risk.C * risk.loss.lipschitz  # of |αᵢ|
        delta = risk.samples.psd_shift if np.isfinite(limits).all() else 0.0
        if delta:  # K is known only up to δI: ½δ Σ max αᵢ², which scales with s²
            spare = 0.51 * delta * float(np.sum(limits**2))
            upper = upper + np.maximum(0.0, (s * s - s).high) * spare
        return s * c.dual_objective + 0.5 * (s * (1.0 - s) * norm2), upper

    def _bounds_at_epsilon(self, value: float) -> tuple[Intervals, Intervals]:
        """Return the lower and upper bound at another epsilon."""
        c, risk = self.certificate, self.problem.risk
        assert c.point.alpha is not None
        # the difference between each sample's losses for the two tubes
        residuals, (narrow, wide) = self._residuals, sorted((value, self.base_value))
        difference = np.maximum(residuals - narrow, 0.0) - np.maximum(residuals - wide, 0.0)
        difference = (risk.C * difference).sum()
        upper = c.primal_objective - (difference if value > self.base_value else -difference)
        norm1 = Intervals(np.abs(c.point.alpha)).sum()
        # 2⁻⁴⁹ bounds the relative change of coefficients that makes a point exactly feasible
        norm1 = Intervals(norm1.mid, norm1.rad + 2.0**-49 * norm1.mid)
        return c.dual_objective - (Intervals(value) - self.base_value) * norm1, upper

    @cached_property
    def _residuals(self) -> Intervals:
        """Absolute residuals |yᵢ − fᵢ|."""
        c = self.certificate
        assert c.point.alpha is not None
        scores = feasible_dual(self.problem.risk, c.point.alpha).rounded.scores
        b = float(c.point.b or 0.0)
        return abs(c.scale * scores + Intervals(b, UNIT * abs(b)) - self.problem.y)
