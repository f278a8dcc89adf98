"""The Newton matrix of a box dual: min ½xᵀPx + qᵀx over lb ≤ x ≤ ub, P = T K Tᵀ.

With bounds alone GᵀΩG is a diagonal D > 0. For classification T = diag(sign), so with v = Tᵀx

    (P + D) x = r   is   (K + diag(e)) v = Tᵀr,  e = D,  x = T v.

For regression every sample stands twice, T = [S; −S] and v = S(x₁ − x₂). From
K v + S D₁x₁ = S r₁ and −K v − S D₂x₂ = S r₂ follow, without a difference of large numbers,

    (K + diag(e)) v = S (D₂r₁ − D₁r₂)/(D₁ + D₂),    e = D₁D₂/(D₁ + D₂),
    x₁ = (r₁ + r₂ + D₂ S v)/(D₁ + D₂),    x₂ = (r₁ + r₂ − D₁ S v)/(D₁ + D₂),

so that the matrix has the size of the samples, not of the variables (`shifted` solves with it).
Vandenberghe 2010, section 4; for regression Smola & Schölkopf 2004, "A tutorial on support vector
regression", appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from problems.dataset import Vector
from problems.gram.gram import SignedGram
from solvers.interior_point.kkt import Bounds, Solve
from solvers.interior_point.shifted import DenseGram, LinearGram, shifted_gram
from solvers.numerics.quadratic import ScaledQP


@dataclass(frozen=True, eq=False)
class DualSystem:
    """The operators of a box dual.

    Shapes: `sign` (n,); x and the bounds have n entries, or 2n where every sample stands `twice`.
    """

    kernel: LinearGram | DenseGram
    sign: Vector
    twice: bool
    bounds: Bounds

    def product(self, x: Vector) -> Vector:
        """Return T K Tᵀx."""
        n = self.sign.size
        v = self.sign * (x[:n] - x[n:] if self.twice else x)
        u = self.sign * self.kernel.product(v)
        return np.concatenate([u, -u]) if self.twice else u

    def rows(self, x: Vector) -> Vector:
        """Return G x, the bounds' rows."""
        return self.bounds.rows(x)

    def columns(self, z: Vector) -> Vector:
        """Return Gᵀ z."""
        return self.bounds.columns(z)

    def factor(self, omega: Vector) -> Solve:
        """Return r ↦ (P + D)⁻¹ r."""
        D, S = self.bounds.diagonal(omega), self.sign
        if not self.twice:
            solve_once = self.kernel.factor(D)
            return lambda r: S * solve_once(S * r)
        D1, D2 = D[: S.size], D[S.size :]
        share1, share2 = D1 / (D1 + D2), D2 / (D1 + D2)
        solve = self.kernel.factor(D1 * share2)

        def solve_twice(r: Vector) -> Vector:
            r1, r2 = r[: S.size], r[S.size :]
            v = S * solve(S * (share2 * r1 - share1 * r2))
            mean = (r1 + r2) / (D1 + D2)
            return np.concatenate([mean + share2 * v, mean - share1 * v])

        return solve_twice


def dual_system(qp: ScaledQP, bounds: Bounds) -> DualSystem | None:
    """Return the system of a QP over a Gram matrix; None if it is not a box dual of that kind."""
    P = qp.operator
    if not isinstance(P, SignedGram) or qp.G is not None or not bounds.everywhere:
        return None
    n = P.gram.n
    once = np.arange(n)
    twice = P.index.size == 2 * n
    expected = np.tile(once, 2) if twice else once
    opposite = not twice or np.array_equal(P.sign[:n], -P.sign[n:])
    if not np.array_equal(P.index, expected) or not opposite or (np.abs(P.sign) != 1).any():
        return None
    return DualSystem(shifted_gram(P.gram, qp.of_P), P.sign[:n], twice, bounds)
