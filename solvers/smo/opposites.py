"""Equal samples with opposite labels share one variable, with a tube.

Of two variables with the same row of K only the sum s = z₁ + z₂ counts in the quadratic part. For boxes
[l₁, h₁] and [l₂, h₂], and costs q₁ < q₂, the best split of s leaves z₂ at l₂ until z₁ is at h₁, so that

    q₁z₁ + q₂z₂ = ½(q₁ + q₂)s + ½(q₂ − q₁)(|s − c| − (h₁ − l₂)),   c = h₁ + l₂

which is a tube's cost in z = s − c. Apart, the two settle only in working sets that have both, as K is
singular along them: with 1061 such samples a9a took 1704 rounds for C = 100, together 746.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from problems.dataset import Indices, Vector
from solvers.smo.variables import Variables


@dataclass(frozen=True, eq=False)
class Opposites:
    """Variables of which some stand for two of `apart`.

    Attributes
    ----------
    together : the variables; those of `apart` at `kept`, less `centre`; their costs q lack K·centre.
    low, high : which of `apart` are paired, with the lower and the higher cost; low are all kept.
    centre : c of each variable, 0 for those that stand for themselves.
    constant : what the objective has less, besides ½cᵀKc.
    """

    apart: Variables
    together: Variables
    kept: Indices
    low: Indices
    high: Indices
    centre: Vector
    constant: float

    def split(self, z: Vector) -> Vector:
        """Return the variables apart: those at a bound, or at 0 with their tube, exactly at theirs."""
        v, low, high = self.apart, self.low, self.high
        result, pair = np.empty(v.n), np.searchsorted(self.kept, low)
        result[self.kept] = z
        at, least, most = z[pair], self.together.lo[pair], self.together.hi[pair]
        result[low] = np.where(at == least, v.lo[low], v.hi[low] + np.minimum(at, 0.0))
        result[high] = np.where(at == most, v.hi[high], v.lo[high] + np.maximum(at, 0.0))
        return result

    def apart_from(self, f: Vector) -> Vector:
        """Return the scores of the variables apart, given those of the variables together."""
        result = np.empty(self.apart.n)
        result[self.kept] = f
        result[self.high] = result[self.low]
        return result


def join(v: Variables, low: Indices, high: Indices) -> Opposites:
    """Join pairs of variables with equal rows of K, costs q[low] < q[high], no tubes, finite boxes."""
    stays = np.ones(v.n, np.bool_)
    stays[high] = False
    lo, hi, start, q, tube, centre = (
        values.copy() for values in (v.lo, v.hi, v.start, v.q, v.tube, np.zeros(v.n))
    )
    centre[low] = v.hi[low] + v.lo[high]
    lo[low], hi[low] = v.lo[low] - v.hi[low], v.hi[high] - v.lo[high]
    start[low] = (v.start[low] - v.hi[low]) + (v.start[high] - v.lo[high])
    q[low], tube[low] = 0.5 * (v.q[low] + v.q[high]), 0.5 * (v.q[high] - v.q[low])
    constant = float(q[low] @ centre[low] - tube[low] @ (v.hi[low] - v.lo[high]))
    kept = np.flatnonzero(stays)
    lo, hi, start, q, tube, centre = (x[kept] for x in (lo, hi, start, q, tube, centre))
    together = replace(v, sample=v.sample[kept], q=q, tube=tube, lo=lo, hi=hi, start=start)
    return Opposites(v, together, kept, low, high, centre, constant)
