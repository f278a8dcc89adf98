"""The proximal point method, each of whose problems is solved by semismooth Newton steps.

    min F(z) = ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

The next centre minimises F(z) + ½λ(z − c)ᵀD(z − c) over the same set, c being the last (Rockafellar
1976), D the diagonal of K. The dual of that has no constraints: with scores f = Ku and a multiplier b,

    φ(u, b) = ½uᵀKu + λΣDᵢᵢHᵢ(tᵢ) + b·delta,     t = c − D⁻¹(f + q + b)/λ,
    Hᵢ' = pᵢ = soft(tᵢ, tubeᵢ/(λDᵢᵢ)), clipped to the box,

is convex and differentiable, ∇φ = (K(u − p), delta − Σp), and where it is 0, u = p is the minimum.
∇φ is semismooth. With F the variables whose pᵢ follows tᵢ, and all others A at a bound or 0, Newton's
step ends at u_A = p_A and

    [K_FF + λD_FF  1] [du_F]   [λD(p − u)_F − K_FA du_A]
    [1ᵀ            0] [db  ] = [delta − Σu − Σdu_A      ]

(the primal-dual active set method: Hintermüller, Ito & Kunisch 2002; within the proximal point method,
for support vector machines: Niu et al. 2019). As φ is convex, a search along each step makes it fall
until it is minimal: no sequence of active sets repeats. λ falls while centres are found in few steps.
"""

from typing import Any

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.projection import project
from dualgap.solvers.numerics.projected_cg import conjugate_gradients, on_plane
from dualgap.solvers.semismooth_newton.storage import LargeEntries
from dualgap.solvers.smo.conditions import violation_of
from dualgap.solvers.smo.duplicates import Merged

_ACCURACY = 0.03  # of a system: more would be lost when the active set changes
_PRODUCTS = 40  # with K for a system
_STEPS = 30  # to a centre
_NEAR = 0.1  # ‖u − p‖ relative to ‖p − c‖ at which p is the next centre
# steps to a centre, up to which λ is a tenth for the next, and from which it is twice
_FEW, _MANY = 3, 6
_FIRST, _LEAST = 1e-2, 1e-6  # λ: below it rounding is what moves
_HALVINGS = 50  # of the interval in which φ is least


class Method:
    """Where the method stands.

    Attributes
    ----------
    z, f : the centre, which is feasible, and its scores Kz (n,). b : the multiplier of the equality.
    terms : with the costs of what the variables are relative to. weight : λ. steps : so far.
    """

    def __init__(self, merged: Merged, K: LargeEntries) -> None:
        self.merged, v = merged, merged.variables
        self.equality = v.terms.groups[0] >= 0
        self.z, self.steps = v.start.copy(), 0
        self.total = float(self.z.sum())
        self.D = np.maximum(K.diagonal, _LEAST * float(K.diagonal.max()) or 1.0)
        self.weight = _FIRST
        self.take(K)

    def take(self, K: LargeEntries) -> None:
        """Go on with other values of K."""
        self.K, self.f = K, K.product(self.z)
        self.shift = K.product(self.merged.centre)
        terms = self.merged.variables.terms
        self.terms = terms._replace(q=terms.q + self.shift)
        self._order()

    @property
    def scores(self) -> Vector:
        """The scores of the form's samples."""
        return self.merged.scores(self.f + self.shift)

    @property
    def error(self) -> float:
        """How far a score may be off."""
        return self.K.error(np.abs(self.z) + np.abs(self.merged.centre))

    def _order(self) -> None:
        (self.b,), self.violation = violation_of(self.f, self.z, self.terms, int(self.equality))

    def advance(self, most: int) -> None:
        """Find the next centre, in at most so many steps."""
        u, f, b, first = self.z, self.f, self.b, self.steps
        p, follows = self._proximal(f, b)
        while self.steps < first + min(most, _STEPS):
            if self.equality and not follows.any():
                b = self._balance(f)
                p, follows = self._proximal(f, b)
            du, Kdu, db = self._newton(u, p, follows)
            share = self._share(u, f, b, du, Kdu, db)
            u, f, b = u + share * du, f + share * Kdu, b + share * db
            self.steps += 1
            p, follows = self._proximal(f, b)
            off = np.linalg.norm(u - p) + self.equality * abs(float(p.sum()) - self.total)
            if off <= _NEAR * np.linalg.norm(p - self.z):
                break
        z = self._feasible(p, follows)
        self.f = f + self.K.product(z - u)
        self.z, taken = z, self.steps - first
        factor = 0.1 if taken <= _FEW else 1.0 if taken < _MANY else 2.0
        self.weight = max(factor * self.weight, _LEAST)
        self._order()

    def _proximal(self, f: Vector, b: float) -> tuple[Vector, Any]:
        """Return p, and which of its entries follow t."""
        q, tube, lo, hi, _ = self.terms
        weights = self.weight * self.D
        t = self.z - (f + q + b) / weights
        width = tube / weights
        soft = t - np.clip(t, -width, width)
        p = np.clip(soft, lo, hi)
        return p, (p == soft) & ((width == 0) | (soft != 0))

    def _balance(self, f: Vector) -> float:
        """Return the b for which Σp = delta: Σp falls with b, from Σhi to Σlo."""
        q, tube, lo, hi, _ = self.terms
        weights = self.weight * self.D
        low = float((weights * (self.z - hi) - f - q - tube).min())
        high = float((weights * (self.z - lo) - f - q + tube).max())
        for _ in range(_HALVINGS):
            b = 0.5 * (low + high)
            low, high = (b, high) if self._proximal(f, b)[0].sum() > self.total else (low, b)
        return 0.5 * (low + high)

    def _feasible(self, p: Vector, follows: Any) -> Vector:
        """Return the nearest point that meets the equality: by those that follow, if they can."""
        if not self.equality:
            return p
        lo, hi = np.where(follows, self.terms.lo, p), np.where(follows, self.terms.hi, p)
        if not lo.sum() <= self.total <= hi.sum():
            lo, hi = self.terms.lo, self.terms.hi
        return project(p, lo, hi, np.ones(p.size), np.array([self.total]))

    def _newton(self, u: Vector, p: Vector, follows: Any) -> tuple[Vector, Vector, float]:
        """Return du, K du and db."""
        K, weights = self.K, self.weight * self.D
        if not follows.any():
            du = p - u
            return du, K.product(du), 0.0
        du = np.where(follows, 0.0, p - u)
        Kdu = K.product(du) if du.any() else np.zeros(u.size)
        inverse = K.inverse(follows, weights)
        if self.equality:  # along the direction that costs least
            across = inverse(np.ones(u.size))
            shift = (self.total - float(u.sum() + du.sum())) / across.sum() * across
            du, Kdu = du + shift, Kdu + K.product(shift)
        residual = np.where(follows, Kdu + weights * (du - (p - u)), 0.0)
        onto, _ = on_plane(inverse, self.terms.groups)

        def product(v: Vector) -> Vector:
            return np.where(follows, K.product(v) + weights * v, 0.0)

        d = conjugate_gradients(product, onto, np.zeros(u.size), residual, _PRODUCTS, _ACCURACY)
        du, Kdu = du + d, Kdu + K.product(d)
        left = (Kdu + weights * (du - (p - u)))[follows]
        return du, Kdu, -float(left.mean()) if self.equality else 0.0

    def _share(self, u: Vector, f: Vector, b: float, du: Vector, Kdu: Vector, db: float) -> float:
        """Return the share of a step at which φ is least: its slope there is 0."""

        def slope(share: float) -> float:
            p = self._proximal(f + share * Kdu, b + share * db)[0]
            off = u + share * du - p
            return float(Kdu @ off) + db * (self.total - float(p.sum()))

        low, high = 0.0, 1.0
        if slope(high) <= 0:
            return high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
            if high - low <= 0.02 * high:
                break
        return high
