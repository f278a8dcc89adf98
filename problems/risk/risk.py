"""Regularised risks: what a formulation on samples states, as a value.

Dual variables αᵢ are yᵢβᵢ if y are labels, and βᵢ if they are targets (the textbooks' α − α*).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.blocks import Block, Blocks
from dualgap.problems.dataset import HasSamples, Indices, Matrix, Vector, check_weight_range
from dualgap.problems.forms import BoxQP, KernelQP, Unsupported
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
            vars(samples)["psd_shift"] = factor * self.psd_shift
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

    title: ClassVar[str] = "a regularised risk"

    def __post_init__(self) -> None:
        if np.ndim(self.C) == 0 and not self.in_blocks:
            object.__setattr__(self, "C", np.full(self.n, self.C, dtype=np.float64))

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.samples.n

    @property
    def has_offsets(self) -> bool:
        """Whether there are unregularised offsets."""
        return bool(self.costs.size)

    @property
    def by_side(self) -> bool:
        """Whether the offsets are those of the two slopes of the loss."""
        return self.groups is None and self.costs.size > 1

    @property
    def budget(self) -> float:
        """The upper bound on Σ|βᵢ|: with offsets by side, β⁺ and β⁻ have the sums c."""
        return float(np.abs(self.costs).sum()) if self.by_side else inf

    @property
    def in_blocks(self) -> bool:
        """Whether only one block of its samples at a time is in memory."""
        return isinstance(self.samples.X, Blocks)

    def on(self, block: Block) -> Risk:
        """Return the risk of a block of samples alone, which is a summand of this one."""
        return replace(self, samples=KernelSamples(block.X), y=block.y, C=block.C)

    @cached_property
    def blocks(self) -> Blocks:
        """The samples with their y and Cᵢ, in blocks; arrays are cut into views."""
        X: Any = self.samples.X
        return X.times(float(self.C)) if self.in_blocks else Blocks.from_arrays(X, self.y, self.C)

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that determine the optimum, equal for dense and sparse samples."""
        X: Any = self.samples.X
        X = repr(X) if self.in_blocks else scipy.sparse.csr_array(X)
        # 12 digits: C = 1/(n·lam) with lam = 1/(n·C) differs from C by rounding
        distinct, index = np.unique(self.C, return_inverse=True)
        rounded = np.array([float(f"{c:.12g}") for c in distinct])
        C = rounded[index] if np.unique(rounded).size > 1 else rounded[:1]
        budget = self.budget if self.by_side else 0.0
        settings = self.samples.kernel, self.loss, self.costs, self.groups, budget
        return X, self.y, C, *settings

    @property
    def tube(self) -> float:
        """Half-width of the loss's tube; 0 if it has none."""
        return float(getattr(self.loss, "epsilon", 0.0))

    @cached_property
    def is_hard(self) -> bool:
        """Whether a sample allows no loss, so that there may be no feasible point."""
        return bool(np.isinf(self.C).any())

    @property
    def limits(self) -> tuple[Vector, Vector]:
        """The smallest and largest values of each αᵢ, shape (n,), or (n, K) for K classes."""
        return self.loss.limits(self.y, self.C)

    @property
    def upper(self) -> Vector:
        """The largest |αᵢ|, shape (n,): Cᵢ times the loss's largest slope; may be inf."""
        return self.C * self.loss.lipschitz

    @cached_property
    def is_bounded(self) -> bool:
        """Whether every dual variable is bounded."""
        return bool(np.isfinite(self.upper).all())

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
        """The dual in coefficients, for certificates; Unsupported if it is no quadratic program."""
        return self.kernel_qp(self.samples.gram(memory=0))

    @cached_property
    def box(self) -> BoxQP:
        """The same as a box QP."""
        return self.form.split()

    def kernel_qp(self, gram: Gram, start: Vector | None = None) -> KernelQP:
        """Return the dual in coefficients, on a Gram matrix of the samples and from `start` on.

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
        if self.by_side:
            groups, sample = np.repeat([0, 1], self.n), np.tile(np.arange(self.n), 2)
            q, eps, nothing = q[sample], eps[sample], np.zeros(self.n)
            lo, hi = np.concatenate([nothing, lo]), np.concatenate([hi, nothing])
        return KernelQP(gram, q, eps, lo, hi, self.costs, groups, sample, start)

    def coefficients(self, alpha: Vector) -> Vector:
        """Return the variables of `kernel_qp` for dual variables `alpha` (n,).

        With offsets by side, β⁺ and −β⁻ are increased equally until they have their sums.
        """
        beta = self.beta(alpha)
        if not self.by_side:
            return beta
        capacity = self.C - np.abs(alpha)
        remaining = 0.5 * (self.budget - float(np.abs(alpha).sum()))
        is_unused = remaining > 1e-12 * self.budget  # and not the rounding error of the sum
        increase = capacity * (remaining / capacity.sum()) if is_unused else 0.0 * capacity
        parts = np.maximum(beta, 0.0) + increase, np.minimum(beta, 0.0) - increase
        return np.concatenate(parts)

    def from_coefficients(self, beta: Vector) -> Vector:
        """Return the dual variables (n,) for the variables of `kernel_qp`."""
        return self.alpha(beta if beta.size == self.n else beta.reshape(-1, self.n).sum(axis=0))

    def box_point(self, alpha: Vector) -> Vector:
        """Return the variables of `box` for dual variables `alpha` (n,)."""
        return self.form.split_point(self.coefficients(alpha))

    def from_box_point(self, x: Vector) -> Vector:
        """Return the dual variables (n,) for the variables `x` of `box`."""
        return self.from_coefficients(self.form.joined_point(x))

    def check(self) -> None:
        """Raise ValueError if the bounds would not hold."""
        if self.in_blocks:
            _check_terms(self.loss.terms(np.array([-1.0, 1.0])))  # y by the certificate
            return
        self._check_groups()
        valid = self.C.shape == (self.n,) and bool((self.C > 0).all())
        if not (valid and (np.isfinite(self.C).all() or np.isinf(self.C).all())):
            raise ValueError(
                f"C: must be {self.n} finite numbers above 0, one for each sample, got "
                f"{short_repr(self.C)}; use a hard margin if no loss is allowed"
            )
        if not self.is_hard:
            check_weight_range(self.C, "C: every entry")
        _check_terms(self.terms)

    def _check_groups(self) -> None:
        if self.by_side and (self.terms is None or self.costs.size != 2):
            raise ValueError(
                f"costs: must be at most one without groups, or two for the slopes of a piecewise "
                f"linear loss, got {self.costs.size}"
            )
        if self.groups is None:
            return
        index, count = np.asarray(self.groups), self.costs.size
        is_valid = index.shape == (self.n,) and index.dtype.kind == "i"
        if not is_valid or index.min() < -1 or index.max() >= count:
            raise ValueError(
                f"groups: must be {self.n} whole numbers, the offset of each sample from 0 to "
                f"{count - 1} for {count} costs, or -1 for none, got {short_repr(self.groups)}"
            )


def _check_terms(terms: Terms | None) -> None:
    if terms is not None:
        terms.check()
