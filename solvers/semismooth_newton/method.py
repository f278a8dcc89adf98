"""The proximal point method, whose subproblems are solved by semismooth Newton steps.

    min F(z) = ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = total (or none), lo ≤ z ≤ hi

The next centre minimises F(z) + ½λ(z − c)ᵀD(z − c) over the same set, with c the last one (Rockafellar
1976) and D the diagonal of K. Its dual has no constraints: with scores f = Ku and a multiplier b,

    φ(u, b) = ½uᵀKu + λΣDᵢᵢHᵢ(tᵢ) + b·total,     t = c − D⁻¹(f + q + b)/λ,
    Hᵢ' = pᵢ = soft(tᵢ, epsᵢ/(λDᵢᵢ)), clipped to the box,

is convex and differentiable, ∇φ = (K(u − p), total − Σp), and if it is 0, u = p is the minimum. ∇φ is
semismooth. With F the variables whose pᵢ varies with tᵢ, and A the others, at a bound or 0, Newton's
step ends at u_A = p_A and

    [K_FF + λD_FF  1] [du_F]   [λD(p − u)_F − K_FA du_A]
    [1ᵀ            0] [db  ] = [total − Σu − Σdu_A      ]

(the primal-dual active set method: Hintermüller, Ito & Kunisch 2002; within the proximal point method,
for support vector machines: Niu et al. 2019). As φ is convex, a line search along each step decreases it
down to its minimum: no sequence of active sets repeats. λ decreases while centres take few steps.
"""

from typing import Any

import numpy as np

from dualgap.problems.box import project
from dualgap.problems.dataset import Vector
from dualgap.solvers.numerics.projected_cg import conjugate_gradients, on_plane
from dualgap.solvers.semismooth_newton.storage import LargeEntries
from dualgap.solvers.smo.conditions import slopes
from dualgap.solvers.smo.variables import JoinedForm


class Method:
    """The state of the method.

    Attributes
    ----------
    z, f : the centre, which is feasible, and its scores Kz (n,). b : the multiplier of the equality.
    terms : the terms, with the costs of the variables' centres added. weight : λ. steps : their number.
    """

    def __init__(self, problem: JoinedForm, K: LargeEntries) -> None:
        self.problem, self.equality = problem, bool(problem.form.sums.size)
        self.z, self.steps = problem.form.first_point(), 0
        self.total = float(self.z.sum())
        # smaller entries, and a smaller λ, would be lost to rounding
        self.D = np.maximum(K.diagonal, 1e-6 * float(K.diagonal.max()) or 1.0)
        self.weight = 1e-2
        self.take(K)

    def take(self, K: LargeEntries) -> None:
        """Continue with other values of K."""
        self.K, self.f = K, K.product(self.z)
        self.shift = K.product(self.problem.centre)
        terms = self.problem.form.terms
        self.terms = terms._replace(q=terms.q + self.shift)
        self._order()

    @property
    def scores(self) -> Vector:
        """The scores of the original variables."""
        return self.problem.original_scores(self.f + self.shift)

    @property
    def error(self) -> float:
        """Bound on the error of a score."""
        return self.K.error(np.abs(self.z) + np.abs(self.problem.centre))

    def _order(self) -> None:
        _, _, (self.b,), self.violation = slopes(self.f, self.z, self.terms, int(self.equality))

    def advance(self, max_steps: int) -> None:
        """Find the next centre, in at most `max_steps` steps."""
        u, f, b, first = self.z, self.f, self.b, self.steps
        p, follows = self._proximal(f, b)
        while self.steps < first + min(max_steps, 30):
            if self.equality and not follows.any():
                b = self._balance(f)
                p, follows = self._proximal(f, b)
            du, Kdu, db = self._newton(u, p, follows)
            length = self._step_length(u, f, b, du, Kdu, db)
            u, f, b = u + length * du, f + length * Kdu, b + length * db
            self.steps += 1
            p, follows = self._proximal(f, b)
            distance = np.linalg.norm(u - p) + self.equality * abs(float(p.sum()) - self.total)
            if distance <= 0.1 * np.linalg.norm(p - self.z):
                break
        z = self._feasible(p, follows)
        self.f = f + self.K.product(z - u)
        self.z, new_steps = z, self.steps - first
        factor = 0.1 if new_steps <= 3 else 2.0 if new_steps >= 6 else 1.0
        self.weight = max(factor * self.weight, 1e-6)
        self._order()

    def _proximal(self, f: Vector, b: float) -> tuple[Vector, Any]:
        """Return p, and a mask of the entries that vary with t."""
        q, eps, lo, hi, _ = self.terms
        weights = self.weight * self.D
        t = self.z - (f + q + b) / weights
        width = eps / weights
        soft = t - np.clip(t, -width, width)
        p = np.clip(soft, lo, hi)
        return p, (p == soft) & ((width == 0) | (soft != 0))

    def _balance(self, f: Vector) -> float:
        """Return the b with Σp = total; Σp decreases with b from Σhi to Σlo."""
        q, eps, lo, hi, _ = self.terms
        weights = self.weight * self.D
        low = float((weights * (self.z - hi) - f - q - eps).min())
        high = float((weights * (self.z - lo) - f - q + eps).max())
        for _ in range(50):  # float64 resolves no more halvings
            b = 0.5 * (low + high)
            low, high = (b, high) if self._proximal(f, b)[0].sum() > self.total else (low, b)
        return 0.5 * (low + high)

    def _feasible(self, p: Vector, follows: Any) -> Vector:
        """Return the projection of p onto the equality; by entries that vary with t if possible."""
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
        if self.equality:  # along the cheapest direction
            across = inverse(np.ones(u.size))
            shift = (self.total - float(u.sum() + du.sum())) / across.sum() * across
            du, Kdu = du + shift, Kdu + K.product(shift)
        residual = np.where(follows, Kdu + weights * (du - (p - u)), 0.0)
        onto, _ = on_plane(inverse, self.terms.groups)

        def product(v: Vector) -> Vector:
            return np.where(follows, K.product(v) + weights * v, 0.0)

        # at most 40 products; more accuracy is lost when the active set changes
        d = conjugate_gradients(product, onto, np.zeros(u.size), residual, 40, 0.03)
        du, Kdu = du + d, Kdu + K.product(d)
        remainder = (Kdu + weights * (du - (p - u)))[follows]
        return du, Kdu, -float(remainder.mean()) if self.equality else 0.0

    def _step_length(
        self, u: Vector, f: Vector, b: float, du: Vector, Kdu: Vector, db: float
    ) -> float:
        """Return the fraction of a step that minimises φ, where its slope is 0."""

        def slope(length: float) -> float:
            p = self._proximal(f + length * Kdu, b + length * db)[0]
            difference = u + length * du - p
            return float(Kdu @ difference) + db * (self.total - float(p.sum()))

        low, high = 0.0, 1.0
        if slope(high) <= 0:
            return high
        for _ in range(50):  # as above
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
            if high - low <= 0.02 * high:
                break
        return high
