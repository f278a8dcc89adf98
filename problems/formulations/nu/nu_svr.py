"""ν-support vector regression (Schölkopf, Smola, Williamson & Bartlett 2000), which optimises the tube.

    primal  min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ,    ε ≥ 0
    dual    min ½βᵀKβ − yᵀβ     s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0, ‖β‖₁ ≤ ν·ΣCᵢ
with β = α − α*. At most a fraction ν of the samples is outside the tube, and at least a fraction ν are
support vectors. This is LIBSVM's scaling, where C is n times smaller than the paper's and has the same
meaning as in ε-SVR, which has the same answer for the optimal ε (Chang & Lin 2011, section 2.6).

Each sample has two one-sided losses, with the offsets u₀ = b + ε above the tube and u₁ = b − ε below it:
    min ½‖w‖² + ½ν·ΣCᵢ·(u₀ − u₁) + Σ Cᵢ·(max(0, yᵢ − wᵀφ(xᵢ) − u₀) + max(0, wᵀφ(xᵢ) + u₁ − yᵢ))
ε ≥ 0 holds by itself: with ε < 0 each loss is at least |ε| larger than with ε = 0, and ν ≤ 1 of that is
saved. In the dual the positive and the negative parts, α and −α*, have the sums ±½ν·ΣCᵢ; ‖β‖₁ may be
smaller, as adding the same to α and α* leaves β unchanged.

For every ε ≥ 0, with the primal and dual objectives P and D of regression with that tube,
    D(β) + ε‖β‖₁  ≤  optimum  ≤  P(w, b) + ε·ν·ΣCᵢ,
as ε only enters D as −ε‖β‖₁: the bounds use the best tube for the scores. If β exceeds the budget by a
factor 1/s, the dual objective at sβ is at least s times that at β, as the dual is concave and 0 at 0.
"""

from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.decision import Decision
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.problem.task import TARGETS, Task
from dualgap.problems.risk.risk import Risk


@dataclass(frozen=True, eq=False)
class NuSVR(Formulation):
    """min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·nu·ΣCᵢ over w, b and ε ≥ 0."""

    X: Matrix
    y: Vector
    nu: float
    C: Any
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen

    intercept: ClassVar[bool] = True
    task: ClassVar[Task] = TARGETS
    source: ClassVar[str] = "Schölkopf, Smola, Williamson & Bartlett 2000"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + Σ Cᵢ·|yᵢ − fᵢ|; each side has an offset of cost ±½ν·ΣCᵢ."""
        C = np.full(self.n, self.C, np.float64)
        half = 0.5 * self.nu * fsum(C)
        loss, costs = EpsilonInsensitive(0.0), np.array([half, -half])
        return Risk(self.samples, self.y, loss, C, costs)

    def decision(self, offsets: Any) -> Decision:
        """Return f with a tube: ε is half the difference of the offsets b + ε and b − ε."""
        return Decision(tube=max(0.0, float(offsets[0] - offsets[1]) / 2))
