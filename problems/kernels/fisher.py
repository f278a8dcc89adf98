"""The Fisher kernel: samples are similar if they would change a generative model in the same direction.

    k(x, z) = U(x)ᵀ F⁻¹ U(z),   U(x) = ∇ log p(x | θ),   F = E[U Uᵀ]

p is a mixture of Gaussians with diagonal covariances, π_c·N(x; μ_c, σ_c²), fitted to the training
samples by scikit-learn. θ holds the logits of π, the μ and the σ. With responsibilities γ_c(x) and the
diagonal approximation of F, exact for well-separated components, φ = F^−½U has the entries
    (γ_c − π_c)/√π_c,   γ_c·(x − μ_c)/(σ_c·√π_c),   γ_c·((x − μ_c)²/σ_c² − 1)/√(2π_c).

Sources: Jaakkola & Haussler 1998, "Exploiting generative models in discriminative classifiers";
Sánchez, Perronnin, Mensink & Verbeek 2013, "Image classification with the Fisher vector", section 2.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.kernels.base import Bound, Kernel
from dualgap.problems.kernels.features import FeatureKernel
from dualgap.problems.kernels.samples import Block, as_dense
from dualgap.problems.validation import check_integer


@dataclass(frozen=True)
class Fisher(Kernel):
    """The Fisher kernel of a Gaussian mixture of `components`, fitted to the training samples.

    A formulation fits it to its samples once, at construction, and then holds a `FittedFisher`.
    """

    components: int = 2
    seed: int = 0

    source: ClassVar[str] = "Jaakkola & Haussler 1998; Sánchez et al. 2013"

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", check_integer(self.components, "components", 1))
        object.__setattr__(self, "seed", check_integer(self.seed, "seed", 0))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Raise ValueError: the mixture is not fitted yet."""
        raise ValueError("kernel: Fisher is not fitted to training samples yet; use fit(X)")

    def bind(self, X: Matrix) -> Bound:
        """Fit the mixture to `X`."""
        return self.fit(X).bind(X)

    def diagonal(self, X: Matrix) -> Vector:
        """Fit the mixture to `X`, and return the diagonal of its kernel."""
        return self.fit(X).diagonal(X)

    def check(self, X: Matrix) -> None:
        """Raise ValueError for fewer samples than components."""
        if X.shape[0] < self.components:
            raise ValueError(
                f"components: must be at most {X.shape[0]}, the number of samples, "
                f"got {self.components}"
            )

    def fit(self, X: Matrix) -> FittedFisher:
        """Return the kernel of the mixture fitted to `X` by expectation maximisation."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to import
        from sklearn.mixture import GaussianMixture  # noqa: PLC0415

        mixture = GaussianMixture(self.components, covariance_type="diag", random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the optimum is not needed
            mixture.fit(as_dense(X))
        return FittedFisher(
            _rounded(mixture.weights_), _rounded(mixture.means_), _rounded(mixture.covariances_)
        )


@dataclass(frozen=True)
class FittedFisher(FeatureKernel):
    """The Fisher kernel of a given mixture: weights (c), means (c, d) and variances (c, d) as tuples."""

    weights: tuple[float, ...]
    means: tuple[tuple[float, ...], ...]
    variances: tuple[tuple[float, ...], ...]

    source: ClassVar[str] = Fisher.source
    listed: ClassVar[bool] = False

    def features(self, X: Matrix) -> Block:
        """Return φ (m, c + 2cd): the score of each sample in Fisher's metric."""
        X, (weights, means, variances) = as_dense(X), self._mixture
        if isinstance(X, Balls):
            weights, means, variances = map(Balls, self._mixture)
        deviations = (X[:, None, :] - means) / np.sqrt(variances)
        logs = np.log(weights) - 0.5 * (deviations**2 + np.log(variances)).sum(axis=2)
        odds = np.exp(logs - np.maximum.reduce(logs, axis=1, keepdims=True))
        responsibilities = odds / odds.sum(axis=1, keepdims=True)
        mean_scores = responsibilities[:, :, None] * deviations / np.sqrt(weights)[:, None]
        variance_scores = (
            responsibilities[:, :, None] * (deviations**2 - 1) / np.sqrt(2 * weights)[:, None]
        )
        parts = [(responsibilities - weights) / np.sqrt(weights), mean_scores, variance_scores]
        return np.hstack([part.reshape(X.shape[0], -1) for part in parts])

    @cached_property
    def _mixture(self) -> tuple[Vector, Block, Block]:
        return np.array(self.weights), np.array(self.means), np.array(self.variances)

    def check(self, X: Matrix) -> None:
        """Raise ValueError unless the samples have the mixture's number of features."""
        if X.shape[1] != len(self.means[0]):
            raise ValueError(f"X: has {X.shape[1]} features, but the mixture {len(self.means[0])}")


def _rounded(values: Any) -> Any:
    """Return an array rounded to six significant digits, as tuples.

    Any mixture gives a kernel; rounding makes it independent of the machine and the number of threads
    that fitted it.
    """
    if np.ndim(values) > 1:
        return tuple(_rounded(row) for row in values)
    return tuple(float(f"{value:.6g}") for value in values)
