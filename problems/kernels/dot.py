"""Kernels of inner products, k(x, z) = g(xᵀz, ‖x‖², ‖z‖²), and the Gaussian one.

g is written once, with operators and NumPy's elementary functions, and evaluated on arrays of float64,
on float32 tiles (`dualgap.problems.gram.tiles`) and on balls. Distances ‖x‖² − 2xᵀz + ‖z‖² are expanded
unless that cancels digits; then differences are taken.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.intervals import EXPONENTIAL, terms
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.kernels.base import Bound, Kernel
from dualgap.problems.kernels.compiled import subtract_norms
from dualgap.problems.kernels.samples import (
    Block,
    Selection,
    for_products,
    inner_products,
    squared_distances,
    squared_norms,
)
from dualgap.problems.validation import check_positive


class DotKernel(Kernel):
    """k(x, z) = g(xᵀz, ‖x‖², ‖z‖²): a subclass defines g as `of_products`.

    Attributes
    ----------
    of_distance : whether k depends on ‖x − z‖² only. It is then g(−½‖x − z‖², 0, 0), which is computed
        accurately far from the origin too.
    """

    of_distance: ClassVar[bool] = False

    @abstractmethod
    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return g of inner products, entry by entry, with operators and elementary functions only.

        p (m, k), x2 (m, 1) and z2 (k,) are arrays of float64, float32 or balls. If k depends on the
        distance only, p is −½‖x − z‖², and x2 and z2 are 0.
        """

    def cancellation(self, largest: float) -> float:
        """Return how much larger than k the terms are that cancel in g, for ‖x‖² up to `largest`.

        The default, inf, evaluates distances by differences, and keeps the kernel out of float32.
        """
        return inf

    @property
    def power_form(self) -> tuple[float, float, int] | None:
        """(a, b, m) if g = (a·p + b)ᵐ, or m = 0 and g = exp(a·p), which tiles compute in registers."""
        return None

    def mapped(self, *samples: Matrix) -> tuple[Matrix, ...]:
        """Return the vectors whose inner products are taken: by default the samples."""
        return samples

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of k(xᵢ, zⱼ)."""
        X, Z = self.mapped(X, Z)
        x2, z2 = squared_norms(X), squared_norms(Z)
        if isinstance(X, Balls):
            return self._in_balls(X, Z, x2[:, None], z2)
        return self.values(X, Z, x2, z2, self.needs_differences(x2, z2))

    def diagonal(self, X: Matrix) -> Vector:
        """Return k(xᵢ, xᵢ), shape (m,)."""
        norms2 = np.zeros(X.shape[0]) if self.of_distance else squared_norms(*self.mapped(X))
        return self.of_norms(norms2)

    def bind(self, X: Matrix) -> Bound:
        """Map and centre the samples once."""
        return DotBound(self, X)

    def of_norms(self, x2: Vector) -> Vector:
        """Return k(x, x) from ‖x‖²."""
        if self.of_distance:
            return self.of_products(np.zeros(x2.size), 0.0, 0.0)
        return self.of_products(x2, x2, x2)

    def needs_differences(self, *norms: Vector) -> bool:
        """Whether distances are to be computed from differences, from squared norms."""
        largest = max(float(n.max(initial=0.0)) for n in norms)
        # above 100, the expansion of a distance loses more than two digits
        return self.of_distance and self.cancellation(largest) > 100.0

    def centred(self, X: Matrix) -> Matrix:
        """Return `X`, minus its mean if it is dense and that makes expanded distances accurate."""
        if not self.of_distance or scipy.sparse.issparse(X):
            return X
        if self.cancellation(float(squared_norms(X).max(initial=0.0))) <= 1.0:
            return X
        centred = X - X.mean(axis=0)
        return X if self.needs_differences(squared_norms(centred)) else centred

    def values(self, X: Matrix, Z: Matrix, x2: Vector, z2: Vector, differences: bool) -> Block:
        """Return k between mapped samples with squared norms x2 and z2."""
        if differences:
            K = -0.5 * squared_distances(X, Z)
            with np.errstate(over="ignore"):  # exp(−inf) is 0, the correct value
                self.evaluate(K, x2, z2)
            return K
        K = np.require(inner_products(X, Z), np.float64, ["C", "W"])
        if self.of_distance:
            subtract_norms(K, 0.5 * x2, 0.5 * z2)
        self.evaluate(K, x2, z2)
        return K

    def evaluate(self, p: Any, x2: Vector, z2: Vector) -> None:
        """Replace p (m, k), see `of_products`, by g, in float64 or float32."""
        chunk_bytes = 2**18  # temporary arrays stay in the cache
        step = max(1, chunk_bytes // max(1, p.itemsize * p.shape[1]))
        for start in range(0, p.shape[0], step):
            rows = slice(start, start + step)
            norms = (0.0, 0.0) if self.of_distance else (x2[rows, None], z2)
            part = p[rows]
            values = self.of_products(part, *norms)
            if values is not part:
                part[:] = values

    def _in_balls(self, X: Any, Z: Any, x2: Any, z2: Any) -> Any:
        """Return k in balls; −½‖x − z‖² is one product, of [x, −½‖x‖², 1] and [z, 1, −½‖z‖²]."""
        if not self.of_distance:
            return self.of_products(X @ Z.T, x2, z2)
        left = np.hstack([X, -0.5 * x2, np.ones((len(X), 1))])
        right = np.hstack([Z, np.ones((len(Z), 1)), -0.5 * z2[:, None]])
        return self.of_products(left @ right.T, 0.0, 0.0)


class DotBound(Bound):
    """The values of a `DotKernel`; the samples are mapped and centred on the first request."""

    @cached_property
    def samples(self) -> Matrix:
        """The mapped samples, centred if that makes distances accurate."""
        (X,) = self.kernel.mapped(self.X)
        return self.kernel.centred(for_products(X))

    @cached_property
    def _norms2(self) -> Vector:
        return squared_norms(self.samples)

    @cached_property
    def _differences(self) -> bool:
        return self.kernel.needs_differences(self._norms2)

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return k between the samples `rows` and `cols`."""
        X, x2 = self.samples, self._norms2
        return self.kernel.values(X[rows], X[cols], x2[rows], x2[cols], self._differences)

    def diagonal(self) -> Vector:
        """Return k(xᵢ, xᵢ), shape (n,); that of distances needs no samples."""
        norms2 = np.zeros(self.X.shape[0]) if self.kernel.of_distance else self._norms2
        return self.kernel.of_norms(norms2)


@dataclass(frozen=True)
class RBF(DotKernel):
    """k(x, z) = exp(−gamma·‖x − z‖²), with gamma > 0."""

    gamma: float

    source: ClassVar[str] = "Aizerman, Braverman & Rozonoer 1964; Boser, Guyon & Vapnik 1992"
    of_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return exp(2·gamma·p) for p = −½‖x − z‖²."""
        return np.exp(self.gamma * (2.0 * p))  # 2·gamma may overflow

    @property
    def power_form(self) -> tuple[float, float, int]:
        """exp(2·gamma·p)."""
        return 2 * self.gamma, 0.0, 0

    def cancellation(self, largest: float) -> float:
        """Return gamma·max‖x‖², by which the error of the exponent is multiplied."""
        return self.gamma * largest

    def check(self, X: Matrix) -> None:
        """Raise ValueError if squared distances overflow."""
        with np.errstate(over="ignore"):
            if not np.isfinite(4.0 * squared_norms(X)).all():
                raise ValueError("X: its squared norms overflow float64; scale the features down")

    def operations(self, X: Matrix) -> float:
        """Return the number for the exponent t and for exp.

        The error of the expansion is at most 4γ_m·max‖x‖²; that of differences γ_m·‖x − z‖², which
        changes exp by at most γ_m/e, as t·exp(−t) ≤ 1/e.
        """
        X = self.centred(X)
        norms, count = squared_norms(X), terms(X)
        if not self.needs_differences(norms):
            largest = self.cancellation(float(norms.max(initial=0.0)))
            return 4 * largest * (count + 6) + EXPONENTIAL
        # two sparse rows have up to twice as many entries
        return 0.4 * ((2 * count if scipy.sparse.issparse(X) else X.shape[1]) + 4) + EXPONENTIAL
