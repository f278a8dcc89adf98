"""ν-support vector classification (Schölkopf, Smola, Williamson & Bartlett 2000).

    primal  min ½‖w‖² − νnρ + Σ max(0, ρ − yᵢ(wᵀφ(xᵢ) + b))
    dual    min ½αᵀQα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn, yᵀα = 0
At most a share ν of the samples is short of the margin ρ, and at least a share ν are support vectors.
Each class has an offset of its own: b − ρ where y = 1 and b + ρ where y = −1, and in the dual half of
the weight νn. It is the scaling that LIBSVM solves (Chang & Lin 2011, section 2.2): n² times the paper's
objective, and LIBSVM divides its answer by ρ at the end, so that f = ±1 on the margins. Here they are
f = ±ρ. The answer divided by ρ is that of the soft margin with C = 1/ρ.
"""

from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, nextafter
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.formulations.nu.one_class import sum_below
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Perceptron
from dualgap.problems.validation import NoSuchProblem


@dataclass(frozen=True, eq=False)
class NuSVC(Formulation):
    """min ½‖w‖² − νnρ + Σ max(0, ρ − yᵢ(wᵀφ(xᵢ) + b)), for `nu` up to 2·min(n₊, n₋)/n.

    With weights `C` (n,) of the samples each counts Cᵢ times, in n, n₊ and n₋ too.

    Raises
    ------
    ValueError
        Naming the argument, if one is not usable.
    NoSuchProblem
        A ValueError that says why no machine with these samples has this `nu`.
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
                f"−1, got {self.nu!r}: each class has to carry half of the weight nu·n, and no sample "
                "more than its own"
            )

    @cached_property
    def _fewer(self) -> float:
        return min(sum_below(self.weight[self.y > 0]), sum_below(self.weight[self.y < 0]))

    @cached_property
    def _half(self) -> float:
        return min(self.nu * fsum(self.weight) / 2, self._fewer)

    @property
    def loss(self) -> Perceptron:
        """max(0, −yf) of f with the offset of the sample's class."""
        return Perceptron()

    @property
    def groups(self) -> Indices:
        """0 where y = 1, 1 where y = −1."""
        return np.where(self.y > 0, 0, 1)

    @property
    def costs(self) -> Vector:
        """νn/2 and −νn/2, which make −νnρ of the offsets b − ρ and b + ρ.

        νn/2 is rounded to float64, and no more than the samples of a class have in all.
        """
        return np.array([self._half, -self._half])

    def decision_scale(self, offsets: tuple[float, ...]) -> float:
        """Return ρ, half of the offsets' difference."""
        return (offsets[1] - offsets[0]) / 2

    def slacks(self, f: Vector, offsets: Any) -> Vector:
        """Return max(0, ρ − yᵢfᵢ)."""
        return np.maximum(0.0, self.decision_scale(offsets) - self.y * f)
