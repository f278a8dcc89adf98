"""Kernels of explicit features, k(x, z) = φ(x)ᵀφ(z)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.intervals import terms
from dualgap.problems.dataset import Matrix
from dualgap.problems.kernels.dot import DotKernel
from dualgap.problems.kernels.samples import Block, inner_products, squared_norms, stacked


class FeatureKernel(DotKernel):
    """k(x, z) = φ(x)ᵀφ(z) with an explicit φ: a subclass defines `features`."""

    @abstractmethod
    def features(self, X: Matrix) -> Matrix:
        """Return φ of the rows of `X` (m, d), shape (m, D).

        D and the meaning of the columns may depend on `X`: map rows together if their features are
        to be multiplied.
        """

    def mapped(self, *samples: Matrix) -> tuple[Matrix, ...]:
        """Return φ of the samples, mapped together."""
        if len(samples) == 1:
            return (self.features(*samples),)
        phi, m = self.features(stacked(*samples)), samples[0].shape[0]
        return phi[:m], phi[m:]

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return φ(x)ᵀφ(z)."""
        return p

    def cancellation(self, largest: float) -> float:
        """Return 0: products are not transformed."""
        return 0.0

    def operations(self, X: Matrix) -> float:
        """Return the number of features, each with the errors of a few operations."""
        return terms(self.features(X)) + super().operations(X)


class CountingKernel(FeatureKernel):
    """Inner products of counts, which are exact; `normalize` divides them by the lengths."""

    normalize: bool

    def __call__(self, X: Any, Z: Any) -> Block:
        """Return the matrix of k(xᵢ, zⱼ)."""
        if not isinstance(X, Balls):
            return super().__call__(X, Z)
        left, right = self.mapped(X.mid, Z.mid)  # the samples are numbers
        x2, z2 = Balls(squared_norms(left)), Balls(squared_norms(right))
        return self.of_products(Balls(inner_products(left, right)), x2[:, None], z2)

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return p, or p/√(‖φ(x)‖²‖φ(z)‖²), 0 without counts."""
        return p / np.sqrt(np.maximum(x2 * z2, 1.0)) if self.normalize else p

    def operations(self, X: Matrix) -> float:
        """Return the number of operations of the normalisation."""
        return 4
