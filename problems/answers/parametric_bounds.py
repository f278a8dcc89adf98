"""What one answer is worth at other values of C, lam or epsilon: its two bounds as functions of them.

With C' = sC, sα is feasible, and w, b are what they are:
    s·dual(α) + ½s(1 − s)‖w‖²  ≤  optimum at sC  ≤  s·primal(w, b) + ½(1 − s)‖w‖²
a quadratic and a linear function of C' (Giesen, Jaggi & Laue 2012, "Approximating parameterized convex
optimization problems"; Ndiaye, Le, Fercoq, Salmon & Takeuchi 2019, "Safe grid search with optimal
complexity"). A risk has C = 1/(n·lam), so s = lam/lam'. With another epsilon α stays feasible:
    dual(α) − (epsilon' − epsilon)·‖β‖₁  ≤  optimum at epsilon'  ≤  ½‖w‖² + Σ Cᵢ·max(0, |rᵢ| − epsilon')
for residuals r of w and b. In each case dual − (1 − gap)·primal is concave (in 1/lam for lam), so an
answer is good enough on an interval.

The bounds of the certificate hold for all that float64 may have lost; what is added here is moved out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from problems.certificates.certificate import Certificate, gap_between, moved_out, relative
from problems.dataset import Vector
from problems.dual_problem.recovery import feasible_dual
from problems.forms import Point
from problems.formulations.formulation import Formulation
from problems.rounding import gamma, total

Parameter = Literal["C", "lam", "epsilon"]
_HALVINGS = 50
_ROUNDING = 32  # operations of a bound, of s, and of a weight C = 1/(n·lam)


def with_value(problem: Formulation, parameter: Parameter, value: float) -> Formulation:
    """Return the problem with another C, lam or epsilon; of weights for each sample C is the largest."""
    given = getattr(problem, parameter)
    new: Any = value if np.ndim(given) == 0 else value * (given / given.max())
    return replace(problem, **{parameter: new})  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class Along:
    """The bounds of one answer along a parameter.

    Attributes
    ----------
    problem : with the value `own` of the parameter, at which the answer was found.
    certificate : of the answer's α alone, w = Σ βᵢφ(xᵢ).
    """

    problem: Formulation
    parameter: Parameter
    own: float
    certificate: Certificate

    def at(self, value: float) -> Certificate:
        """Return the certificate of sα, w and b at another value of the parameter."""
        c, s = self.certificate, self._scale(value)
        upper, lower, error = self._bounds(value)
        unit = s * c.unit
        gap = gap_between(upper, lower)
        assert c.point.alpha is not None
        return Certificate(
            primal_objective=upper,
            dual_objective=lower,
            gap=gap,
            relative_gap=relative(gap, upper, lower, unit),
            bound_source=f"alpha and w found at {self.parameter} = {self.own:.6g}",
            point=Point(s * c.point.alpha, c.point.w, c.point.b),
            b_interval=c.b_interval,
            offsets=c.offsets,
            norm2=c.norm2,
            unit=unit,
            scale=c.scale / s,
            resolution=relative(s * c.rounding + 2 * error, upper, lower, unit),
            reason=c.reason,
        )

    def relative_gap(self, value: float) -> float:
        """Return the relative gap at another value of the parameter, its rounding included."""
        upper, lower, _ = self._bounds(value)
        return relative(
            gap_between(upper, lower), upper, lower, self._scale(value) * self.certificate.unit
        )

    def reach(self, end: float, gap: float) -> float:
        """Return the value farthest towards `end` up to which the relative gap is at most `gap`."""
        if self.relative_gap(end) <= gap:
            return end
        good, bad = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (good + bad)
            holds = self.relative_gap(self.own + middle * (end - self.own)) <= gap
            good, bad = (middle, bad) if holds else (good, middle)
        return self.own + good * (end - self.own)

    def ball(self, low: float, high: float) -> tuple[float, float]:
        """Return c and r so that ‖w* − c·w‖ ≤ r for the optimal w* at every value from `low` to `high`.

        The optimum is within √(2·(primal − optimum)) of w and √(2·(optimum − dual)) of sw, whose
        squares add up to 2·gap: within √(gap − ¼(1 − s)²‖w‖²) of ½(1 + s)w. That is convex below the
        root, hence largest at an end.
        """
        scales, (least, most) = [self._scale(end) for end in (low, high)], self.certificate.norm2
        squares: list[float] = []
        for end, s in zip((low, high), scales, strict=True):
            upper, lower, _ = self._bounds(end)
            squares.append(gap_between(upper, lower) - 0.25 * (1 - 1e-12) * (1 - s) ** 2 * least)
        # from the middle's centre to that of an end, and from w as it is to the exact one
        apart = 0.25 * abs(scales[1] - scales[0]) + abs(self.certificate.scale - 1.0)
        rounding = 2.0 * np.sqrt(most - least)
        radius = np.sqrt(max(0.0, *squares)) + apart * np.sqrt(most) + rounding
        return 0.5 + 0.25 * (scales[0] + scales[1]), (1 + 1e-12) * float(radius)

    def _scale(self, value: float) -> float:
        if self.parameter == "epsilon":
            return 1.0
        return value / self.own if self.parameter == "C" else self.own / value

    def _bounds(self, value: float) -> tuple[float, float, float]:
        """Return the upper and the lower bound, and by how much both were moved for rounding here."""
        of_value = self._with_tube(value) if self.parameter == "epsilon" else self._scaled(value)
        upper, lower, error = of_value
        return moved_out(upper, error), -moved_out(-lower, error), error

    def _scaled(self, value: float) -> tuple[float, float, float]:
        c, s, (least, most) = self.certificate, self._scale(value), self.certificate.norm2
        spare = max(0.0, s * s - s) * self._spare
        upper = s * c.primal_objective + 0.5 * (1 - s) * (most if s < 1 else least) + spare
        lower = s * c.dual_objective + 0.5 * s * (1 - s) * (least if s < 1 else most)
        sizes = s * (abs(c.primal_objective) + abs(c.dual_objective))
        return upper, lower, gamma(_ROUNDING) * (sizes + 0.5 * (1 + s) ** 2 * most + spare)

    @cached_property
    def _spare(self) -> float:
        """What the upper bound has for a K that is known up to δI only: ½δ Σ max αᵢ², as s²."""
        delta = self.problem.lacking
        return 0.51 * delta * float(np.sum(self.problem.upper**2)) if delta else 0.0

    def _with_tube(self, value: float) -> tuple[float, float, float]:
        c, wider, C = self.certificate, value - self.own, self.problem.weight
        sizes, errors = self._residuals
        if wider > 0:
            less = np.minimum(wider, np.maximum(0.0, sizes - errors - self.own))
        else:
            less = -np.minimum(-wider, np.maximum(0.0, sizes + errors - value))
        change, lost = total(C * less)
        assert c.point.alpha is not None
        norm1, wrong = total(np.abs(c.point.alpha))
        lost += abs(wider) * (wrong + gamma(_ROUNDING) * norm1)
        lost += gamma(_ROUNDING) * (abs(change) + abs(c.primal_objective) + abs(c.dual_objective))
        return c.primal_objective - change, c.dual_objective - wider * norm1, lost

    @cached_property
    def _residuals(self) -> tuple[Vector, Vector]:
        """The sizes |yᵢ − fᵢ|, and by how much each may be wrong."""
        problem, c = self.problem, self.certificate
        assert c.point.alpha is not None
        weights = feasible_dual(problem, c.point.alpha).weights
        b, scores = float(c.point.b or 0.0), c.scale * weights.scores
        sizes = np.abs(problem.y) + np.abs(scores) + abs(b)
        errors = 1.01 * c.scale * weights.errors + gamma(_ROUNDING) * sizes
        return np.abs(problem.y - scores - b), errors
