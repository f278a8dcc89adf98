"""A proven lower bound on the smallest eigenvalue of a stored matrix, from a Cholesky factor.

For S = (K + Kᵀ)/2 and a triangular R found in floating point, S + cI = RᵀR + E gives
    λ_min(S) ≥ −c − ‖E‖_F,
whatever R is. E is evaluated in float64 with the error of its matrix product bounded beforehand:
|fl(RᵀR) − RᵀR| ≤ γ_n|R|ᵀ|R|, so its Frobenius norm is at most γ_n‖R‖_F², for products whose sums are
taken in any order (Higham 2002, section 3.5; the idea is Rump 2006, "Verification of positive
definiteness").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from problems.gram.gram import MOST_FACTORED, eigenvalue_tolerance

if TYPE_CHECKING:
    from problems.gram.gram import Gram

_EPS = float(np.finfo(float).eps)  # twice the unit roundoff: a spare factor of two throughout
_SMALLEST = float(np.finfo(float).smallest_subnormal)
_SPARE = 1.01  # more than what rounding takes from a Frobenius norm


def lacking(gram: Gram) -> float:
    """Return δ ≥ 0 such that K + δI ⪰ 0, for a Gram matrix that is semidefinite up to rounding.

    Proven where a factorisation of K takes seconds, else that which the test of K allows.
    """
    if gram.kernel.is_psd:
        return 0.0
    if gram.n > MOST_FACTORED:
        return 10 * gram.n * _EPS * gram.extreme_eigenvalues()[1]
    values, relative, spread = gram.precise(np.arange(gram.n))
    K = values(slice(None))
    wrong = relative * _norm(K) + _SPARE * float(spread @ spread)
    smallest = smallest_eigenvalue_bound(K)
    return wrong + max(0.0, -smallest if np.isfinite(smallest) else 2 * eigenvalue_tolerance(K))


def smallest_eigenvalue_bound(K: NDArray[np.float64]) -> float:
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
def _bound_with(S: NDArray[np.float64], shift: float) -> float:
    n = S.shape[0]
    shifted = S + shift * np.eye(n)
    try:
        R = np.linalg.cholesky(shifted).T
    except np.linalg.LinAlgError:
        return -np.inf
    sizes = np.linalg.norm(R) ** 2 + _norm(S) + abs(shift) * np.sqrt(n)
    rounding = (n + 8) * _EPS * sizes + n**3 * _SMALLEST
    return float(-shift - _SPARE * (_norm(shifted - R.T @ R) + rounding))


def _norm(A: NDArray[np.float64]) -> float:
    """Return the Frobenius norm, whose squares may overflow."""
    largest = float(np.abs(A).max(initial=0.0))
    return largest * float(np.linalg.norm(A / largest)) if largest else 0.0
