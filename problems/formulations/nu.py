"""Machines whose parameter ν bounds the fractions of margin errors and of support vectors.

ν-SVC (Schölkopf, Smola, Williamson & Bartlett 2000):
    primal  min ½‖w‖² − νnρ + Σ max(0, ρ − yᵢ(wᵀφ(xᵢ) + b))
    dual    min ½αᵀQα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn, yᵀα = 0
At most a fraction ν of the samples falls short of the margin ρ, and at least a fraction ν are support
vectors. Each class has its own offset, b − ρ for y = 1 and b + ρ for y = −1, and half of the weight νn
in the dual. This is LIBSVM's scaling (Chang & Lin 2011, section 2.2), n² times the paper's objective;
LIBSVM finally divides its answer by ρ, so that f = ±1 on the margins. Here f = ±ρ there. The answer
divided by ρ is that of the soft margin with C = 1/ρ.

ν-SVR (the same paper), which optimises the tube:
    primal  min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − ε) + ε·ν·ΣCᵢ,    ε ≥ 0
    dual    min ½βᵀKβ − yᵀβ     s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0, ‖β‖₁ ≤ ν·ΣCᵢ
with β = α − α*. At most a fraction ν of the samples is outside the tube, and at least a fraction ν are
support vectors. This is LIBSVM's scaling, where C is n times smaller than the paper's and has the same
meaning as in ε-SVR, which has the same answer for the optimal ε (Chang & Lin 2011, section 2.6). Each
sample has two one-sided losses, with the offsets u₀ = b + ε above the tube and u₁ = b − ε below it:
    min ½‖w‖² + ½ν·ΣCᵢ·(u₀ − u₁) + Σ Cᵢ·(max(0, yᵢ − wᵀφ(xᵢ) − u₀) + max(0, wᵀφ(xᵢ) + u₁ − yᵢ))
ε ≥ 0 holds by itself: with ε < 0 each loss is at least |ε| larger than with ε = 0, and ν ≤ 1 of that is
saved. In the dual the positive and the negative parts, α and −α*, have the sums ±½ν·ΣCᵢ; ‖β‖₁ may be
smaller, as adding the same to α and α* leaves β unchanged. For every ε ≥ 0, with the primal and dual
objectives P and D of regression with that tube,
    D(β) + ε‖β‖₁  ≤  optimum  ≤  P(w, b) + ε·ν·ΣCᵢ,
as ε only enters D as −ε‖β‖₁: the bounds use the best tube for the scores. If β exceeds the budget by a
factor 1/s, the dual objective at sβ is at least s times that at β, as the dual is concave and 0 at 0.

One-class SVM (Schölkopf et al. 2001), the region that contains most samples:
    primal  min ½‖w‖² − νnρ + Σ max(0, ρ − wᵀφ(xᵢ))
    dual    min ½αᵀKα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn
with w = Σ αᵢφ(xᵢ), and f(x) = wᵀφ(x) − ρ < 0 for novel samples. This is LIBSVM's scaling (Chang & Lin
2011, section 2.4), νn times that of the paper, where αᵢ ≤ 1/(νn) and Σ αᵢ = 1. The offset is −ρ.

Support vector data description (Tax & Duin 2004), the smallest ball that contains most samples:
    primal  min R² + 1/(νn) Σ ξᵢ     s.t. ‖φ(xᵢ) − a‖² ≤ R² + ξᵢ, ξ ≥ 0
The paper writes C for 1/(νn). Multiplied by ½(νn)², with w = νn·a and u = ½νn(R² − ‖a‖²), it becomes
    primal  min ½‖w‖² + νn·u + Σ max(0, tᵢ − wᵀφ(xᵢ) − u),     tᵢ = ½νn·k(xᵢ, xᵢ)
    dual    min ½αᵀKα − tᵀα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn
the scaling of the one-class SVM. If k(x, x) is the same for all samples, tᵀα is constant, and both
machines have the same α. The decision function is R² − ‖φ(x) − a‖².
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, nextafter
from typing import Any, ClassVar, Self

import numpy as np

from dualgap.problems.dataset import Matrix, Vector, check_labels
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import EpsilonInsensitive, Perceptron, PiecewiseLinear, Terms
from dualgap.problems.problem.task import LABELS, TARGETS, Decision, Task
from dualgap.problems.risk.risk import Risk
from dualgap.problems.validation import NoSuchProblem


def lower_sum(values: Vector) -> float:
    """Return the sum of positive numbers, rounded down to float64."""
    total = fsum(values)
    return total if fsum([*values, -total]) >= 0 else nextafter(total, 0.0)


def fraction_of_sum(nu: float, C: Vector) -> float:
    """Return ν·ΣCᵢ rounded to float64, and at most ΣCᵢ."""
    return min(nu * fsum(C), lower_sum(C))


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


class OneClassFormulation(Formulation):
    """Base of machines trained on samples of one class, which detect samples outside it.

    f(x) < 0 means novel, predicted as −1; members of the class are predicted as +1.
    """

    X: Matrix
    nu: float
    intercept: ClassVar[bool] = True
    task: ClassVar[Task] = LABELS

    @cached_property
    def y(self) -> Vector:
        """The label +1 of each sample."""
        return np.ones(self.n)

    @classmethod
    def from_data(cls, X: Matrix, y: Vector, **parameters: Any) -> Self:
        """Return the problem of the samples labelled +1; the others are novel.

        Raises
        ------
        ValueError
            If labels are not −1 and +1, or none is +1.
        """
        positive = np.flatnonzero(check_labels(y, X.shape[0]) > 0)
        if not positive.size:
            raise ValueError("y: no sample is labelled +1, the class that is described")
        build: Any = cls
        return build(X[positive], **parameters)

    @classmethod
    def example_data(cls, _: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return valid example samples, with which the other parameters can be checked."""
        return np.eye(2), np.ones(2)

    def decision(self, offsets: Any) -> Decision:
        """Return f itself, without a margin: there is no other class."""
        return Decision()


@dataclass(frozen=True, eq=False)
class OneClassSVM(OneClassFormulation):
    """min ½‖w‖² − νnρ + Σ max(0, ρ − wᵀφ(xᵢ)); at most a fraction `nu` of the samples has f < 0.

    With weights `C` (n,), sample i counts Cᵢ times, also in n.
    """

    X: Matrix
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    C: Any = 1.0

    source: ClassVar[str] = "Schölkopf, Platt, Shawe-Taylor, Smola & Williamson 2001"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² − νnρ + Σ Cᵢ·max(0, −fᵢ): the offset −ρ has the cost νn."""
        C = np.full(self.n, self.C, np.float64)
        costs = np.array([fraction_of_sum(self.nu, C)])
        return Risk(self.samples, np.ones(self.n), Perceptron(), C, costs)


@dataclass(frozen=True)
class Shortfall(PiecewiseLinear):
    """max(0, y − f): how far a prediction is below its target."""

    is_regression: ClassVar[bool] = True
    degree: ClassVar[int | None] = 1

    def terms(self, y: Any) -> Terms:
        """Return the terms, in which t is at least 0."""
        return Terms(-y, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SVDD(OneClassFormulation):
    """min R² + 1/(νn) Σ max(0, ‖φ(xᵢ) − a‖² − R²); at most a fraction `nu` of samples is outside."""

    X: Matrix
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen

    C: ClassVar[float] = 1.0
    source: ClassVar[str] = "Tax & Duin 2004"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + νn·u + Σ max(0, tᵢ − wᵀφ(xᵢ) − u)."""
        C = np.full(self.n, self.C)
        total = fraction_of_sum(self.nu, C)
        t = 0.5 * total * self.kernel.diagonal(self.X)
        costs = np.array([total])
        return Risk(self.samples, t, Shortfall(), C, costs, target_factor=0.5 * total)

    def decision(self, offsets: Any) -> Decision:
        """Return R² − ‖φ(x) − a‖², which is wᵀφ(x) + u − ½νn·k(x, x) times 2/(νn)."""
        half = 0.5 * float(self.risk.costs[0])
        return Decision(1 / half, lambda X: half * self.kernel.diagonal(X))
