"""Kernels k(x, z) = φ(x)ᵀφ(z) with an explicit feature map φ, and those whose features are counts."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.rounding import gamma, terms
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.base import ASSUMED_OPERATIONS, Bound, Kernel
from dualgap.problems.kernels.samples import (
    Block,
    Selection,
    as_dense,
    inner_products,
    squared_norms,
    stacked,
)

_DENSE_BYTES = 2**26  # features up to this size are stored dense: their products are faster


class FeatureMapKernel(Kernel):
    """k(x, z) = φ(x)ᵀφ(z) with an explicit φ: a subclass defines `features`."""

    @abstractmethod
    def features(self, X: Matrix) -> Matrix:
        """Return φ of the rows of `X` (m, d), shape (m, D).

        D and the meaning of the columns may depend on `X`: map rows together if their features are
        to be multiplied.
        """

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return φ(X) φ(Z)ᵀ."""
        phi, m = self.features(stacked(X, Z)), X.shape[0]
        return inner_products(phi[:m], phi[m:])

    def diagonal(self, X: Matrix) -> Vector:
        """Return ‖φ(xᵢ)‖²."""
        return squared_norms(self.features(X))

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Bound the error of inner products of features, each with the errors of a few operations."""
        phi = self.features(X)
        return 0.0, np.sqrt(gamma(terms(phi) + ASSUMED_OPERATIONS) * squared_norms(phi))

    def bind(self, X: Matrix) -> Bound:
        """Map the samples once."""
        return Mapped(self, X)


class Mapped(Bound):
    """Products of features; the samples are mapped on the first request."""

    @cached_property
    def _phi(self) -> Matrix:
        phi = self.kernel.features(self.X)
        return as_dense(phi) if 8 * phi.shape[0] * phi.shape[1] <= _DENSE_BYTES else phi

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return φφᵀ restricted to `rows` and `cols`."""
        return inner_products(self._phi[rows], self._phi[cols])

    def diagonal(self) -> Vector:
        """Return ‖φ(xᵢ)‖²."""
        return squared_norms(self._phi)


class CountingKernel(FeatureMapKernel):
    """k(x, z) = φ(x)ᵀφ(z) for a φ of counts; `normalize` divides φ by its length."""

    normalize: bool

    @abstractmethod
    def counts(self, X: Matrix) -> scipy.sparse.csr_array:
        """Return the counts of the rows of `X` (m, d), shape (m, D)."""

    def features(self, X: Matrix) -> scipy.sparse.csr_array:
        """Return the counts, or each nonzero row divided by its length."""
        counts = self.counts(X)
        if not self.normalize:
            return counts
        length = np.sqrt(squared_norms(counts))
        inverse = 1.0 / np.where(length > 0, length, 1.0)
        return scipy.sparse.csr_array(scipy.sparse.diags_array(inverse) @ counts)

    def bind(self, X: Matrix) -> Bound:
        """Compute the counts once."""
        return Counted(self, X)


class Counted(Mapped):
    """Products of counts, which are exact in float64."""

    @cached_property
    def _counts(self) -> scipy.sparse.csr_array:
        return self.kernel.counts(self.X)

    def balls(self, rows: Indices, cols: Indices) -> Any:
        """Return the exact products, divided by the lengths if `normalize` is set."""
        left, right = self._counts[rows], self._counts[cols]
        common = Balls(inner_products(left, right))
        if not self.kernel.normalize:
            return common.matrix()
        lengths = [np.sqrt(Balls(np.maximum(squared_norms(v), 1.0))) for v in (left, right)]
        return (common / (lengths[0][:, None] * lengths[1])).matrix()  # 0/1 for rows of zeros
