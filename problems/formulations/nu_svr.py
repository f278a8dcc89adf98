"""ν-support vector regression (Schölkopf, Smola, Williamson & Bartlett 2000): the tube is optimal too.

    primal  min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ,    ε ≥ 0
    dual    min ½βᵀKβ − yᵀβ     s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0, ‖β‖₁ ≤ ν·ΣCᵢ
with β = α − α*. At most a share ν of the samples is outside of the tube, at least a share ν are support
vectors. It is LIBSVM's scaling, whose C is n times smaller than the paper's and means what it means in
ε-SVR: with the ε found here that has the same answer (Chang & Lin 2011, section 2.6).

Its box QP has both α and α*, each a group with the sum ½ν·ΣCᵢ: ‖β‖₁ may be less, as the same can be
added to α and α*. The groups' offsets are b + ε and b − ε.

For every ε ≥ 0, with P and D the objectives of regression with that tube,
    D(β) + ε‖β‖₁  ≤  optimum  ≤  P(w, b) + ε·ν·ΣCᵢ,
as ε‖β‖₁ is all that D has of ε: the bounds are those of the best tube for the scores. A β above the
budget by a factor 1/s has a dual objective of at least s times its own in sβ, as the dual is concave and
0 at β = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar

import numpy as np

from problems.box_gap import middle
from problems.certificates.bounds import fenchel_bounds, near_zero
from problems.certificates.certificate import Certificate, with_bounds
from problems.certificates.optimality import Pieces
from problems.dataset import Matrix, Vector
from problems.dual_problem.offsets import best_offsets
from problems.dual_problem.recovery import DualPoint, dual_from_weights, feasible_dual
from problems.forms import BoxQP, Point, Reduction
from problems.formulations.formulation import Formulation
from problems.formulations.svr import SVRDual
from problems.gram.gram import Gram
from problems.kernels import Kernel, Linear
from problems.losses import EpsilonInsensitive
from problems.projection import project
from problems.rounding import UNIT
from problems.validation import check_share

_ROUNDED = 1e-12  # of the budget, that a sum of float64 may be off


@dataclass(frozen=True, eq=False)
class NuSVR(Formulation):
    """min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·nu·ΣCᵢ over w, b and ε ≥ 0."""

    X: Matrix
    y: Vector
    nu: float
    C: Any
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen

    intercept: ClassVar[bool] = True  # type: ignore[misc]
    source: ClassVar[str] = "Schölkopf, Smola, Williamson & Bartlett 2000"

    def __post_init__(self) -> None:
        self._set("nu", check_share(self.nu, "nu"))
        super().__post_init__()

    @property
    def loss(self) -> EpsilonInsensitive:
        """|y − f|: that of the narrowest tube."""
        return EpsilonInsensitive(0.0)

    @property
    def costs(self) -> Vector:
        """½ν·ΣCᵢ and −½ν·ΣCᵢ, which make ε·ν·ΣCᵢ of the offsets b + ε and b − ε."""
        half = 0.5 * self.nu * fsum(self.weight)
        return np.array([half, -half])

    @property
    def budget(self) -> float:
        """The largest ‖β‖₁, and the price of ε: ν·ΣCᵢ, rounded to float64."""
        return 2 * float(self.costs[0])

    def margin_at(self, offsets: tuple[float, ...]) -> float:
        """Return ε, half of the offsets' difference."""
        return max(0.0, (offsets[0] - offsets[1]) / 2)

    def slacks(self, f: Vector, offsets: tuple[float, ...]) -> Vector:
        """Return how far each sample is outside of the tube."""
        return EpsilonInsensitive(self.margin_at(offsets)).value(self.y, f)

    def feasible(self, alpha: Vector) -> Vector:
        """Return a dual feasible point near `alpha` (n,): projected, then shrunk to the budget.

        What sums leave above the budget by rounding stays: `bounds` takes it into account.
        """
        beta = project(alpha, *self.limits, np.ones(self.n), 0.0)
        size = float(np.abs(beta).sum())
        return beta * (self.budget / size) if size > (1 + _ROUNDED) * self.budget else beta

    def infeasibility(self, alpha: Vector) -> float:
        """Return by how much `alpha` (n,) violates a bound, the equality or the budget at most."""
        low, high = self.limits
        over = float(np.abs(alpha).sum()) - self.budget
        box = float(np.maximum(alpha - high, low - alpha).max())
        return max(0.0, box, abs(float(alpha.sum())), over)

    def to_box(self, gram: Gram, start: Point | None = None) -> Reduction[BoxQP]:
        """Return the dual in α and α*, a group each."""
        made = super().to_box(gram, start)
        return replace(made, form=replace(made.form, groups=np.repeat([0, 1], self.n)))

    def to_box_variables(self, alpha: Vector) -> Vector:
        """Return α and α*: β's positive and negative parts, and as much of both as fills the budget."""
        room = self.weight - np.abs(alpha)
        left = 0.5 * (self.budget - float(np.abs(alpha).sum()))
        both = room * (left / room.sum()) if left > _ROUNDED * self.budget else 0.0 * room
        return super().to_box_variables(alpha) + np.tile(both, 2)

    def regression(self, epsilon: float) -> SVRDual:
        """Return support vector regression with the same weights and the tube `epsilon`."""
        return SVRDual(self.X, self.y, self.C, epsilon, self.kernel)

    def bounds(self, point: Point) -> Certificate:
        """Return bounds from those of regression with the best tube for the scores."""
        w = point.w if self.is_linear else None
        if point.alpha is None:
            assert w is not None
            dual = dual_from_weights(self, w)
        else:
            dual = feasible_dual(self, point.alpha)
        found = (self._bounds_with(epsilon, point, dual) for epsilon in self._tubes(dual, w))
        best = min(found, key=lambda c: c.primal_objective)
        box = Pieces(self).at(dual, [middle(*i) for i in best_offsets(self, dual.scores)])
        return replace(
            best,
            kkt_violation=box.kkt_violation,
            violating_pair=box.violating_pair,
            complementarity=float(box.terms.max()),
        )

    def _tubes(self, dual: DualPoint, w: Vector | None) -> set[float]:
        """Return the ε among which the best one for weights is, found from targets near 0."""
        scores = dual.scores if w is None else self.X @ w
        offsets = best_offsets(near_zero(self)[0], scores)
        tubes = {self.margin_at(tuple(middle(*i) for i in offsets))}
        if np.abs(dual.alpha).sum() < (1 - _ROUNDED) * self.budget:
            tubes.add(0.0)  # it is the best one where the budget is not used up
        return tubes

    def _bounds_with(self, epsilon: float, point: Point, dual: DualPoint) -> Certificate:
        """Return the bounds that regression with the tube `epsilon` gives."""
        known = fenchel_bounds(self.regression(epsilon), point, dual)
        price = epsilon * self.budget
        upper = known.primal_objective + price
        # the exactly feasible β next to this one differs from it by what the equality lacks
        size, lacking = fsum(np.abs(dual.alpha)), 1.01 * abs(fsum(dual.alpha))
        lower = known.dual_objective + epsilon * (size - lacking)
        lower *= min(1.0, (1 - 4 * UNIT) * self.budget / (size + lacking)) if size else 1.0
        sizes = abs(known.primal_objective) + abs(known.dual_objective) + 2 * price
        made = with_bounds(known, upper, lower, self._unit, 8 * UNIT * sizes)
        b = known.offsets[0]
        return replace(made, offsets=(b + epsilon, b - epsilon))

    @property
    def _unit(self) -> float:
        """What a gap is relative to where all targets are equal, as the optimum is 0; else 0."""
        if np.ptp(self.y):
            return 0.0
        return float(self.weight @ np.abs(self.y) or self.weight.sum())

    def proven(self, certificate: Certificate) -> Certificate:
        """Return the certificate with proven bounds in place of the float64 ones."""
        from problems.certificates.proofs.tube import proven_tube  # noqa: PLC0415 - needs python-flint

        # found anew: the offsets b + ε and b − ε have fewer digits of it
        assert certificate.point.alpha is not None
        dual = feasible_dual(self, certificate.point.alpha)
        w = None if certificate.bound_source == "alpha" else certificate.point.w
        found = [
            proven_tube(self.regression(epsilon), self.budget, certificate)
            for epsilon in self._tubes(dual, w)
        ]
        return min(found, key=lambda c: c.primal_objective)
