"""Is a Gram matrix positive semidefinite? As declared, or tested; and by how much it may not be.

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

from dualgap.problems.arithmetic.balls import Unprovable
from dualgap.problems.arithmetic.rational import is_semidefinite
from dualgap.problems.dataset import Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Block, Precomputed, QuadraticForm, as_dense, kernels_in

_MOST_FACTORED = 5000  # rows up to which semidefiniteness is tested by a Cholesky factorisation
# Samples whose matrix is tested in rationals: a second; and by its values in balls: some ten seconds.
_MOST_EXACT, _MOST_TESTED = 100, 3000
_BALLS, _BITS = 512, 106  # rows of balls held at a time, and their precision
_EPS = float(np.finfo(float).eps)  # twice the unit roundoff: a spare factor of two throughout
_SMALLEST = float(np.finfo(float).smallest_subnormal)
_SPARE = 1.01  # more than what rounding takes from a Frobenius norm


def is_positive_semidefinite(gram: Gram) -> bool:
    """Whether K ⪰ 0 up to rounding: as the kernel declares, else as tested, which is not counted."""
    declared = gram.kernel.is_psd
    if declared is not None:
        return declared
    if gram.n > _MOST_FACTORED:
        smallest, radius = _extreme_eigenvalues(gram)
        return np.isfinite(smallest) and smallest >= -10 * gram.n * _EPS * radius
    K = gram.bound.block(slice(None), slice(None)).copy()
    K[np.diag_indices(gram.n)] += max(_tolerance(K), np.finfo(float).tiny)
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def psd_shift(gram: Gram, proven: bool = False) -> float:
    """Return δ ≥ 0 such that K + δI ⪰ 0, for a Gram matrix that is semidefinite up to rounding.

    It is bounded by a factorisation of K where that takes seconds, else that which the test of K allows.
    `proven` takes the values of K in balls, and trusts no matrix among a kernel's settings.

    Raises
    ------
    Unprovable
        If δ is to be proven, and none of the order of rounding is known.
    """
    if _is_exactly_semidefinite(gram) if proven else gram.kernel.is_psd:
        return 0.0
    if not proven and gram.n > _MOST_FACTORED:
        return 10 * gram.n * _EPS * _extreme_eigenvalues(gram)[1]
    if proven:
        K, wrong = _midpoints(gram)
    else:
        values, relative, absolute = gram.bound.precise_columns(np.arange(gram.n))
        K = values(slice(None))
        wrong = relative * _norm(K) + _SPARE * float(absolute @ absolute)
    smallest = smallest_eigenvalue_bound(K)
    if np.isfinite(smallest):
        return max(0.0, wrong - smallest)
    if proven:
        raise Unprovable("the kernel's matrix has eigenvalues below 0, by more than rounding")
    return wrong + 2 * _tolerance(K)


def _is_exactly_semidefinite(gram: Gram) -> bool:
    """Whether K is proven to be semidefinite by what the kernel declares, and its matrices are."""
    if isinstance(gram.kernel, Precomputed) and gram.n <= _MOST_EXACT:
        return is_semidefinite(as_dense(gram.X))
    forms = [np.array(k.matrix) for k in kernels_in(gram.kernel) if isinstance(k, QuadraticForm)]
    return bool(gram.kernel.is_psd) and all(map(_is_proven, forms))


def _is_proven(A: Block) -> bool:
    """Whether A ⪰ 0 is proven: by a factorisation, else in rationals where that takes a second."""
    return smallest_eigenvalue_bound(A) >= 0 or (len(A) <= _MOST_EXACT and is_semidefinite(A))


def _midpoints(gram: Gram) -> tuple[Block, float]:
    """Return K rounded to float64, and a bound on the norm of its difference to K."""
    from flint import arb, ctx  # noqa: PLC0415 - needed for proofs alone

    if isinstance(gram.kernel, Precomputed):
        return as_dense(gram.X), 0.0
    n = gram.n
    if n > _MOST_TESTED:
        raise Unprovable(
            f"the kernel is not known to be positive semidefinite on all samples, and {n} are too "
            "many to test it on them"
        )
    K, square = np.empty((n, n)), arb(0)
    with ctx.workprec(_BITS):
        for i in range(0, n, _BALLS):
            rows = np.arange(i, min(i + _BALLS, n))
            entries = gram.bound.balls(rows, np.arange(n)).entries()
            nearest = np.array(entries, object).astype(float)
            K[rows] = nearest.reshape(-1, n)
            square += sum(
                ((v - m) ** 2 for v, m in zip(entries, nearest.tolist(), strict=True)), arb(0)
            )
        return K, float(np.nextafter(float(square.upper().sqrt().upper()), np.inf))


def _extreme_eigenvalues(gram: Gram) -> tuple[float, float]:
    """Return the smallest eigenvalue and the largest modulus; -inf if it is not resolved."""
    from scipy.sparse import linalg  # noqa: PLC0415 - rarely needed

    uncounted = Gram(gram.X, gram.kernel, gram.memory)

    def largest_of(multiply: Callable[[Vector], Vector], tol: float) -> float:
        operator = linalg.LinearOperator((gram.n, gram.n), matvec=multiply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(gram.n)
        options = {"v0": start, "tol": tol, "maxiter": 100, "return_eigenvectors": False}
        return abs(float(linalg.eigsh(operator, k=1, **options)[0]))

    try:
        radius = largest_of(uncounted.matvec, 1e-3)
        # the tolerance is relative, so eigenvalues at 0 never converge; shifted ones do
        return radius - largest_of(lambda v: radius * v - uncounted.matvec(v), 1e-6), radius
    except linalg.ArpackNoConvergence:
        return -np.inf, np.inf


def _tolerance(K: Block) -> float:
    """Return what rounding may take from the eigenvalues of K."""
    return 10 * K.shape[0] * _EPS * float(np.abs(K).sum(axis=1).max())


@np.errstate(over="ignore")  # then there is no bound
def smallest_eigenvalue_bound(K: Block) -> float:
    """Return a proven lower bound on the eigenvalues of (K + Kᵀ)/2, −inf if none was found.

    Parameters
    ----------
    K : (n, n), finite. The bound is 0 or above where a matrix is positive definite by more than
        rounding, about −n·1e-15·trace where it is semidefinite.
    """
    S, n = 0.5 * K + 0.5 * K.T, K.shape[0]
    error = float(np.trace(4 * n * _EPS * S))
    for shift in (-2 * error, 2 * error):
        shifted = S + shift * np.eye(n)
        try:
            R = np.linalg.cholesky(shifted).T
        except np.linalg.LinAlgError:
            continue
        sizes = np.linalg.norm(R) ** 2 + _norm(S) + abs(shift) * np.sqrt(n)
        rounding = (n + 8) * _EPS * sizes + n**3 * _SMALLEST
        bound = float(-shift - _SPARE * (_norm(shifted - R.T @ R) + rounding))
        if np.isfinite(bound):
            return bound
    return -np.inf


def _norm(A: Block) -> float:
    """Return the Frobenius norm, whose squares may overflow."""
    largest = float(np.abs(A).max(initial=0.0))
    return largest * float(np.linalg.norm(A / largest)) if largest else 0.0
