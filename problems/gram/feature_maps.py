"""Finite feature maps Z with Z Zᵀ ≈ K, so that methods for linear kernels take others approximately.

Random Fourier features of the RBF kernel (Rahimi & Recht 2007; pairs of cosine and sine as in
Sutherland & Schneider 2015): exp(−gamma·‖x − z‖²) = E cos ωᵀ(x − z) with ω ~ N(0, 2·gamma·I), so
    z(x) = √(2/m)·[cos ω₁ᵀx, sin ω₁ᵀx, ..., cos ω_{m/2}ᵀx, sin ω_{m/2}ᵀx].
Nyström features of any kernel (Williams & Seeger 2001): with m landmarks L among the samples,
    Z = K[:, L] K[L, L]^{−½},   Z Zᵀ = K[:, L] K[L, L]⁺ K[L, :],   exact for the landmarks.
The entries' error falls like m^{−½} for the first, and like K's eigenvalues from the m-th on for the
second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from problems.dataset import Matrix
from problems.gram.gram import Gram
from problems.kernels import RBF, Block, inner_products

_PAIRS = 64  # times as many: pairs of samples on which the error is measured


class KernelError(NamedTuple):
    """|K − Z Zᵀ| over some pairs of samples."""

    largest: float
    mean: float
    pairs: int


def random_fourier_features(
    X: Matrix, kernel: RBF, components: int, rng: np.random.Generator
) -> Block:
    """Return random Fourier features (n, components) of the samples `X` (n, d).

    Raises
    ------
    ValueError
        If `components` is not an even number of 2 or more.
    """
    if components < 2 or components % 2:
        raise ValueError(
            f"components: must be even, half cosines and half sines, got {components!r}"
        )
    frequencies = np.sqrt(2 * kernel.gamma) * rng.standard_normal((components // 2, X.shape[1]))
    angles = inner_products(X, frequencies)
    return np.sqrt(2 / components) * np.hstack([np.cos(angles), np.sin(angles)])


def nystroem_features(gram: Gram, components: int, rng: np.random.Generator) -> Block:
    """Return Nyström features (n, r) from at most `components` random landmarks.

    r is the rank of K[L, L]: directions that may be 0 but for rounding are left out, and negative
    ones, which only an indefinite kernel has.
    """
    landmarks = np.sort(rng.permutation(gram.n)[:components])
    columns = gram.columns(landmarks)
    values, vectors = np.linalg.eigh(columns[landmarks])
    rounding = landmarks.size * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))
    kept = values > rounding
    if not kept.any():
        return np.zeros((gram.n, 1))
    return np.ascontiguousarray(columns @ (vectors[:, kept] / np.sqrt(values[kept])))


def kernel_error(gram: Gram, Z: Block, rng: np.random.Generator) -> KernelError:
    """Return how far Z Zᵀ is from K, on all pairs of two random choices of samples."""
    size = min(_PAIRS, gram.n)
    rows, cols = (rng.choice(gram.n, size, replace=False) for _ in range(2))
    error = np.abs(gram.block(rows, cols) - Z[rows] @ Z[cols].T)
    return KernelError(float(error.max()), float(error.mean()), error.size)
