"""ν-support vector regression (Schölkopf, Smola, Williamson & Bartlett 2000), which optimises the tube.

    primal  min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ,    ε ≥ 0
    dual    min ½βᵀKβ − yᵀβ     s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0, ‖β‖₁ ≤ ν·ΣCᵢ
with β = α − α*. At most a fraction ν of the samples is outside the tube, and at least a fraction ν are
support vectors. This is LIBSVM's scaling, where C is n times smaller than the paper's and has the same
meaning as in ε-SVR, which has the same answer for the optimal ε (Chang & Lin 2011, section 2.6).

The box QP has variables α and α*, each a group with the sum ½ν·ΣCᵢ; ‖β‖₁ may be smaller, as adding the
same to α and α* leaves β unchanged. The offsets of the groups are b + ε and b − ε.

For every ε ≥ 0, with the primal and dual objectives P and D of regression with that tube,
    D(β) + ε‖β‖₁  ≤  optimum  ≤  P(w, b) + ε·ν·ΣCᵢ,
as ε only enters D as −ε‖β‖₁: the bounds use the best tube for the scores. If β exceeds the budget by a
factor 1/s, the dual objective at sβ is at least s times that at β, as the dual is concave and 0 at 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.box_gap import middle
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.dual_problem import reductions
from dualgap.problems.dual_problem.offsets import best_offsets
from dualgap.problems.forms import BoxQP, Point, Reduction
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.svr import SVRDual
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.problem import Reducer
from dualgap.problems.problem.certificate import Certificate, make_certificate


def to_box(problem: Any, start: Point | None, gram: Gram) -> Reduction[BoxQP]:
    """Return the dual in α and α*, each of which is a group."""
    reduction = reductions.to_box(problem, start, gram)
    return replace(reduction, form=replace(reduction.form, groups=np.repeat([0, 1], problem.n)))


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
    forms: ClassVar[Mapping[type, Reducer]] = reductions.FORMS | {BoxQP: to_box}

    @property
    def loss(self) -> EpsilonInsensitive:
        """|y − f|, the loss with ε = 0."""
        return EpsilonInsensitive(0.0)

    @property
    def costs(self) -> Vector:
        """½ν·ΣCᵢ and −½ν·ΣCᵢ, which give ε·ν·ΣCᵢ for the offsets b + ε and b − ε."""
        half = 0.5 * self.nu * fsum(self.weight)
        return np.array([half, -half])

    @property
    def budget(self) -> float:
        """The largest ‖β‖₁, and the price of ε: ν·ΣCᵢ, rounded to float64."""
        return 2 * float(self.costs[0])

    def tube_at(self, offsets: tuple[float, ...]) -> float:
        """Return ε, half the difference of the offsets."""
        return max(0.0, (offsets[0] - offsets[1]) / 2)

    def slacks(self, f: Vector, offsets: tuple[float, ...]) -> Vector:
        """Return how far each sample is outside the tube."""
        return EpsilonInsensitive(self.tube_at(offsets)).value(self.y, f)

    def to_box_variables(self, alpha: Vector) -> Vector:
        """Return α and α*: the parts of β, both increased equally until they use up the budget."""
        capacity = self.weight - np.abs(alpha)
        remaining = 0.5 * (self.budget - float(np.abs(alpha).sum()))
        unused = remaining > 1e-12 * self.budget  # and not the rounding error of the sum
        increase = capacity * (remaining / capacity.sum()) if unused else 0.0 * capacity
        return super().to_box_variables(alpha) + np.tile(increase, 2)

    def regression(self, epsilon: float) -> SVRDual:
        """Return ε-SVR with the same weights and the tube `epsilon`."""
        return SVRDual(self.X, self.y, self.C, epsilon, self.kernel)

    @property
    def sums(self) -> Vector:
        """0, the sum of α − α*."""
        return np.zeros(1)

    def losses(self, y: Any, scores: Any, offsets: Any) -> Any:
        """Return max(0, |yᵢ − fᵢ − b| − ε) for the offsets b + ε and b − ε."""
        upper, lower = offsets
        return np.maximum(y - (scores + upper), 0.0) + np.maximum((scores + lower) - y, 0.0)

    def allows(self, offsets: Any) -> bool:
        """Whether ε ≥ 0."""
        return bool(offsets[0] >= offsets[1])

    def offset_choices(self, offsets: Vector, scores: Vector) -> list[Vector]:
        """Return the offsets, and those for ε = 0, which are best if the budget is not used up."""
        b = middle(*best_offsets(self.regression(0.0), scores)[0])
        return [v for v in (offsets, np.array([b, b])) if self.allows(v)]

    def bounds(self, point: Point) -> Certificate:
        """Return bounds; if all targets are equal the optimum is 0, and the gap relative to them."""
        certificate = super().bounds(point)
        scale = 0.0 if np.ptp(self.y) else float(self.weight @ np.abs(self.y) or self.weight.sum())
        return make_certificate(certificate.bounds, scale, certificate)
