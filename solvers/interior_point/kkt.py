"""Newton systems of a box dual and of a primal with slacks, reduced to their small dense core.

CVXOPT scales each inequality of Gx + s = h by dᵢ = √(sᵢ/zᵢ) and asks for the solution of

    P x + Aᵀ y + Gᵀ z = bx        with the last row  z = ω∘(G x − bz),  ω = 1/d²,  put into the first:
    A x               = by
    G x − d²∘z        = bz        H x + Aᵀ y = bx + Gᵀ(ω∘bz),  H = P + Gᵀ diag(ω) G.

With t = H⁻¹(bx + Gᵀ(ω∘bz)) the few equalities are a border: (A H⁻¹ Aᵀ) y = A t − by, x = t − H⁻¹Aᵀ y.
What is left is to solve with H, which has the structure of the problem (see `dual` and `primal`).
Vandenberghe 2010, "The CVXOPT linear and quadratic cone program solvers", sections 4 (elimination) and
10 (problem structure).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy

from problems.dataset import Indices, Matrix, Vector
from problems.kernels import Block

Solve = Callable[[Vector], Vector]

_DENSE = 0.1  # share of nonzeros above which XᵀΘX is faster as a dense product ...
_DENSE_BYTES = 2**29  # ... of a matrix that takes at most this much memory


class System(Protocol):
    """P and G as operators, and how to solve with H = P + Gᵀ diag(ω) G."""

    def product(self, x: Vector) -> Vector:
        """Return P x."""
        ...

    def rows(self, x: Vector) -> Vector:
        """Return G x."""
        ...

    def columns(self, z: Vector) -> Vector:
        """Return Gᵀ z."""
        ...

    def factor(self, omega: Vector) -> Solve:
        """Return r ↦ H⁻¹ r; ArithmeticError where H is not positive definite in floating point."""
        ...


@dataclass(frozen=True, eq=False)
class Bounds:
    """The finite bounds as rows of G: −xᵢ ≤ −lbᵢ, then xᵢ ≤ ubᵢ; lb and ub have shape (n,)."""

    lb: Vector
    ub: Vector

    @cached_property
    def lower(self) -> Indices:
        """Variables with a finite lower bound."""
        return np.flatnonzero(np.isfinite(self.lb))

    @cached_property
    def upper(self) -> Indices:
        """Variables with a finite upper bound."""
        return np.flatnonzero(np.isfinite(self.ub))

    @property
    def sides(self) -> Vector:
        """The right-hand sides, shape (lower + upper,)."""
        return np.concatenate([-self.lb[self.lower], self.ub[self.upper]])

    @property
    def everywhere(self) -> bool:
        """Whether every variable has a bound."""
        return bool((np.isfinite(self.lb) | np.isfinite(self.ub)).all())

    def rows(self, x: Vector) -> Vector:
        """Return −x at the lower and x at the upper bounds."""
        return np.concatenate([-x[self.lower], x[self.upper]])

    def columns(self, z: Vector) -> Vector:
        """Return the transposed product, shape (n,)."""
        return self._scatter(z, -1.0)

    def diagonal(self, omega: Vector) -> Vector:
        """Return the diagonal of Gᵀ diag(ω) G, shape (n,)."""
        return self._scatter(omega, 1.0)

    def _scatter(self, values: Vector, sign_of_lower: float) -> Vector:
        result = np.zeros(self.lb.size)
        result[self.lower] = sign_of_lower * values[: self.lower.size]
        result[self.upper] += values[self.lower.size :]
        return result


def kkt_solver(system: System, A: Block) -> Callable[[Any], Any]:
    """Return what `coneqp` takes as `kktsolver`: scaling W ↦ a solver that works in place.

    Parameters
    ----------
    system : the operators and the solver of H.
    A : (p, n), the few equalities.
    """

    def factor(W: Any) -> Any:
        di = view(W["di"])
        solve = system.factor(di * di)
        border = np.array([solve(row) for row in A]).reshape(A.shape)
        schur = A @ border.T

        def solve_in_place(x: Any, y: Any, z: Any) -> None:
            bx, by, bz = view(x), view(y), view(z)
            t = solve(bx + system.columns(di * (di * bz)))
            if by.size:
                by[:] = np.linalg.solve(schur, A @ t - by)
                t -= by @ border
            bx[:] = t
            bz[:] = di * (system.rows(t) - bz)  # CVXOPT wants W z, so one factor of d less

        return solve_in_place

    return factor


def operators(system: System) -> tuple[Any, Any]:
    """Return P and G as the functions v ← α·M u + β·v that `coneqp` takes for matrices."""

    def accumulate(product: Vector, v: Any, alpha: float, beta: float) -> None:
        out = view(v)
        out[:] = alpha * product + beta * out if beta else alpha * product

    def P(u: Any, v: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        accumulate(system.product(view(u)), v, alpha, beta)

    def G(u: Any, v: Any, trans: str = "N", alpha: float = 1.0, beta: float = 0.0) -> None:
        multiply = system.rows if trans == "N" else system.columns
        accumulate(multiply(view(u)), v, alpha, beta)

    return P, G


def view(column: Any) -> Vector:
    """Return a CVXOPT column as a vector on the same memory."""
    return np.asarray(column).reshape(-1)


def cholesky(H: Block) -> Solve:
    """Factor H (n, n) in its own memory (stored by columns); ArithmeticError if it breaks down."""
    from scipy.linalg import lapack  # noqa: PLC0415 - slow to import

    factor, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise ArithmeticError("the Newton matrix has no Cholesky factor")

    def solve(r: Vector) -> Vector:
        return lapack.dpotrs(factor, r, lower=1)[0]

    return solve


def compact(X: Matrix) -> Matrix:
    """Return X dense where a dense product takes less time than a sparse one."""
    if isinstance(X, np.ndarray):
        return X
    entries = X.shape[0] * X.shape[1]
    dense = X.nnz > _DENSE * entries and 8 * entries <= _DENSE_BYTES
    return X.toarray() if dense else scipy.sparse.csr_array(X)


def weighted_gram(X: Matrix, theta: Vector) -> Block:
    """Return Xᵀ diag(θ) X for θ ≥ 0, shape (d, d)."""
    if isinstance(X, np.ndarray):
        scaled = np.sqrt(theta)[:, None] * X
        return scaled.T @ scaled
    return (X.T @ scipy.sparse.csr_array(scipy.sparse.diags_array(theta) @ X)).toarray()
