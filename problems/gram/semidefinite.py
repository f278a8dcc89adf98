"""Is a Gram matrix positive semidefinite? As declared, or tested; and a proven bound of what it lacks.

For S = (K + Kᵀ)/2 and a triangular R found in floating point, S + cI = RᵀR + E gives
    λ_min(S) ≥ −c − ‖E‖_F,
whatever R is. E is evaluated in float64 with the error of its matrix product bounded beforehand:
|fl(RᵀR) − RᵀR| ≤ γ_n|R|ᵀ|R|, so its Frobenius norm is at most γ_n‖R‖_F², for products whose sums are
taken in any order (Higham 2002, section 3.5; the idea is Rump 2006, "Verification of positive
definiteness").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from problems.dataset import Vector
from problems.gram.gram import Gram
from problems.kernels import Block

_MOST_FACTORED = 5000  # rows up to which semidefiniteness is tested by a Cholesky factorisation
_EPS = float(np.finfo(float).eps)  # twice the unit roundoff: a spare factor of two throughout
_SMALLEST = float(np.finfo(float).smallest_subnormal)
_SPARE = 1.01  # more than what rounding takes from a Frobenius norm


def is_positive_semidefinite(gram: Gram) -> bool:
    """Whether K ⪰ 0 up to rounding: as the kernel declares, else as tested, which is not counted."""
    declared = gram.kernel.is_psd
    if declared is not None:
        return declared
    uncounted = Gram(gram.X, gram.kernel, gram.memory)
    if gram.n <= _MOST_FACTORED:
        K = uncounted.block(slice(None), slice(None)).copy()
        K[np.diag_indices(gram.n)] += max(_tolerance(K), np.finfo(float).tiny)
        try:
            np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return False
        return True
    smallest, radius = _extreme_eigenvalues(uncounted)
    return smallest >= -10 * gram.n * _EPS * radius


def _extreme_eigenvalues(gram: Gram) -> tuple[float, float]:
    """Return the smallest eigenvalue and the largest modulus; -inf if it is not resolved."""
    from scipy.sparse.linalg import (  # noqa: PLC0415 - rarely needed
        ArpackNoConvergence,
        LinearOperator,
        eigsh,
    )

    def largest_of(multiply: Callable[[Vector], Vector], tol: float) -> float:
        operator = LinearOperator((gram.n, gram.n), matvec=multiply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(gram.n)
        options = {"v0": start, "tol": tol, "maxiter": 100, "return_eigenvectors": False}
        return abs(float(eigsh(operator, k=1, **options)[0]))

    try:
        radius = largest_of(gram.matvec, 1e-3)
        # the tolerance is relative, so eigenvalues at 0 never converge; shifted ones do
        return radius - largest_of(lambda v: radius * v - gram.matvec(v), 1e-6), radius
    except ArpackNoConvergence:
        return -np.inf, np.inf


def _tolerance(K: Block) -> float:
    """Return what rounding may take from the eigenvalues of K."""
    return 10 * K.shape[0] * _EPS * float(np.abs(K).sum(axis=1).max())


def lacking(gram: Gram) -> float:
    """Return δ ≥ 0 such that K + δI ⪰ 0, for a Gram matrix that is semidefinite up to rounding.

    Proven where a factorisation of K takes seconds, else that which the test of K allows.
    """
    if gram.kernel.is_psd:
        return 0.0
    if gram.n > _MOST_FACTORED:
        return 10 * gram.n * _EPS * _extreme_eigenvalues(gram)[1]
    values, relative, spread = gram.precise(np.arange(gram.n))
    K = values(slice(None))
    wrong = relative * _norm(K) + _SPARE * float(spread @ spread)
    smallest = smallest_eigenvalue_bound(K)
    return wrong + max(0.0, -smallest if np.isfinite(smallest) else 2 * _tolerance(K))


def smallest_eigenvalue_bound(K: Block) -> float:
    """Return a proven lower bound on the eigenvalues of (K + Kᵀ)/2, −inf if none was found.

    Parameters
    ----------
    K : (n, n), finite. The bound is 0 or above where a matrix is positive definite by more than
        rounding, about −n·1e-15·trace where it is semidefinite.
    """
    S = 0.5 * K + 0.5 * K.T
    error = float(np.trace(4 * S.shape[0] * _EPS * S))
    for shift in (-2 * error, 2 * error):
        bound = _bound_with(S, shift)
        if np.isfinite(bound):
            return bound
    return -np.inf


@np.errstate(over="ignore")  # then there is no bound
def _bound_with(S: Block, shift: float) -> float:
    n = S.shape[0]
    shifted = S + shift * np.eye(n)
    try:
        R = np.linalg.cholesky(shifted).T
    except np.linalg.LinAlgError:
        return -np.inf
    sizes = np.linalg.norm(R) ** 2 + _norm(S) + abs(shift) * np.sqrt(n)
    rounding = (n + 8) * _EPS * sizes + n**3 * _SMALLEST
    return float(-shift - _SPARE * (_norm(shifted - R.T @ R) + rounding))


def _norm(A: Block) -> float:
    """Return the Frobenius norm, whose squares may overflow."""
    largest = float(np.abs(A).max(initial=0.0))
    return largest * float(np.linalg.norm(A / largest)) if largest else 0.0
