"""Proven lower bounds on the eigenvalues of a symmetric matrix, and the curvature of a quadratic form.

The factors computed for T = S − sI are exact factors of T − R, with R their residual: L D Lᵀ is
semidefinite if D is, for any L, so that λ_min(S) ≥ s − ‖R‖. For a dense matrix ‖R‖ ≤ γ‖|L||L|ᵀ‖ holds a
priori, and R is computed only if that is not enough.

Rump 2006, "Verification of positive definiteness"; Higham 2002, theorem 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np
import scipy

from dualgap.problems.arithmetic.intervals import gamma, products
from dualgap.problems.arithmetic.rational import MAX_EXACT_ROWS, is_semidefinite
from dualgap.problems.dataset import Indices, Vector


class NotConvex(ValueError):
    """P has a negative eigenvalue, or every proof that it has none fails."""


def curvature(P: Any) -> Vector:
    """Return numbers μ (n,) with P − diag(μ) ⪰ 0, proven, for a symmetric CSR matrix `P` (n, n).

    Each diagonal block of P is treated by itself, scaled to a diagonal of about 1. μ is positive where a
    block is definite; for a block of one variable it is the entry. If rounding made a block indefinite,
    μ is negative, down to −1e-10 times its diagonal.

    Raises
    ------
    NotConvex
        If P has a smaller eigenvalue, or if that can be neither proven nor excluded.
    """
    diagonal = P.diagonal()
    if (diagonal < 0).any():
        at = int(np.argmin(diagonal))
        raise NotConvex(f"P is indefinite: entry ({at}, {at}) is {diagonal[at]:.3g}")
    result = diagonal.copy()
    exponents = -np.frexp(diagonal)[1] // 2
    for inside in _blocks(P):
        part = P if inside.size == diagonal.size else P[inside][:, inside]
        scale = scipy.sparse.diags_array(np.ldexp(1.0, exponents[inside]))
        unit = scipy.sparse.csc_array(scale @ part @ scale)
        smallest = smallest_eigenvalue(unit)
        is_small = inside.size <= MAX_EXACT_ROWS
        if smallest <= 0 and is_small and is_semidefinite(part.toarray()):
            smallest = 0.0
        if not np.isfinite(smallest):
            if is_small or _is_indefinite(unit):
                raise NotConvex("P is indefinite: it provably has a negative eigenvalue")
            raise NotConvex("P ⪰ 0 is not proven: float64 does not resolve its smallest eigenvalue")
        mu = np.ldexp(smallest, -2 * exponents[inside])
        min_mu = 1e-290  # a smaller |μ| may have lost digits to underflow
        tiny = -min_mu if smallest < 0 else 0.0
        result[inside] = np.where(np.abs(mu) > min_mu, mu, tiny)
    return result


def _blocks(P: Any) -> Iterator[Indices]:
    """Yield the variables of each diagonal block of P with more than one."""
    count, label = scipy.sparse.csgraph.connected_components(P, directed=False)
    sizes = np.bincount(label, minlength=count)
    order, ends = np.argsort(label, kind="stable"), np.cumsum(sizes)
    for block in np.flatnonzero(sizes > 1).tolist():
        yield order[ends[block] - sizes[block] : ends[block]]


def _is_indefinite(block: Any) -> bool:
    """Whether some vector provably has vᵀPv < 0, rounding included."""
    from scipy.sparse.linalg import ArpackError, eigsh  # noqa: PLC0415 - slow to import

    try:
        if block.shape[0] <= 1000:
            v = np.linalg.eigh(block.toarray())[1][:, 0]
        else:
            start = np.random.default_rng(0).standard_normal(block.shape[0])
            v = eigsh(block, k=1, which="SA", v0=start, maxiter=1000)[1][:, 0]
    except (ArpackError, np.linalg.LinAlgError):
        return False
    return float((products(scipy.sparse.csr_array(block), v) * v).sum().high) < 0


def is_dense(S: Any) -> bool:
    """Whether LAPACK factors a sparse square matrix faster than SuperLU."""
    n = S.shape[0]
    return n >= 100 and S.nnz >= 0.2 * n * n


def smallest_eigenvalue(S: Any) -> float:
    """Return a proven lower bound on the eigenvalues of a symmetric CSC matrix; −inf if none."""
    size = float(abs(S).sum(axis=1).max())
    if not 0 < size < inf:
        return 0.0 if size == 0 else -inf
    if is_dense(S):
        S = S.toarray()
    guess = _inverse_iteration(S, size)
    # rounding of P = FᵀF may make it slightly indefinite
    shifts = [c * guess for c in (0.5, 0.1, 0.01)] + [c * size for c in (-1e-13, -1e-10)]
    for shift in dict.fromkeys(shifts):
        residual = _dense_residual if isinstance(S, np.ndarray) else _sparse_residual
        if (norm := residual(S, shift)) is not None:
            return shift - 1.01 * norm - gamma(4) * (size + abs(shift))
    return -inf


def _sparse_residual(S: Any, shift: float) -> float | None:
    """Return a bound on ‖R‖ for the factors of S − shift·I; None if these are not definite."""
    T = S - shift * scipy.sparse.eye_array(S.shape[0], format="csc")
    factors = factor_ldl(T)
    if factors is None:
        return None
    L, pivots, order = factors
    T = scipy.sparse.csc_array(T)[order][:, order]
    half = scipy.sparse.csc_array(L @ scipy.sparse.diags_array(pivots))
    magnitude = abs(half) @ abs(L).sum(axis=0)
    count = int(np.diff(scipy.sparse.csr_array(L).indptr).max()) + 4
    rounding = gamma(count) * (magnitude + abs(T).sum(axis=1))
    return float((abs(T - half @ L.T).sum(axis=1) + rounding).max())


def _dense_residual(S: Any, shift: float) -> float | None:
    """Return the same as `_sparse_residual` for a dense matrix."""
    T = S.copy()
    np.fill_diagonal(T, T.diagonal() - shift)
    try:
        L = scipy.linalg.cholesky(T, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    n, size = L.shape[0], np.abs(L)
    magnitude = size @ size.sum(axis=0)
    a_priori = gamma(2 * n + 16) * min(float(magnitude.max()), float((size * size).sum()))
    if a_priori <= 0.5 * shift:
        return a_priori
    T -= L @ L.T
    rounding = gamma(n + 4) * (magnitude + np.abs(S).sum(axis=1) + abs(shift))
    return float((np.abs(T).sum(axis=1) + rounding).max())


def factor_ldl(T: Any) -> tuple[Any, Vector, Indices] | None:
    """Return L, positive pivots and the row order of T with T ≈ L D Lᵀ; None if T is not definite."""
    try:
        lu = sparse_lu(scipy.sparse.csc_array(T))
    except RuntimeError:  # exactly singular
        return None
    pivots = lu.U.diagonal()
    if (lu.perm_r != lu.perm_c).any() or not (pivots > 0).all() or not np.isfinite(pivots).all():
        return None
    return scipy.sparse.csc_array(lu.L), pivots, np.argsort(lu.perm_c)


def sparse_lu(S: Any) -> Any:
    """Return SuperLU's factors of a symmetric CSC matrix."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - slow to import

    options = {"SymmetricMode": True}
    return splu(S, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def _inverse_iteration(S: Any, size: float) -> float:
    """Return an estimate of the smallest eigenvalue of a semidefinite matrix."""
    solve: Callable[[Vector], Vector]
    try:
        if isinstance(S, np.ndarray):
            factor = scipy.linalg.cho_factor(S, lower=True, check_finite=False)
            solve = partial(scipy.linalg.cho_solve, factor, check_finite=False)
        else:
            solve = sparse_lu(S).solve
    except (RuntimeError, np.linalg.LinAlgError):  # singular
        return 0.0
    v = np.random.default_rng(0).standard_normal(S.shape[0])
    value = 0.0
    for _ in range(20):
        v = v / np.linalg.norm(v)
        w = solve(v)
        if not (np.isfinite(w).all() and w.any()):
            return 0.0
        value = 1.0 / float(np.linalg.norm(w))
        v = w
    return min(value, size)
