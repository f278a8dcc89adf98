"""Solving (K + diag(e)) v = r, the core of a dual's Newton system: K a Gram matrix, e > 0.

Dense K. A Cholesky factor L in single precision preconditions conjugate gradients on the matrix in
double precision (Hestenes & Stiefel 1952; Higham 2002, section 12, on factors of low precision):
two or three steps at 1.7 ms each for n = 2000, and the factor takes 27 ms instead of 58. Late
iterations with a singular K can need the factor in double precision: it is taken from then on.

Linear kernel, K = X Xᵀ with X (n, d), through w = Xᵀv. Eliminating all of v = (r − X w)/e (Sherman,
Morrison & Woodbury) loses its digits for free variables, where e is tiny and r − X w cancels. So the
2d variables F of smallest e stay, and only the others, B, are eliminated:

    S w = X_Bᵀ(r_B/e_B) + X_Fᵀv_F,    S = I + X_Bᵀ diag(1/e_B) X_B,
    (diag(e_F) + X_F S⁻¹ X_Fᵀ) v_F = r_F − X_F S⁻¹ X_Bᵀ(r_B/e_B),

both sums of positive terms. At C = 1e6, n = 3000 it certifies 1e-9 where the elimination of all of v
ended at 2e-8 or gave up.

Fine & Scheinberg 2001, "Efficient SVM training using low-rank kernel representations".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from problems.dataset import Indices, Matrix, Vector
from problems.gram.gram import Gram
from problems.kernels import Block
from solvers.interior_point.kkt import Solve, cholesky, compact, weighted_gram

_LOW_RANK = 0.5  # of n: where n·d² flops for XᵀX stop being fewer than n³/3 for a Cholesky factor
_ACCURACY = 1e-10  # of a Newton step in the norm of its matrix; the next one corrects what is left
_MOST_STEPS = 30  # of conjugate gradients; more take longer than a factor in double precision
_RIDGE = 10.0  # roundings of a diagonal entry, added to it so that a singular K has a factor
_LARGEST = 1e30  # diagonal entry; single precision ends at 3e38


def shifted_gram(gram: Gram, scale: float) -> LinearGram | DenseGram:
    """Return scale·K in the representation that is faster to solve with."""
    d = gram.X.shape[1]
    if gram.is_linear and d <= _LOW_RANK * gram.n and 8 * d**2 <= gram.memory:
        return LinearGram(compact(gram.X), scale)
    return DenseGram(gram.dense(), scale)


@dataclass(frozen=True, eq=False)
class LinearGram:
    """scale·X Xᵀ with X (n, d), a matrix that is never formed; S then has I/scale in it."""

    X: Matrix
    scale: float

    def product(self, v: Vector) -> Vector:
        """Return scale·X Xᵀv."""
        return self.scale * (self.X @ (self.X.T @ v))

    def factor(self, e: Vector) -> Solve:
        """Return r ↦ (scale·K + diag(e))⁻¹ r; ArithmeticError where a factor breaks down.

        Factored are S (d, d) and the matrix M of the free variables, at most 2d of them.
        """
        free = self._free(e)
        X_free = self.X[free] if isinstance(self.X, np.ndarray) else self.X[free].toarray()
        weight = 1.0 / e
        weight[free] = 0.0
        S = weighted_gram(self.X, weight)
        S[np.diag_indices(S.shape[0])] += 1.0 / self.scale
        solve_S = cholesky(S.T)
        M = X_free @ solve_S(X_free.T)
        M[np.diag_indices(free.size)] += e[free]
        solve_M = cholesky(M.T)

        def solve(r: Vector) -> Vector:
            w = solve_S(self.X.T @ (weight * r))
            v_free = solve_M(r[free] - X_free @ w)
            w += solve_S(X_free.T @ v_free)
            v = weight * (r - self.X @ w)
            v[free] = v_free
            return v

        return solve

    def _free(self, e: Vector) -> Indices:
        """Return the variables with the smallest e, few enough for a dense matrix."""
        most = min(2 * self.X.shape[1], e.size)
        return np.argpartition(e, most - 1)[:most]


@dataclass(eq=False)
class DenseGram:
    """scale·K with K (n, n) in memory.

    `single` says whether single precision still does; the two matrices of each precision, scale·K and
    the one that is factored, are kept, for touching fresh memory takes as long as a product.
    """

    K: Block
    scale: float
    single: bool = True
    _kept: dict[str, tuple[Block, Block]] = field(default_factory=dict[str, Any], init=False)

    def product(self, v: Vector) -> Vector:
        """Return scale·K v."""
        from scipy.linalg import blas  # noqa: PLC0415 - slow to import

        return blas.dsymv(self.scale, self.K.T, v)

    def factor(self, e: Vector) -> Solve:
        """Factor scale·K + diag(e), in single precision while that does."""
        precondition = self._factor(e)

        def multiply(v: Vector) -> Vector:
            return self.product(v) + e * v

        def solve(r: Vector) -> Vector:
            nonlocal precondition
            x, converged = conjugate_gradients(multiply, precondition, r)
            if not converged and self.single:
                self.single = False
                precondition = self._factor(e)
                x, _ = conjugate_gradients(multiply, precondition, r)
            return x

        return solve

    def _factor(self, e: Vector) -> Solve:
        if self.single:
            try:
                return self._triangular(e, "f")
            except ArithmeticError:
                self.single = False
        return self._triangular(e, "d")

    def _triangular(self, e: Vector, precision: str) -> Solve:
        """Return r ↦ L⁻ᵀL⁻¹r for the factor in single ("f") or double ("d") precision."""
        from scipy.linalg import get_blas_funcs, get_lapack_funcs  # noqa: PLC0415 - slow to import

        if precision not in self._kept:
            scaled = (self.scale * self.K.T).astype(precision)
            self._kept[precision] = scaled, np.empty_like(scaled)
        scaled, H = self._kept[precision]
        np.copyto(H, scaled)
        diagonal = self.scale * self.K.diagonal() * (1 + _RIDGE * np.finfo(precision).eps) + e
        H[np.diag_indices(e.size)] = np.minimum(diagonal, _LARGEST)
        L, failed = get_lapack_funcs("potrf", (H,))(H, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise ArithmeticError("the Newton matrix has no Cholesky factor")
        half = get_blas_funcs("trsv", (H,))  # two of these take a third of potrs's time

        def solve(r: Vector) -> Vector:
            t = half(L, r.astype(precision), lower=1, overwrite_x=1)
            return half(L, t, lower=1, trans=1, overwrite_x=1).astype(np.float64)

        return solve


def conjugate_gradients(
    multiply: Callable[[Vector], Vector], precondition: Solve, b: Vector
) -> tuple[Vector, bool]:
    """Return x with multiply(x) = b, and whether it came down to the accuracy wanted."""
    size = float(np.abs(b).max()) or 1.0  # a right-hand side near 1e-40 is zero in single precision
    x, r = np.zeros(b.size), b / size
    z = precondition(r)
    p, error = z, float(r @ z)
    wanted = _ACCURACY**2 * error
    for _ in range(_MOST_STEPS):
        if error <= wanted:
            break
        q = multiply(p)
        step = error / float(p @ q)
        x += step * p
        r = r - step * q
        z = precondition(r)
        previous, error = error, float(r @ z)
        p = z + error / previous * p
    return size * x, error <= wanted
