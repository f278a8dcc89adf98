"""Tests of positive semidefiniteness, and lower bounds on the smallest eigenvalue of a Gram matrix.

For S = (K + Kᵀ)/2 and a triangular R computed in floating point, S + cI = RᵀR + E gives
    λ_min(S) ≥ −c − ‖E‖_F,
for any R. E is evaluated in float64 with an a priori bound on the error of its matrix product:
|fl(RᵀR) − RᵀR| ≤ γ_n|R|ᵀ|R|, so its Frobenius norm is at most γ_n‖R‖_F², for summation in any order
(Higham 2002, section 3.5; the idea is Rump 2006, "Verification of positive definiteness"). All rounding
is counted twice, as a factor of safety.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualgap.problems.arithmetic.balls import PRECISION_BITS, Unprovable
from dualgap.problems.arithmetic.intervals import SPARE, UNIT
from dualgap.problems.arithmetic.rational import MAX_EXACT_ROWS, is_semidefinite
from dualgap.problems.dataset import Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.kernels import Block, Precomputed, QuadraticForm, as_dense, kernels_in


def is_positive_semidefinite(gram: Gram) -> bool:
    """Whether K ⪰ 0 up to rounding: as declared by the kernel, else by a test with uncounted values."""
    declared = gram.kernel.is_psd
    if declared is not None:
        return declared
    if gram.n > TUNING.max_cholesky_rows:
        smallest, radius = _extreme_eigenvalues(gram)
        return np.isfinite(smallest) and smallest >= -20 * gram.n * UNIT * radius
    K = gram.bound.block(slice(None), slice(None)).copy()
    K[np.diag_indices(gram.n)] += max(_tolerance(K), np.finfo(float).tiny)
    try:
        np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    return True


def psd_shift(gram: Gram, proven: bool = False) -> float:
    """Return δ ≥ 0 such that K + δI ⪰ 0, for a Gram matrix that is semidefinite up to rounding.

    For a kernel that does not declare it. δ comes from a factorisation of K if that takes seconds, else
    from the tolerance of the test of K. With `proven`, for any kernel: K is evaluated in balls,
    and matrices in a kernel's settings are checked.

    Raises
    ------
    Unprovable
        If `proven` is set and no δ of the order of rounding can be proven.
    """
    if proven and _is_exactly_semidefinite(gram):
        return 0.0
    if not proven and gram.n > TUNING.max_cholesky_rows:
        return 20 * gram.n * UNIT * _extreme_eigenvalues(gram)[1]
    if proven:
        K, error = _midpoints(gram)
    else:
        K = gram.bound.block(slice(None), slice(None))
        error = SPARE * float(gram.radius() @ gram.radius())
    smallest = smallest_eigenvalue_bound(K)
    if np.isfinite(smallest):
        return max(0.0, error - smallest)
    if proven:
        raise Unprovable("the kernel's matrix has negative eigenvalues, by more than rounding")
    return error + 2 * _tolerance(K)


def _is_exactly_semidefinite(gram: Gram) -> bool:
    """Whether K ⪰ 0 is proven by the kernel's declaration, and its settings' matrices are proven too."""
    if isinstance(gram.kernel, Precomputed) and gram.n <= MAX_EXACT_ROWS:
        return is_semidefinite(as_dense(gram.X))
    forms = [np.array(k.matrix) for k in kernels_in(gram.kernel) if isinstance(k, QuadraticForm)]
    return bool(gram.kernel.is_psd) and all(map(_is_proven, forms))


def _is_proven(A: Block) -> bool:
    """Whether A ⪰ 0 is proven: by a factorisation, else in rational arithmetic for small A."""
    return smallest_eigenvalue_bound(A) >= 0 or (len(A) <= MAX_EXACT_ROWS and is_semidefinite(A))


def _midpoints(gram: Gram) -> tuple[Block, float]:
    """Return K rounded to float64, and a bound on the Frobenius norm of the rounding errors."""
    from flint import arb, ctx  # noqa: PLC0415 - only needed for proofs

    if isinstance(gram.kernel, Precomputed):
        return as_dense(gram.X), 0.0
    n = gram.n
    if n > TUNING.max_ball_rows:
        raise Unprovable(
            "the kernel is not known to be positive semidefinite for all samples, and "
            f"{n} samples are too many to test it on"
        )
    K, square = np.empty((n, n)), arb(0)
    with ctx.workprec(PRECISION_BITS):
        for rows in np.array_split(np.arange(n), -(-n // 512)):  # as balls take 100 bytes each
            balls = gram.kernel.balls(gram.X, rows, np.arange(n))
            K[rows] = balls.mid
            square += ((balls - K[rows]) ** 2).sum().item()
        return K, float(np.nextafter(float(square.upper().sqrt().upper()), np.inf))


def _extreme_eigenvalues(gram: Gram) -> tuple[float, float]:
    """Return the smallest eigenvalue and the largest modulus; -inf and inf without convergence."""
    from scipy.sparse.linalg import ArpackNoConvergence  # noqa: PLC0415 - rarely needed

    n, uncounted = gram.n, Gram(gram.X, gram.kernel, gram.memory)
    try:
        radius = abs(largest_eigenvalue(uncounted.matvec, n, 1e-3, 100))
        # the tolerance is relative: eigenvalues near 0 never converge, shifted ones do
        shifted = largest_eigenvalue(lambda v: radius * v - uncounted.matvec(v), n, 1e-6, 100)
        return radius - abs(shifted), radius
    except ArpackNoConvergence:
        return -np.inf, np.inf


def largest_eigenvalue(
    multiply: Callable[[Vector], Vector], n: int, tol: float, max_restarts: int | None = None
) -> float:
    """Return the eigenvalue of largest modulus of a symmetric (n, n) matrix, given its products.

    Raises
    ------
    ArpackNoConvergence
        If it has not converged to the relative `tol` after `max_restarts`, by default 10 n.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh  # noqa: PLC0415 - slow to import

    start = np.random.default_rng(0).standard_normal(n)
    product = multiply(start)
    if n == 1 or not product.any():  # ARPACK refuses one variable, and a matrix of zeros
        return float(product[0] / start[0])
    operator = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
    options = {"v0": start, "tol": tol, "maxiter": max_restarts, "return_eigenvectors": False}
    return float(eigsh(operator, k=1, **options)[0])


def _tolerance(K: Block) -> float:
    """Return how much rounding may lower the eigenvalues of K."""
    return 20 * K.shape[0] * UNIT * float(np.abs(K).sum(axis=1).max())


@np.errstate(over="ignore")  # an overflow gives −inf
def smallest_eigenvalue_bound(K: Block) -> float:
    """Return a proven lower bound on the eigenvalues of (K + Kᵀ)/2, −inf if there is none.

    Parameters
    ----------
    K : (n, n), finite. The bound is at least 0 if the matrix is positive definite by more than
        rounding, about −n·1e-15·trace if it is semidefinite.
    """
    S, n = 0.5 * K + 0.5 * K.T, K.shape[0]
    error = float(np.trace(8 * n * UNIT * S))
    for shift in (-2 * error, 2 * error):
        shifted = S + shift * np.eye(n)
        try:
            R = np.linalg.cholesky(shifted).T
        except np.linalg.LinAlgError:
            continue
        sizes = np.linalg.norm(R) ** 2 + _norm(S) + abs(shift) * np.sqrt(n)
        underflow = n**3 * float(np.finfo(float).smallest_subnormal)
        rounding = 2 * (n + 8) * UNIT * sizes + underflow
        bound = float(-shift - SPARE * (_norm(shifted - R.T @ R) + rounding))
        if np.isfinite(bound):
            return bound
    return -np.inf


def _norm(A: Block) -> float:
    """Return the Frobenius norm, even if the squares of the entries overflow."""
    largest = float(np.abs(A).max(initial=0.0))
    return largest * float(np.linalg.norm(A / largest)) if largest else 0.0
