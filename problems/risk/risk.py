"""Regularised risks, as which formulations on samples are stated.

Dual variables αᵢ are yᵢβᵢ if y are labels, and βᵢ if they are targets (the textbooks' α − α*).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems.blocks import Block, Blocks
from dualgap.problems.box import members_of
from dualgap.problems.dataset import HasSamples, Indices, Matrix, Vector, check_weight_range
from dualgap.problems.forms import KernelQP, Unsupported
from dualgap.problems.gram.gram import GIBIBYTE, Gram
from dualgap.problems.gram.semidefinite import is_positive_semidefinite, psd_shift
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Loss, Perceptron, Terms
from dualgap.problems.losses.base import times
from dualgap.problems.validation import short_repr


@dataclass(frozen=True, eq=False)
class KernelSamples(HasSamples):
    """Samples φ(xᵢ) in the feature space of a kernel.

    Attributes
    ----------
    X : (n, d), or samples in blocks.
    shared_gram : their Gram matrix, shared by several problems; None if each creates its own.
    """

    X: Matrix
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    shared_gram: Gram | None = None

    @property
    def in_blocks(self) -> bool:
        """Whether only one block of the samples at a time is in memory."""
        return isinstance(self.X, Blocks)

    @property
    def is_linear(self) -> bool:
        """Whether w is a vector of feature weights."""
        return isinstance(self.kernel, Linear)

    def gram(self, memory: int = GIBIBYTE) -> Gram:
        """Return the shared Gram matrix if there is one, else a new one."""
        return self.shared_gram or Gram(self.X, self.kernel, memory)

    @cached_property
    def is_psd(self) -> bool:
        """Whether the Gram matrix is positive semidefinite: declared by the kernel, else tested."""
        return bool(self.kernel.is_psd) or is_positive_semidefinite(self.gram())

    @cached_property
    def psd_shift(self) -> float:
        """δ ≥ 0 such that K + δI is positive semidefinite; 0 if the kernel declares that K is."""
        return 0.0 if self.kernel.is_psd or not self.is_psd else psd_shift(self.gram())

    def derived(
        self, X: Matrix, shared_gram: Gram | None = None, factor: float = 1.0
    ) -> KernelSamples:
        """Return samples whose Gram matrix is `factor` times this one, or times a submatrix of it.

        What is known about its eigenvalues is kept.
        """
        samples = KernelSamples(X, self.kernel, shared_gram)
        if "is_psd" in vars(self):
            vars(samples)["is_psd"] = self.is_psd
        if "psd_shift" in vars(self):
            vars(samples)["psd_shift"] = factor * self.psd_shift if self.psd_shift else 0.0
        return samples


def one_offset(intercept: bool) -> Vector:
    """Return the costs of the offsets of a risk: one offset without a cost, or no offset."""
    return np.zeros(int(intercept))


@dataclass(frozen=True, eq=False)
class Risk:
    """min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓ(yᵢ, wᵀφ(xᵢ) + u_{g(i)}).

    In the dual each offset u_g has one equality:
        max over β   −½βᵀKβ − Σᵢ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)   s.t.  Σ_{i∈g} βᵢ = c_g,      w = Σ βᵢφ(xᵢ)

    Attributes
    ----------
    samples : the n samples in the feature space of the kernel.
    y : (n,) labels −1 and +1, classes or targets; None for samples in blocks, which carry their own.
    loss : ℓ.
    C : (n,) weights of the losses, infinite for a hard margin; given as one number, it is that of all
        samples. For samples in blocks one number, which multiplies the weights stored with them.
    costs : (number of offsets,) the costs c.
    groups : (n,) index of each sample's offset, −1 for none. None for at most one offset, or for two of
        a piecewise linear loss: one for its slope below the kink, where β > 0, one for that above.
    target_factor : if yᵢ is this number times k(xᵢ, xᵢ), so that certificates include its rounding.
    exact_C : the exact value of every Cᵢ, if float64 rounds it.
    """

    samples: KernelSamples
    y: Vector
    loss: Loss
    C: Any
    costs: Vector
    groups: Indices | None = None
    target_factor: float | None = None
    exact_C: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.samples.in_blocks and np.ndim(self.C) == 0:
            object.__setattr__(self, "C", np.full(self.n, self.C, dtype=np.float64))

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.samples.n

    @cached_property
    def is_hard(self) -> bool:
        """Whether a sample allows no loss, so that there may be no feasible point."""
        return bool(np.isinf(self.C).any())

    def beta(self, alpha: Vector) -> Vector:
        """Return the coefficients of w = Σ βᵢφ(xᵢ) for dual variables `alpha`."""
        return self.loss.signs(self.y).reshape(alpha.shape) * alpha

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables for the coefficients `beta`: the inverse of `beta`."""
        return self.beta(beta)

    @cached_property
    def terms(self) -> Terms | None:
        """The terms of the loss if it is piecewise linear and w = 0 is not optimal, else None."""
        is_trivial = isinstance(self.loss, Perceptron) and not self.costs.any()
        return None if is_trivial else self.loss.terms(self.y)

    @cached_property
    def form(self) -> KernelQP:
        """The dual of a piecewise linear loss, in coefficients.

        Offsets by side give two coefficients a sample, β⁺ ≥ 0 and β⁻ ≤ 0, with a sum each.

        Raises
        ------
        Unsupported
            If the loss is not piecewise linear.
        """
        if self.terms is None:
            raise Unsupported(
                f"the {self.loss.name} loss has no form as a quadratic program: only hinge and "
                "epsilon-insensitive losses have; use a solver of ERM forms"
            )
        q, lo, hi = self.terms.q, times(self.C, self.terms.lo), times(self.C, self.terms.hi)
        eps, groups, sample = np.full(self.n, self.terms.eps), self.groups, None
        if by_side(self):
            groups, sample = np.repeat([0, 1], self.n), np.tile(np.arange(self.n), 2)
            q, eps, nothing = q[sample], eps[sample], np.zeros(self.n)
            lo, hi = np.concatenate([nothing, lo]), np.concatenate([hi, nothing])
        gram = self.samples.gram(memory=0)
        return KernelQP(gram, q, eps, lo, hi, self.costs, groups, sample)


def by_side(risk: Risk) -> bool:
    """Whether the offsets are those of the two slopes of the loss."""
    return risk.groups is None and risk.costs.size > 1


def shifts(risk: Risk, offsets: Any) -> Any:
    """Return the offset of each sample: one number without groups."""
    if risk.groups is None:
        return offsets[0] if len(offsets) else 0.0
    return np.concatenate([offsets, [0.0]])[risk.groups]


def absorbs_shifts(risk: Risk) -> bool:
    """Whether offsets of all samples, without a total cost, absorb a constant added to all targets."""
    all_have_one = bool(risk.costs.size) and (risk.groups is None or bool((risk.groups >= 0).all()))
    is_residual = getattr(risk.loss, "depends_on_residual", False)
    return all_have_one and not risk.costs.sum() and is_residual


def losses_at(risk: Risk, y: Any, scores: Any, offsets: Any) -> Any:
    """Return ℓ(yᵢ, fᵢ) (n,) for decisions fᵢ = score + offset, in the arguments' arithmetic."""
    if by_side(risk):
        terms: Any = risk.loss.terms(y)
        return terms.value(*(scores + u for u in offsets))
    return risk.loss.value(y, scores + shifts(risk, offsets))


def mean_offset(offsets: Any) -> float:
    """Return the b of the decision function: the mean of the offsets (groups,), 0 without any."""
    return float(np.mean(offsets)) if len(offsets) else 0.0


def groups_of(risk: Risk, count: int) -> list[Indices]:
    """Return the samples of each of `count` groups; without `groups` each has all samples."""
    if risk.groups is None:
        return [np.arange(risk.n)] * count
    return members_of(risk.groups, count)


def decision_exponent(risk: Risk) -> int:
    """Return the k such that decisions, targets and offsets have the magnitude 2ᵏ: 0 for a margin of 1.

    If offsets have costs and labels have no margin, 2ᵏ is the magnitude of K times one sample's α.
    """
    samples = risk.samples
    if risk.loss.degree is None:
        return 0
    if not risk.loss.is_regression:
        largest = min(float(risk.C.max()), float(np.abs(risk.costs).sum()))
        largest *= float(np.abs(samples.kernel.diagonal(samples.X)).max())
        return int(np.frexp(largest)[1])
    largest, extent = float(np.abs(risk.y).max()), float(np.ptp(risk.y))
    takes_shifts = risk.costs.size and not risk.costs.sum()
    # a range of targets below 2⁻³⁰ of the largest is rounding
    extent = max(extent, 2.0**-30 * largest) if takes_shifts and extent else largest
    return int(np.frexp(extent)[1])


def box_point(risk: Risk, alpha: Vector) -> Vector:
    """Return the variables of the box QP `risk.form.box` for dual variables `alpha` (n,)."""
    return risk.form.split_point(risk.form.of_samples(risk.beta(alpha)))


def from_box_point(risk: Risk, x: Vector) -> Vector:
    """Return the dual variables (n,) for the variables `x` of the box QP."""
    return risk.alpha(risk.form.per_sample(risk.form.joined_point(x)))


def on_block(risk: Risk, block: Block) -> Risk:
    """Return the risk of a block of samples alone, which is a summand of `risk`."""
    return replace(risk, samples=KernelSamples(block.X), y=block.y, C=block.C)


def in_blocks(risk: Risk) -> Risk:
    """Return the risk with its samples in blocks: arrays are cut into views."""
    samples: Any = risk.samples
    if samples.in_blocks:
        return risk
    blocks: Any = Blocks.from_arrays(samples.X, risk.y, risk.C)
    return replace(risk, samples=KernelSamples(blocks, samples.kernel), C=1.0)


def blocks_of(risk: Risk) -> Blocks:
    """Return the samples of a risk in blocks, with their y and Cᵢ."""
    X: Any = risk.samples.X
    return X.times(float(risk.C))


def check_risk(risk: Risk) -> None:
    """Raise ValueError if the bounds would not hold for a risk."""
    if risk.samples.in_blocks:
        terms = risk.loss.terms(np.array([-1.0, 1.0]))  # y by the certificate
    else:
        _check_groups(risk)
        valid = risk.C.shape == (risk.n,) and bool((risk.C > 0).all())
        if not (valid and (np.isfinite(risk.C).all() or np.isinf(risk.C).all())):
            raise ValueError(
                f"C: must be {risk.n} finite numbers above 0, one for each sample, got "
                f"{short_repr(risk.C)}; use a hard margin if no loss is allowed"
            )
        if not risk.is_hard:
            check_weight_range(risk.C, "C: every entry")
        terms = risk.terms
    if terms is not None:
        terms.check()


def _check_groups(risk: Risk) -> None:
    count = risk.costs.size
    if by_side(risk) and (risk.terms is None or count != 2):
        raise ValueError(
            f"costs: must be at most one without groups, or two for the slopes of a piecewise "
            f"linear loss, got {count}"
        )
    if risk.groups is None:
        return
    index = np.asarray(risk.groups)
    is_valid = index.shape == (risk.n,) and index.dtype.kind == "i"
    if not is_valid or index.min() < -1 or index.max() >= count:
        raise ValueError(
            f"groups: must be {risk.n} whole numbers, the offset of each sample from 0 to "
            f"{count - 1} for {count} costs, or -1 for none, got {short_repr(risk.groups)}"
        )
