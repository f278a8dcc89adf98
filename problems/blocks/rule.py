"""Dual variables of samples in blocks, from the few numbers that a solver leaves.

No process holds one number a sample: βᵢ follows from its sample and from what the solver sent with its
last round, so that a certificate makes those of one block after another. For a loss with pieces
(hinge, tube), whose variables are 0 ≤ x ≤ C with the residuals u at the weights w,
    x = clip(C·[u < 0] − γ·C/(2|u|)·Δu, 0, C),   Δu of the weights' change,   but given for some rows;
for a smooth loss β = −C·ℓ'(y, f). In the end β₊ and β₋, what is above and below 0, are multiplied by one
factor each, by which sums are balanced and the best multiple is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from problems.blocks.base import Block
from problems.dataset import Indices, Vector

_LEAST = 1e-9  # of |u| in a denominator


@dataclass(frozen=True, eq=False)
class DualRule:
    """The numbers that β follows from.

    Attributes
    ----------
    w, change : (d + 1,) weights and intercept, and their change.
    gamma : share of the change that x follows.
    n : number of all samples.
    rows, x : (m,) variables whose values are given: sorted; of piece p of sample i the
        number is p·n + i.
    scales : the factors of β₊ and β₋, at most 1.
    """

    w: Vector
    change: Vector
    gamma: float
    n: int
    rows: Indices
    x: Vector
    scales: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def at(cls, w: Vector, n: int) -> DualRule:
        """Return β = −C·ℓ' at weights and intercept `w` (d + 1,)."""
        return cls(w, 0.0 * w, 0.0, n, np.zeros(0, np.int64), np.zeros(0))

    def packed(self) -> Vector:
        """Return all numbers as a vector."""
        head = [*self.scales, self.gamma, float(self.n)]
        return np.concatenate([head, self.w, self.change, self.rows, self.x])

    @classmethod
    def unpacked(cls, numbers: Any, d: int) -> DualRule:
        """Return the rule for samples of `d` features; ValueError if the numbers are none."""
        v = np.asarray(numbers, np.float64).ravel()
        given, odd = divmod(v.size - 4 - 2 * (d + 1), 2)
        if given < 0 or odd or not np.isfinite(v).all() or not (v[:2] >= 0).all():
            raise ValueError(f"rule: {v.size} numbers are no dual variables of {d} features")
        w, change, rows, x = np.split(v[4:], np.cumsum([d + 1, d + 1, given]))
        scales = float(min(v[0], 1.0)), float(min(v[1], 1.0))
        own = cls(w, change, float(v[2]), int(v[3]), rows.astype(np.int64), x, scales)
        return own.sorted()  # as `beta` needs them, whoever packed them

    def sorted(self) -> DualRule:
        """Return it with its variables in the order of their numbers."""
        order = np.argsort(self.rows)
        return replace(self, rows=self.rows[order], x=self.x[order])

    def scaled(self, above: float, below: float) -> DualRule:
        """Return it with β₊ and β₋ multiplied by factors."""
        return replace(self, scales=(self.scales[0] * above, self.scales[1] * below))

    def beta(self, loss: Any, first: int, block: Block, C: Vector) -> Vector:
        """Return β (m,) of consecutive samples, of which the first has the number `first`."""
        f = scores(block.X, self.w)
        pieces = loss.dual_pieces(block.y)
        if pieces is None:
            beta = -C * loss.subgradient(block.y, f)
            return beta * np.where(beta > 0, *self.scales)
        df = scores(block.X, self.change) if self.gamma else 0.0 * f
        beta = np.zeros(f.size)
        for number, piece in enumerate(pieces):
            x = followed(piece.residual(f), piece.sign * df, C, self.gamma)
            begin = number * self.n + first
            here = slice(*np.searchsorted(self.rows, (begin, begin + f.size)))
            at = self.rows[here] - begin
            x[at] = np.clip(self.x[here], 0.0, C[at])
            beta += np.where(piece.sign > 0, *self.scales) * piece.sign * x
        return beta


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
