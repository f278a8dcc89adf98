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

from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.box_gap import middle
from dualgap.problems.certificates.certificate import Certificate, assembled
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.dual_problem.offsets import best_offsets
from dualgap.problems.forms import BoxQP, Point, Reduction
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.svr import SVRDual
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import EpsilonInsensitive

_BUDGET_ROUNDING = 1e-12  # of the budget, that a sum of float64 may be off


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

    def tube_at(self, offsets: tuple[float, ...]) -> float:
        """Return ε, half of the offsets' difference."""
        return max(0.0, (offsets[0] - offsets[1]) / 2)

    def slacks(self, f: Vector, offsets: tuple[float, ...]) -> Vector:
        """Return how far each sample is outside of the tube."""
        return EpsilonInsensitive(self.tube_at(offsets)).value(self.y, f)

    def to_box(self, gram: Gram, start: Point | None = None) -> Reduction[BoxQP]:
        """Return the dual in α and α*, a group each."""
        made = super().to_box(gram, start)
        return replace(made, form=replace(made.form, groups=np.repeat([0, 1], self.n)))

    def to_box_variables(self, alpha: Vector) -> Vector:
        """Return α and α*: β's positive and negative parts, and as much of both as fills the budget."""
        room = self.weight - np.abs(alpha)
        left = 0.5 * (self.budget - float(np.abs(alpha).sum()))
        both = room * (left / room.sum()) if left > _BUDGET_ROUNDING * self.budget else 0.0 * room
        return super().to_box_variables(alpha) + np.tile(both, 2)

    def regression(self, epsilon: float) -> SVRDual:
        """Return support vector regression with the same weights and the tube `epsilon`."""
        return SVRDual(self.X, self.y, self.C, epsilon, self.kernel)

    @property
    def sums(self) -> Vector:
        """0: that of α − α*."""
        return np.zeros(1)

    def losses(self, y: Any, scores: Any, offsets: Any) -> Any:
        """Return max(0, |yᵢ − fᵢ − b| − ε) for the offsets b + ε and b − ε."""
        upper, lower = offsets
        return np.maximum(y - (scores + upper), 0.0) + np.maximum((scores + lower) - y, 0.0)

    def allows(self, offsets: Any) -> bool:
        """Return whether ε ≥ 0."""
        return bool(offsets[0] >= offsets[1])

    def offset_choices(self, offsets: Vector, scores: Vector) -> list[Vector]:
        """Return the offsets, and those of ε = 0: the best where the budget is not used up."""
        b = middle(*best_offsets(self.regression(0.0), scores)[0])
        return [v for v in (offsets, np.array([b, b])) if self.allows(v)]

    def bounds(self, point: Point) -> Certificate:
        """Return bounds; where all targets are equal the optimum is 0, and a gap relative to them."""
        found = super().bounds(point)
        unit = 0.0 if np.ptp(self.y) else float(self.weight @ np.abs(self.y) or self.weight.sum())
        return assembled(found.bounds, unit, found)
