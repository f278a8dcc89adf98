"""Proven bounds below the eigenvalues of a symmetric matrix, and how convex a quadratic form is.

For T = S − s the factors that are computed are exact ones of T − R, with R their residual: L D Lᵀ is
semidefinite if D is, whatever L, so that λ_min(S) ≥ s − ‖R‖. Of a dense matrix ‖R‖ ≤ γ‖|L||L|ᵀ‖ is
known beforehand, and R is computed only where that is not enough.

Rump 2006, "Verification of positive definiteness"; Higham 2002, theorem 10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np
import scipy

from dualgap.problems.arithmetic.rational import is_semidefinite
from dualgap.problems.arithmetic.rounding import gamma, products
from dualgap.problems.dataset import Indices, Vector

_RATIONAL_SIZE = 60  # rows up to which a matrix that may be singular is examined in rationals
_DENSE_SIZE, _DENSE_SHARE = 100, 0.2  # of rows and of entries, from which LAPACK is quicker
_TINY = 1e-290  # below which μ may have lost digits
_SMALL_SHIFTS = (-1e-13, -1e-10)  # of the matrix: what rounding of FᵀF may make it indefinite by


class NotConvex(ValueError):
    """P has a negative eigenvalue, or none of the proofs that it has none succeeds."""


def curvature(P: Any) -> Vector:
    """Return numbers μ (n,) with P − diag(μ) ⪰ 0, proven, for a symmetric CSR matrix `P` (n, n).

    Each block of P is examined by itself, with variables in units that make its diagonal about 1: μ is
    above 0 where a block is definite, the diagonal entry of a block of one. Where rounding made a block
    indefinite μ is below 0, by at most 1e-10 of its diagonal.

    Raises
    ------
    NotConvex
        If P has a smaller eigenvalue; or has none as far as is known, which is not proven.
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
        least = smallest_eigenvalue(unit)
        small = inside.size <= _RATIONAL_SIZE
        if least <= 0 and small and is_semidefinite(part.toarray()):
            least = 0.0
        if not np.isfinite(least):
            if small or _is_indefinite(unit):
                raise NotConvex("P is indefinite: it has a negative eigenvalue, proven")
            raise NotConvex("P ⪰ 0 is not proven: its smallest eigenvalue is not resolved")
        mu = np.ldexp(least, -2 * exponents[inside])
        result[inside] = np.where(np.abs(mu) > _TINY, mu, -_TINY if least < 0 else 0.0)
    return result


def _blocks(P: Any) -> Iterator[Indices]:
    """Yield the variables of each block of P that has more than one."""
    count, label = scipy.sparse.csgraph.connected_components(P, directed=False)
    sizes = np.bincount(label, minlength=count)
    order, ends = np.argsort(label, kind="stable"), np.cumsum(sizes)
    for block in np.flatnonzero(sizes > 1).tolist():
        yield order[ends[block] - sizes[block] : ends[block]]


def _is_indefinite(block: Any) -> bool:
    """Return whether a vector is found with vᵀPv < 0 in all of its rounding."""
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
    """Whether LAPACK factors a sparse square matrix faster."""
    n = S.shape[0]
    return n >= _DENSE_SIZE and S.nnz >= _DENSE_SHARE * n * n


def smallest_eigenvalue(S: Any) -> float:
    """Return a proven lower bound of a symmetric CSC matrix's eigenvalues; −inf if none is known."""
    size = float(abs(S).sum(axis=1).max())
    if not 0 < size < inf:
        return 0.0 if size == 0 else -inf
    if is_dense(S):
        S = S.toarray()
    guess = _inverse_iteration(S, size)
    shifts = [share * guess for share in (0.5, 0.1, 0.01)] + [c * size for c in _SMALL_SHIFTS]
    for shift in dict.fromkeys(shifts):
        residual = _dense_residual if isinstance(S, np.ndarray) else _sparse_residual
        if (norm := residual(S, shift)) is not None:
            return shift - 1.01 * norm - gamma(4) * (size + abs(shift))
    return -inf


def _sparse_residual(S: Any, shift: float) -> float | None:
    """Return a bound of ‖R‖ for the factors of S − shift; None if they show that it is not definite."""
    T = S - shift * scipy.sparse.eye_array(S.shape[0], format="csc")
    factors = factored(T)
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
    """Return the same for a dense matrix."""
    T = S.copy()
    np.fill_diagonal(T, T.diagonal() - shift)
    try:
        L = scipy.linalg.cholesky(T, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    n, size = L.shape[0], np.abs(L)
    magnitude = size @ size.sum(axis=0)
    known = gamma(2 * n + 16) * min(float(magnitude.max()), float((size * size).sum()))
    if known <= 0.5 * shift:
        return known
    T -= L @ L.T
    rounding = gamma(n + 4) * (magnitude + np.abs(S).sum(axis=1) + abs(shift))
    return float((np.abs(T).sum(axis=1) + rounding).max())


def factored(T: Any) -> tuple[Any, Vector, Indices] | None:
    """Return L, pivots above 0 and the order of T's rows with T ≈ L D Lᵀ; None if there are none."""
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
    """Return about the smallest eigenvalue of a semidefinite matrix."""
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
