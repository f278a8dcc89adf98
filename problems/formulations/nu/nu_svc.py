"""ν-support vector classification (Schölkopf, Smola, Williamson & Bartlett 2000).

    primal  min ½‖w‖² − νnρ + Σ max(0, ρ − yᵢ(wᵀφ(xᵢ) + b))
    dual    min ½αᵀQα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn, yᵀα = 0
At most a fraction ν of the samples falls short of the margin ρ, and at least a fraction ν are support
vectors. Each class has its own offset, b − ρ for y = 1 and b + ρ for y = −1, and half of the weight νn
in the dual. This is LIBSVM's scaling (Chang & Lin 2011, section 2.2), n² times the paper's objective;
LIBSVM finally divides its answer by ρ, so that f = ±1 on the margins. Here f = ±ρ there. The answer
divided by ρ is that of the soft margin with C = 1/ρ.
"""

from dataclasses import dataclass
from math import fsum, inf, nextafter
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.decision import Decision
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.nu.one_class import lower_sum
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Perceptron
from dualgap.problems.risk.risk import Risk
from dualgap.problems.validation import NoSuchProblem


@dataclass(frozen=True, eq=False)
class NuSVC(Formulation):
    """min ½‖w‖² − νnρ + Σ max(0, ρ − yᵢ(wᵀφ(xᵢ) + b)), for `nu` up to 2·min(n₊, n₋)/n.

    With weights `C` (n,), sample i counts Cᵢ times, also in n, n₊ and n₋.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it.
    NoSuchProblem
        If the problem is infeasible for this `nu`; a ValueError that states the reason.
    """

    X: Matrix
    y: Vector
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    C: Any = 1.0

    intercept: ClassVar[bool] = True
    source: ClassVar[str] = "Schölkopf, Smola, Williamson & Bartlett 2000"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + Σ Cᵢ·max(0, −yᵢ(wᵀφ(xᵢ) + u_{g(i)})); the offsets cost ±νn/2.

        These costs give −νnρ for the offsets b − ρ and b + ρ.

        Raises
        ------
        NoSuchProblem
            If a class cannot carry half of the weight νn.
        """
        C, positive = np.full(self.n, self.C, np.float64), self.y > 0
        lighter = min(lower_sum(C[positive]), lower_sum(C[~positive]))
        half = self.nu * fsum(C) / 2
        if half > nextafter(lighter, inf):
            raise NoSuchProblem(
                f"nu: must be at most 2·min(n₊, n₋)/n = {2 * lighter / fsum(C):.6g} for "
                f"{int(positive.sum())} samples labelled +1 and {int((~positive).sum())} labelled "
                f"−1, got {self.nu!r}: each class must carry half of the weight nu·n, and each sample "
                "at most its own weight"
            )
        half = min(half, lighter)
        groups, costs = np.where(positive, 0, 1), np.array([half, -half])
        return Risk(self.samples, self.y, Perceptron(), C, costs, groups)

    def decision(self, offsets: Any) -> Decision:
        """Return f, which is ±ρ on the margins; ρ is half the difference of the offsets."""
        return Decision(has_margin=True, margin=float(offsets[1] - offsets[0]) / 2)
