"""The certificate of an answer on samples in blocks: both bounds are sums over the blocks.

Every block is read from its original source, not from copies of solvers or workers, and compared with
its checksum; if one is missing or has changed there is no bound, and the reason names it. Each block
contributes, as numbers that track their rounding, the sums
    v± = Σ β±ᵢxᵢ,   s± = Σ β±ᵢ,   D± = −Σ Cᵢℓ*(yᵢ, −β±ᵢ/Cᵢ),   R = Σ Cᵢℓ(yᵢ, wᵀxᵢ + b)
of `bounds`, where β₊ and β₋ are the positive and negative parts of β. A single coefficient cannot absorb
the remainder of Σβ = 0, as none is kept. Instead r₊s₊ + r₋s₋ = 0 holds exactly for factors r± ≤ 1; as D
is concave and −ℓ*(y, 0) = min ℓ = 0,
    r₊D₊ + r₋D₋ − ½‖r₊v₊ + r₋v₋‖²  ≤  optimum  ≤  ½‖w‖² + R
Nothing is projected, fitted to w or searched for, as `certify` does for arrays: that takes many passes.
For w and b of an optimum to 1e-9 without dual variables the relative gap is 1e-3 to 2e-2 here.
"""

from math import inf

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import products, transposed_products
from dualgap.problems.blocks import Block, ChangedBlock, DualRule
from dualgap.problems.certificates.bounds import Float64, linear_term, targets, total_loss
from dualgap.problems.certificates.certify import for_rounded_weights, shift_targets
from dualgap.problems.certificates.gap_scale import gap_scale
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.problem.certificate import Certificate, make_certificate, missing_bound
from dualgap.problems.risk.risk import Risk, blocks_of, check_risk, on_block


def bounds_of_blocks(risk: Risk, point: Point) -> Certificate:
    """Return the certificate of weights `point.w` (d,), an intercept, and dual variables.

    Without `point.rule` the dual variables are −C·ℓ' at the weights.
    """
    has_offset = bool(risk.costs.size)
    b = float(point.b or 0.0) if has_offset else 0.0
    if point.w is None or not np.isfinite(b):
        return Certificate(reason="the point has no weights, or its intercept is not finite")
    rule = DualRule.at(np.append(point.w, b)) if point.rule is None else point.rule
    source = "recovered from w" if point.rule is None else "alpha and w"
    blocks, sums = blocks_of(risk), _Sums(risk.samples.d)
    try:
        rule = rule.checked(blocks.d)
        for k in range(blocks.count):
            block = blocks.read(k, verify=True)
            for rows in block.slices():
                part = block.part(rows)
                sums.add(on_block(risk, part), rule.beta(risk.loss, k, part), point.w, b)
    except (ChangedBlock, ValueError, ArithmeticError) as error:
        return Certificate(reason=str(error))
    low, high = sums.lower(has_offset), sums.upper(point.w)
    rounding = 2 * float(low.mid - low.low) + 2 * float(high.high - high.mid)
    bounds = for_rounded_weights(float(low.low), float(high.high), rounding)
    return make_certificate(
        bounds,
        sums.gap_scale(risk),
        bound_source=source,
        primal_residual=0.0,
        dual_residual=0.0,
        projection_distance=0.0,
        point=Point(None, point.w, b, point.rule),
        b_interval=(b, b),
        offsets=(b,) if has_offset else (),
        reason=missing_bound(risk.samples.is_psd, bounds),
    )


class _Sums:
    """The sums over all blocks; in pairs the first is of β₊, the second of β₋."""

    def __init__(self, d: int) -> None:
        self.v = [Intervals(np.zeros(d)), Intervals(np.zeros(d))]
        self.total = [Intervals(0.0), Intervals(0.0)]
        self.linear = [Intervals(0.0), Intervals(0.0)]
        self.losses = Intervals(0.0)
        self.weight, self.ends = 0.0, (inf, -inf)  # Σ Cᵢ; smallest and largest y

    def add(self, part: Risk, beta: Vector, w: Vector, b: float) -> None:
        """Add the risk of a part of the samples, with coefficients `beta` (m,) and decisions Xw + b.

        Raises
        ------
        ValueError, ArithmeticError
            If a loss or its conjugate does not allow such a sum.
        """
        X, y, A = part.samples.X, part.y, Float64(part, targets(part, Intervals))
        check_risk(part)
        if np.any(part.loss.conjugate(y, 0.0 * beta)):
            raise ValueError(
                f"no bound for samples in blocks: the minimum of the loss {part.loss.name} is not 0"
            )
        beta = part.beta(np.clip(part.alpha(beta), *part.loss.limits(y, part.C)))
        for side, signed in enumerate((np.maximum(beta, 0.0), np.minimum(beta, 0.0))):
            self.v[side] += transposed_products(X, signed)
            self.total[side] += Intervals(signed).sum()
            self.linear[side] += linear_term(part, A, Intervals(signed))
        self.losses += total_loss(part, A, products(X, w), np.full(part.costs.size, b))
        self.weight += float(part.C.sum())
        self.ends = min(self.ends[0], y.min()), max(self.ends[1], y.max())

    def gap_scale(self, risk: Risk) -> float:
        """Return `gap_scale` of these samples.

        Two samples with the extreme y suffice: they decide whether an offset alone leaves no loss.
        """
        C = np.full(2, 0.5 * self.weight)
        extremes = on_block(risk, Block(np.zeros((2, 1)), np.array(self.ends), C))
        moved, _, y = shift_targets(extremes)
        scale, _ = gap_scale(extremes, moved, Float64(moved, y))
        return scale

    def lower(self, equality: bool) -> Intervals:
        """Return the dual objective at a feasible point next to β."""
        factors = [Intervals(1.0), Intervals(1.0)]
        if equality:
            above, below = self.total[0], -self.total[1]
            larger = 0 if above.mid >= below.mid else 1
            sides = (below, above) if larger == 0 else (above, below)
            if not sides[0].low > 0:
                return Intervals(0.0)  # only β = 0 is feasible
            ratio = sides[0] / sides[1]
            # for sums that are equal up to rounding the ratio may exceed 1: scale both factors down
            common = 1.0 / max(1.0, float(ratio.high))
            factors[larger], factors[1 - larger] = ratio * common, Intervals(common)
        v = factors[0] * self.v[0] + factors[1] * self.v[1]
        linear = factors[0] * self.linear[0] + factors[1] * self.linear[1]
        value = linear - 0.5 * (v * v).sum()
        return value if float(value.low) > 0 else Intervals(0.0)

    def upper(self, w: Vector) -> Intervals:
        """Return the primal objective."""
        exact = Intervals(w)
        value = self.losses + 0.5 * (exact * exact).sum()
        return value if np.isfinite(value.mid) else Intervals(inf)
