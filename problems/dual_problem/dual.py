"""The dual of a formulation."""

from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dualgap.problems.arithmetic import Balls, Intervals
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.forms import BoxQP, Unsupported
from dualgap.problems.gram.gram import GIBIBYTE, Gram
from dualgap.problems.gram.semidefinite import is_positive_semidefinite, psd_shift
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Hinge, Piece
from dualgap.problems.problem import Problem
from dualgap.problems.projection import members_of, project

View = Literal["primal", "dual", "risk"]


class DualProblem(Problem):
    """The loss, weights and offsets of a formulation, and its dual feasible set.

    Attributes
    ----------
    view : how the problem is formulated, which determines the sign and scale of `objective`.
    shared_gram : the samples' Gram matrix, shared by several problems, see `changed`.
    takes_blocks : whether its samples may be in blocks.
    """

    view: ClassVar[View] = "dual"
    takes_blocks: ClassVar[bool] = False
    shared_gram: Gram | None = None

    X: Matrix
    y: Vector
    kernel: Kernel = Linear()
    intercept: bool = True
    C: Any  # a field of some formulations only

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def outputs(self) -> int:
        """Number of dual variables per sample: 1, or K for K classes."""
        return 1

    @property
    def loss(self) -> Any:
        """The loss of one sample, by default the hinge."""
        return Hinge()

    @property
    def weight(self) -> Vector:
        """Weights Cᵢ of the losses, shape (n,)."""
        return np.full(self.n, self.slack_weight, dtype=np.float64)

    @property
    def slack_weight(self) -> Any:
        """The source of `weight`: one number for all samples, or one per sample."""
        return self.C

    @property
    def groups(self) -> Indices | None:
        """Index of each sample's offset, shape (n,), −1 for none; None for at most one offset."""
        return None

    @property
    def costs(self) -> Vector:
        """The linear costs c of the offsets, shape (number of groups,): 0 by default."""
        count = int(self.intercept) if self.groups is None else int(np.max(self.groups)) + 1
        return np.zeros(max(0, count))

    @property
    def budget(self) -> float:
        """The upper bound on Σ|βᵢ|."""
        return inf

    @property
    def sums(self) -> Vector:
        """The required sum of the coefficients β of each group, shape (number of groups,)."""
        return self.costs

    def samples_of_groups(self, count: int) -> list[Indices]:
        """Return the samples of each of `count` groups; without `groups` each has all samples."""
        if self.groups is None:
            return [np.arange(self.n)] * count
        return members_of(self.groups, count)

    def losses(self, y: Any, scores: Any, offsets: Any) -> Any:
        """Return ℓ(yᵢ, fᵢ) (n,) for decisions fᵢ = score + offset, in the arguments' arithmetic."""
        return self.loss.value(y, scores + self.shifts(offsets))

    def shifts(self, offsets: Any) -> Any:
        """Return the offset of each sample: one number without groups."""
        if self.groups is None:
            return offsets[0] if len(offsets) else 0.0
        return np.concatenate([offsets, [0.0]])[self.groups]

    def allows(self, offsets: Any) -> bool:
        """Whether offsets are feasible: by default all are."""
        return True

    def offset_choices(self, offsets: Vector, scores: Vector) -> list[Vector]:
        """Return candidates for the best feasible offsets, from the dual's multipliers."""
        return [offsets]

    def decision_offset(self, offsets: Any) -> float:
        """Return the b of the decision function: the mean of the best offsets (groups,)."""
        return float(np.mean(offsets)) if len(offsets) else 0.0

    def exact_weights(self) -> list[Fraction | None]:
        """Return Cᵢ as rationals, None where infinite."""
        return [None if np.isinf(c) else Fraction(c) for c in self.weight.tolist()]

    def targets(self, array: type[Intervals] | type[Balls]) -> Any:
        """Return the targets as an `array`, exact by default; labels stay as they are."""
        return array(self.y) if self.is_regression else self.y

    @property
    def is_regression(self) -> bool:
        """Whether `y` holds real targets."""
        return self.loss.is_regression

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector of feature weights."""
        return isinstance(self.kernel, Linear)

    @property
    def tube(self) -> float:
        """Half-width of the loss's tube; 0 if it has none."""
        return float(getattr(self.loss, "epsilon", 0.0))

    @property
    def pieces(self) -> list[Piece] | None:
        """The pieces of the loss if it is piecewise linear, else None."""
        return self.loss.dual_pieces(self.y)

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """The smallest and largest values of each αᵢ, shape (n,)."""
        low, high = self.loss.dual_range
        return times(self.weight, low), times(self.weight, high)

    @property
    def upper(self) -> Vector:
        """The largest |αᵢ|, shape (n,): Cᵢ times the loss's largest slope; may be inf."""
        return self.weight * self.loss.lipschitz

    @cached_property
    def is_bounded(self) -> bool:
        """Whether every dual variable is bounded."""
        return bool(np.isfinite(self.upper).all())

    def gram(self, memory: int = GIBIBYTE) -> Gram:
        """Return the shared Gram matrix if there is one, else a new one."""
        return self.shared_gram or Gram(self.X, self.kernel, memory)

    @cached_property
    def decision_exponent(self) -> int:
        """The k such that decisions, targets and offsets have the magnitude 2ᵏ: 0 for a margin of 1.

        If offsets have costs and labels have no margin, 2ᵏ is the magnitude of K times one sample's α.
        """
        if self.loss.degree is None:
            return 0
        if not self.is_regression:
            largest = min(float(self.weight.max()), float(np.abs(self.costs).sum()))
            return _exponent(largest * float(np.abs(self.kernel.diagonal(self.X)).max()))
        largest, extent = float(np.abs(self.y).max()), float(np.ptp(self.y))
        takes_shifts = self.costs.size and not self.costs.sum()
        # a range of targets below 2⁻³⁰ of the largest is rounding
        extent = max(extent, 2.0**-30 * largest) if takes_shifts and extent else largest
        return _exponent(extent)

    @cached_property
    def is_psd(self) -> bool:
        """Whether the Gram matrix is positive semidefinite: declared by the kernel, else tested."""
        return is_positive_semidefinite(self.gram())

    @cached_property
    def psd_shift(self) -> float:
        """δ ≥ 0 such that K + δI is positive semidefinite; 0 if the kernel declares that K is."""
        return psd_shift(self.gram()) if self.is_psd else 0.0

    def changed(self, **values: Any) -> Self:
        """Return the problem with other settings or targets for the same samples and kernel.

        Cached properties of the samples are kept, so this is fast. The values are not validated: they
        must be as the constructor would leave them.
        """
        names = {"y", "is_psd", "psd_shift", "shared_gram", *(field.name for field in fields(self))}  # type: ignore[arg-type]
        copy = object.__new__(type(self))
        vars(copy).update({k: v for k, v in vars(self).items() if k in names} | values)
        return copy

    @cached_property
    def signs(self) -> Vector:
        """The signs in α = signs·β, shape (n,) or (n, outputs): the labels; ones for regression."""
        return np.ones(self.n) if self.loss.is_regression else self.y

    def beta(self, alpha: Vector) -> Vector:
        """Return the coefficients of w = Σ βᵢφ(xᵢ) for dual variables `alpha`."""
        return self.signs.reshape(alpha.shape) * alpha

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables for the coefficients `beta`: the inverse of `beta`."""
        return self.beta(beta)

    def feasible(self, alpha: Vector) -> Vector:
        """Return the nearest dual feasible point to `alpha` (n,), scaled down to the budget if needed.

        An excess over the budget by rounding remains: bounds account for it.
        """
        a = self.signs if self.sums.size else None
        nearest = project(alpha, *self.limits, a, self.sums, self.groups)
        size = float(np.abs(nearest).sum())
        return nearest * (self.budget / size) if size > (1 + 1e-12) * self.budget else nearest

    def infeasibility(self, alpha: Vector) -> float:
        """Return the largest violation of a bound, an equality or the budget by `alpha` (n,)."""
        low, high = self.limits
        box, over = np.maximum(alpha - high, low - alpha), np.abs(alpha).sum() - self.budget
        worst = max(0.0, float(box.max()), float(over))
        if not self.sums.size:
            return worst
        sums = self.beta(alpha).sum(keepdims=True)
        if self.groups is not None:  # bin 0 holds the samples in no group
            sums = np.bincount(self.groups + 1, self.beta(alpha), self.sums.size + 1)[1:]
        return max(worst, float(np.abs(sums - self.sums).max()))

    @cached_property
    def box(self) -> BoxQP:
        """The dual as a box QP, for certificates."""
        return self.reduce(BoxQP, gram=self.gram(memory=0)).form

    def box_gradient(self, scores: Vector) -> Vector:
        """Return Qx + p of the dual box QP from the scores f = Kβ (n,)."""
        return np.concatenate([p.residual(scores) for p in self.linear_pieces])

    def to_box_variables(self, alpha: Vector) -> Vector:
        """Return the box QP's variables for `alpha`: itself, or its positive and negative parts."""
        beta, pieces = self.beta(alpha), self.linear_pieces
        signed = [p.sign * beta for p in pieces]
        return signed[0] if len(pieces) == 1 else np.maximum(np.concatenate(signed), 0.0)

    def from_box_variables(self, x: Vector) -> Vector:
        """Return `alpha` for the box QP's variables: the inverse of `to_box_variables`."""
        pieces = self.linear_pieces
        if x.size != len(pieces) * self.n:
            raise ValueError(f"alpha has {x.size} variables, expected {len(pieces) * self.n}")
        parts = zip(pieces, x.reshape(len(pieces), self.n), strict=True)
        beta = [p.sign * part for p, part in parts]
        return self.alpha(beta[0] if len(beta) == 1 else np.sum(beta, axis=0))

    @property
    def linear_pieces(self) -> list[Piece]:
        """The pieces of the loss; Unsupported if it is not piecewise linear."""
        pieces = self.pieces
        if pieces is None:
            raise Unsupported(
                f"the {self.loss.name} loss has no form as a quadratic program: only hinge and "
                "epsilon-insensitive losses have; use a solver of ERM forms"
            )
        return pieces

    @property
    def redefined(self) -> list[str]:
        """The properties that its class redefines although samples in blocks do not support them."""
        names, cls = ("weight", "groups", "costs"), type(self)
        return [name for name in names if getattr(cls, name) is not getattr(DualProblem, name)]


def times(C: Vector, limit: float) -> Vector:
    """Return limit·C, which is 0 for a limit of 0 even if C is infinite."""
    return limit * C if limit else np.zeros(C.size)


def _exponent(size: float) -> int:
    """Return the k with size/2ᵏ in [½, 1), and 0 for 0."""
    return int(np.frexp(size)[1])
