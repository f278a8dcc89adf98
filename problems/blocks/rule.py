"""Dual variables of samples in blocks, from the few numbers that a solver leaves.

No process holds one number a sample: βᵢ follows from its sample and from what the solver sent with its
last round, so that a certificate makes those of one block after another. For a loss with pieces
(hinge, tube), whose variables are 0 ≤ x ≤ C with the residuals u at the weights w,
    x = clip(C·[u < 0] − γ·C/(2|u|)·Δu, 0, C),   Δu of the weights' change,
but for some rows near u = 0 the share x/C is given, by a key that equal samples of a block have in
common: where few rows are distinct, any choice among equal ones would leave the others with a wrong x.
For a smooth loss β = −C·ℓ'(y, f). In the end β₊ and β₋, what is above and below 0, are multiplied by one
factor each, by which sums are balanced and the best multiple is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from dualgap.problems.blocks.base import Block
from dualgap.problems.dataset import Indices, Vector

_LEAST = 1e-9  # of |u| in a denominator


@dataclass(frozen=True, eq=False)
class DualRule:
    """The numbers that β follows from.

    Attributes
    ----------
    w, change : (d + 1,) weights and intercept, and their change.
    gamma : share of the change that x follows.
    reach : the largest |u| of a variable whose share is given.
    keys, shares : (m,) sorted keys of the variables whose share x/C is given, see `variable_keys`.
    scales : the factors of β₊ and β₋, at most 1.
    """

    w: Vector
    change: Vector
    gamma: float
    reach: float
    keys: Vector
    shares: Vector
    scales: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def at(cls, w: Vector) -> DualRule:
        """Return β = −C·ℓ' at weights and intercept `w` (d + 1,)."""
        return cls(w, 0.0 * w, 0.0, 0.0, np.zeros(0), np.zeros(0))

    def packed(self) -> Vector:
        """Return all numbers as a vector."""
        head = [*self.scales, self.gamma, self.reach]
        return np.concatenate([head, self.w, self.change, self.keys, self.shares])

    @classmethod
    def unpacked(cls, numbers: Any, d: int) -> DualRule:
        """Return the rule for samples of `d` features; ValueError if the numbers are none."""
        v = np.asarray(numbers, np.float64).ravel()
        given, odd = divmod(v.size - 4 - 2 * (d + 1), 2)
        if given < 0 or odd or not np.isfinite(v).all() or not (v[:2] >= 0).all():
            raise ValueError(f"rule: {v.size} numbers are no dual variables of {d} features")
        w, change, keys, shares = np.split(v[4:], np.cumsum([d + 1, d + 1, given]))
        scales = float(min(v[0], 1.0)), float(min(v[1], 1.0))
        own = cls(w, change, float(v[2]), float(v[3]), keys, shares, scales)
        return own.sorted()  # as `beta` needs them, whoever packed them

    def sorted(self) -> DualRule:
        """Return it with its variables in the order of their keys."""
        order = np.argsort(self.keys)
        return replace(self, keys=self.keys[order], shares=self.shares[order])

    def scaled(self, above: float, below: float) -> DualRule:
        """Return it with β₊ and β₋ multiplied by factors."""
        return replace(self, scales=(self.scales[0] * above, self.scales[1] * below))

    def beta(self, loss: Any, k: int, block: Block, C: Vector) -> Vector:
        """Return β (m,) of samples of block `k`."""
        f = scores(block.X, self.w)
        pieces = loss.dual_pieces(block.y)
        if pieces is None:
            beta = -C * loss.subgradient(block.y, f)
            return beta * np.where(beta > 0, *self.scales)
        df = scores(block.X, self.change) if self.gamma else 0.0 * f
        beta = np.zeros(f.size)
        for number, piece in enumerate(pieces):
            u = piece.residual(f)
            x = followed(u, piece.sign * df, C, self.gamma)
            rows, at = self.given(u, number, k, block)
            x[rows] = np.clip(self.shares[at], 0.0, 1.0) * C[rows]
            beta += np.where(piece.sign > 0, *self.scales) * piece.sign * x
        return beta

    def given(self, u: Vector, piece: int, k: int, block: Block) -> tuple[Indices, Indices]:
        """Return which samples of block `k`, of residuals `u`, have a given share, and its index."""
        near = np.flatnonzero(np.abs(u) <= self.reach) if self.keys.size else np.zeros(0, np.intp)
        keys = variable_keys(block, near, piece, k)
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, self.keys.size - 1))
        known = self.keys[at] == keys
        return near[known], at[known]


def variable_keys(block: Block, rows: Indices, piece: int, k: int) -> Vector:
    """Return whole numbers below 2^53, as floats, that equal samples of block `k` have in common.

    They are hashes of the entries, so that other samples share one by chance alone: of 1e9 samples and
    20,000 given ones in 0.2 % of all cases, where a bound becomes a little worse and stays one.
    """
    if not rows.size:
        return np.zeros(0)
    from pandas.util import hash_array  # noqa: PLC0415 - slow to import

    X: Any = block.X[rows]
    columns = np.arange(X.shape[1], dtype=np.uint64)
    factors = hash_array(columns) | np.uint64(1)
    if scipy.sparse.issparse(X):
        entries = hash_array(X.data + 0.0) * factors[X.indices]  # −0 is 0
        sums = np.append(np.uint64(0), np.cumsum(entries, dtype=np.uint64))
        total = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    else:
        total = (hash_array((X + 0.0).ravel()).reshape(X.shape) * factors).sum(axis=1)
    kind = hash_array(np.array([2 * k + piece], np.uint64))
    whole = hash_array(total + hash_array(block.y[rows] + 0.0)) + kind
    return (whole >> np.uint64(11)).astype(np.float64)


def scores(X: Any, w: Vector) -> Vector:
    """Return Xw + b for weights and intercept `w` (d + 1,) or several of them (d + 1, k)."""
    return X @ w[:-1] + w[-1]


def followed(u: Vector, du: Vector, C: Vector, gamma: float) -> Vector:
    """Return the dual variables of residuals u that change by du."""
    x = np.where(u < 0, C, 0.0)
    if gamma:
        x -= gamma * curvature(u, C) * du
    return np.clip(x, 0.0, C)


def curvature(u: Vector, C: Vector) -> Vector:
    """Return C/(2|u|), of the quadratic majoriser of C·max(0, −u) (Groenen et al. 2008)."""
    return C / (2.0 * np.maximum(np.abs(u), _LEAST))
