"""Solve (K + diag(e)) v = r for a Gram matrix K and e > 0, the core of a dual's Newton system.

Dense K. A Cholesky factor in single precision preconditions conjugate gradients in double precision
(Hestenes & Stiefel 1952; Higham 2002, section 12): it takes half the time of one in double precision,
and two or three steps suffice. Late iterations with a singular K may need a factor in double precision,
which is then used to the end.

Linear kernel, K = X Xᵀ with X (n, d), through w = Xᵀv. Eliminating all of v = (r − X w)/e (Sherman,
Morrison & Woodbury) loses accuracy for free variables, where e is tiny and r − X w cancels. So the 2d
variables F of smallest e remain, and only the others, B, are eliminated:

    S w = X_Bᵀ(r_B/e_B) + X_Fᵀv_F,    S = I + X_Bᵀ diag(1/e_B) X_B,
    (diag(e_F) + X_F S⁻¹ X_Fᵀ) v_F = r_F − X_F S⁻¹ X_Bᵀ(r_B/e_B),

both sums of positive terms.

Fine & Scheinberg 2001, "Efficient SVM training using low-rank kernel representations".
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy
from scipy.linalg import blas, cho_factor, cho_solve, get_blas_funcs, get_lapack_funcs

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Block
from dualgap.solvers.numerics.projected_cg import Apply, conjugate_gradients

MAX_SHIFT = 1e30  # e relative to K, for a variable that must not move; float32 overflows at 3e38


def shifted_gram(gram: Gram) -> LowRank | Dense:
    """Return K in the representation that is faster to solve with."""
    d = gram.X.shape[1]
    # n·d² flops for XᵀX are fewer than n³/3 for a Cholesky factor
    if gram.is_linear and d <= 0.5 * gram.n and 8 * d**2 <= gram.memory:
        return LowRank(gram.samples)
    return Dense(gram.dense())


class LowRank:
    """K = X Xᵀ with X (n, d)."""

    def __init__(self, X: Matrix) -> None:
        self.X = X

    def product(self, v: Vector) -> Vector:
        """Return X Xᵀv."""
        return self.X @ (self.X.T @ v)

    def factor(self, e: Vector) -> Apply:
        """Return r ↦ (K + diag(e))⁻¹ r by factors of S (d, d) and of the matrix of F."""
        X, count = self.X, min(2 * self.X.shape[1], e.size)
        F = np.argpartition(e, count - 1)[:count]
        weight = 1 / e
        weight[F] = 0.0
        if isinstance(X, np.ndarray):
            X_F, rows = X[F], np.sqrt(weight)[:, None] * X
            S = rows.T @ rows
        else:
            X_F, S = X[F].toarray(), (X.T @ (scipy.sparse.diags_array(weight) @ X)).toarray()
        solve_S = inverse(S + np.eye(S.shape[0]))
        solve_F = inverse(np.diag(e[F]) + X_F @ solve_S(X_F.T))

        def solve(r: Vector) -> Vector:
            w = solve_S(X.T @ (weight * r))
            v_F = solve_F(r[F] - X_F @ w)
            v = weight * (r - X @ (w + solve_S(X_F.T @ v_F)))
            v[F] = v_F
            return v

        return solve


def inverse_in_place(M: Any) -> Apply:
    """Return v ↦ M⁻¹v by a Cholesky factor that overwrites M (k, k), in the precision of M.

    Only the lower triangle is read. Raises LinAlgError if rounding makes M indefinite.
    """
    (potrf,) = get_lapack_funcs(("potrf",), (M,))
    (solve_triangular,) = get_blas_funcs(("trsv",), (M,))  # two calls take a third of potrs's time
    upper, failed = potrf(M.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Newton matrix has no Cholesky factor")

    def solve(v: Vector) -> Vector:
        size = float(np.abs(v).max()) or 1.0  # 1e-40 would be 0 in single precision
        t = solve_triangular(upper, (v / size).astype(M.dtype), lower=0, trans=1, overwrite_x=1)
        return size * solve_triangular(upper, t, lower=0, overwrite_x=1).astype(np.float64)

    return solve


def inverse(H: Block) -> Apply:
    """Return r ↦ H⁻¹ r by a Cholesky factor; raise LinAlgError if there is none."""
    return partial(cho_solve, cho_factor(H, check_finite=False), check_finite=False)


class Dense:
    """K (n, n) in memory; `precision` of the factor is single ("f") as long as that suffices."""

    def __init__(self, K: Block) -> None:
        self.K, self.largest = K, float(K.diagonal().max()) or 1.0
        self._use("f")

    def _use(self, precision: str) -> None:
        self.precision, self.scaled = precision, (self.K / self.largest).astype(precision)
        self.memory = np.empty_like(self.scaled)  # reused: touching it costs as much as a product

    def product(self, v: Vector) -> Vector:
        """Return K v."""
        return blas.dsymv(1.0, self.K.T, v)

    def factor(self, e: Vector) -> Apply:
        """Return r ↦ (K + diag(e))⁻¹ r; raise LinAlgError if there is no factor."""
        precondition, products = self._factor(e), list[int]()

        def product(v: Vector) -> Vector:
            products.append(v.size)
            return self.product(v) + e * v

        def solve(r: Vector) -> Vector:
            nonlocal precondition
            products.clear()
            max_products = 30  # more take longer than a factor in double precision
            # 1e-10 in the norm of the matrix: the next Newton step corrects the rest
            arguments = np.zeros(r.size), -r, max_products, 1e-10
            v = conjugate_gradients(product, precondition, *arguments)
            if len(products) == max_products and self.precision == "f":
                self._use("d")
                precondition = self._factor(e)
                v = conjugate_gradients(product, precondition, *arguments)
            return v

        return solve

    def _factor(self, e: Vector) -> Apply:
        """Return r ↦ L⁻ᵀL⁻¹r for the factor of K, with a ridge, plus diag(e)."""
        np.copyto(self.memory, self.scaled)
        ridge = 1e-6 if self.precision == "f" else 1e-11  # makes a singular K positive definite
        diagonal = self.scaled.diagonal() * (1 + ridge) + e / self.largest
        self.memory[np.diag_indices(e.size)] = np.minimum(diagonal, MAX_SHIFT)
        try:
            solve = inverse_in_place(self.memory)
        except np.linalg.LinAlgError:
            if self.precision == "d":
                raise
            self._use("d")
            return self._factor(e)
        return lambda r: solve(r) / self.largest
