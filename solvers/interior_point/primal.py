"""The Newton matrix of a sparse QP whose slacks stand in one inequality each.

Split x into slacks ξ and the others u. A slack stands in one row of G, with the factor g, in no
equality and in no product of P, and no row has two. With β = its entry of P + the ω of its bounds,

    H = [ P_u + D_u + G_uᵀ Ω G_u    G_uᵀ diag(ω g) ]        for a row with a slack,
        [ diag(ω g) G_u             diag(β + ω g²) ]

and the second row put into the first leaves a dense matrix of the size of u alone, (d + 1, d + 1)
for a support vector machine:

    (P_u + D_u + G_uᵀ diag(θ) G_u) u = r_u − G_uᵀ (ω g r_ξ/(β + ω g²)),
    ξ = (r_ξ − ω g (G_u u))/(β + ω g²),    θ = ω β/(β + ω g²)    (θ = ω for a row without a slack).

θ is written as a quotient, for ω − ω²g²/(β + ωg²) loses every digit of it where the constraint is
active. Vandenberghe 2010, section 10; the elimination is that of Ferris & Munson 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from problems.dataset import Indices, Matrix, Vector
from problems.kernels import Block
from solvers.interior_point.kkt import Bounds, Solve, cholesky, compact, weighted_gram
from solvers.numerics.quadratic import ScaledQP

_MOST_LEFT = 3000  # variables besides the slacks up to which a dense factor is affordable


@dataclass(frozen=True, eq=False)
class PrimalSystem:
    """The operators of a QP with slacks.

    Attributes
    ----------
    P : the QP's matrix, (n, n).
    bounds : its bounds.
    kept, slack : indices of u and of ξ.
    row : the rows of G in which the slacks stand; g : their factors there.
    P_kept : P_u, dense. G_kept : G_u, (m, kept).
    """

    P: scipy.sparse.csr_array
    bounds: Bounds
    kept: Indices
    slack: Indices
    row: Indices
    g: Vector
    P_kept: Block
    G_kept: Matrix

    def product(self, x: Vector) -> Vector:
        """Return P x."""
        return self.P @ x

    def rows(self, x: Vector) -> Vector:
        """Return G x, then the bounds' rows."""
        left = self.G_kept @ x[self.kept]
        left[self.row] += self.g * x[self.slack]
        return np.concatenate([left, self.bounds.rows(x)])

    def columns(self, z: Vector) -> Vector:
        """Return Gᵀ z."""
        m = self.G_kept.shape[0]
        result = self.bounds.columns(z[m:])
        result[self.kept] += self.G_kept.T @ z[:m]
        result[self.slack] += self.g * z[self.row]
        return result

    def factor(self, omega: Vector) -> Solve:
        """Return r ↦ H⁻¹ r, the slacks eliminated."""
        m, kept, slack, row = self.G_kept.shape[0], self.kept, self.slack, self.row
        D = self.bounds.diagonal(omega[m:])
        beta = self.P.diagonal()[slack] + D[slack]
        coupling = omega[row] * self.g
        pivot = beta + coupling * self.g
        theta = omega[:m].copy()
        theta[row] *= beta / pivot
        core = self.P_kept + weighted_gram(self.G_kept, theta)
        core[np.diag_indices(kept.size)] += D[kept]
        solve_core = cholesky(core.T)

        def solve(r: Vector) -> Vector:
            x, moved = np.empty(r.size), np.zeros(m)
            moved[row] = coupling * r[slack] / pivot
            u = solve_core(r[kept] - self.G_kept.T @ moved)
            x[kept] = u
            x[slack] = (r[slack] - coupling * (self.G_kept @ u)[row]) / pivot
            return x

        return solve


def primal_system(qp: ScaledQP, bounds: Bounds) -> PrimalSystem | None:
    """Return the system of a sparse QP with inequalities; None if too much is left of it."""
    if not isinstance(qp.operator, scipy.sparse.csc_array) or qp.G is None:
        return None
    P, G = scipy.sparse.csr_array(qp.P), scipy.sparse.csc_array(qp.G)
    slack = _slacks(scipy.sparse.csc_array(qp.P), G, qp.A)
    kept = np.setdiff1d(np.arange(qp.q.size), slack)
    if kept.size > _MOST_LEFT:
        return None
    first = G.indptr[slack]
    return PrimalSystem(
        P, bounds, kept, slack, G.indices[first].astype(np.int64), G.data[first],
        P[kept][:, kept].toarray(), compact(scipy.sparse.csr_array(G[:, kept])),
    )  # fmt: skip


def _slacks(
    P: scipy.sparse.csc_array, G: scipy.sparse.csc_array, A: scipy.sparse.csc_array | None
) -> Indices:
    """Return the variables that stand in one inequality alone, at most one for each inequality."""
    off_diagonal = scipy.sparse.csc_array(P - scipy.sparse.diags_array(P.diagonal()))
    off_diagonal.eliminate_zeros()
    single = (np.diff(G.indptr) == 1) & (np.diff(off_diagonal.indptr) == 0)
    if A is not None:
        single &= np.diff(A.indptr) == 0
    candidates = np.flatnonzero(single)
    _, first = np.unique(G.indices[G.indptr[candidates]], return_index=True)
    return candidates[np.sort(first)]
