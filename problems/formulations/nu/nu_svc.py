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
from functools import cached_property
from math import fsum, inf, nextafter
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.nu.one_class import lower_sum
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Perceptron
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

    intercept: ClassVar[bool] = True  # type: ignore[misc]
    source: ClassVar[str] = "Schölkopf, Smola, Williamson & Bartlett 2000"

    def __post_init__(self) -> None:
        super().__post_init__()
        half, fewer = self.nu * fsum(self.weight) / 2, self._fewer
        if half > nextafter(fewer, inf):
            raise NoSuchProblem(
                f"nu: must be at most 2·min(n₊, n₋)/n = {2 * fewer / fsum(self.weight):.6g} for "
                f"{int((self.y > 0).sum())} samples labelled +1 and {int((self.y < 0).sum())} labelled "
                f"−1, got {self.nu!r}: each class must carry half of the weight nu·n, and each sample "
                "at most its own weight"
            )

    @cached_property
    def _fewer(self) -> float:
        return min(lower_sum(self.weight[self.y > 0]), lower_sum(self.weight[self.y < 0]))

    @cached_property
    def _half(self) -> float:
        return min(self.nu * fsum(self.weight) / 2, self._fewer)

    @property
    def loss(self) -> Perceptron:
        """max(0, −yf), where f includes the offset of the sample's class."""
        return Perceptron()

    @property
    def groups(self) -> Indices:
        """0 for y = 1, 1 for y = −1."""
        return np.where(self.y > 0, 0, 1)

    @property
    def costs(self) -> Vector:
        """νn/2 and −νn/2, which give −νnρ for the offsets b − ρ and b + ρ.

        νn/2 is rounded to float64, and at most the total weight of either class.
        """
        return np.array([self._half, -self._half])

    def decision_scale(self, offsets: tuple[float, ...]) -> float:
        """Return ρ, half the difference of the offsets."""
        return (offsets[1] - offsets[0]) / 2

    def slacks(self, f: Vector, offsets: Any) -> Vector:
        """Return max(0, ρ − yᵢfᵢ)."""
        return np.maximum(0.0, self.decision_scale(offsets) - self.y * f)
