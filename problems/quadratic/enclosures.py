"""Balls around float64 points that contain an exact solution of equations A u = b.

With M the independent rows of A, D = diag(0 or 1) the variables that may move, and ρ = b − A v,
    u* = v + δ + D Mᵀ (M D Mᵀ)⁻¹ (ρ − M δ)   has   A u* = b   for any δ of those that move, and
    |u* − v|ⱼ ≤ |δⱼ| + Dⱼ ‖M eⱼ‖ ‖ρ − M δ‖ / λ_min(M D Mᵀ),
so that a bound on one smallest eigenvalue proves that u* exists and encloses it. ρ is rounded once and
δ is approximately the shortest with M δ = ρ: only rounding of rounding is divided by λ_min. Dependent
rows of A must be so exactly, in rational arithmetic.

Krawczyk 1969; Jansson 2004, "Rigorous lower and upper bounds in linear programming".
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic.intervals import gamma, products, terms
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.quadratic.eigenvalues import factor_ldl, smallest_eigenvalue, sparse_lu
from dualgap.problems.quadratic.exact_rows import exact_row, residuals

_MAX_DENOMINATOR = 10_000  # of a factor between dependent rows


def solution_radius(
    A: Any, b: Vector, v: Vector, free: NDArray[np.bool_], n_equations: int | None = None
) -> Vector | None:
    """Return a bound on |u − v| for an exact solution u of A u = b; None if there is none.

    Only the `free` variables differ from `v` (n,). See `Constraints.n_equations`.
    """
    radius = np.zeros(v.size)
    length = np.sqrt((A.multiply(A)).sum(axis=1))
    exponent = -np.frexp(np.where(length > 0, length, 1.0))[1]  # rows of length about 1
    A, b = scipy.sparse.diags_array(np.ldexp(1.0, exponent)).tocsr() @ A, np.ldexp(b, exponent)
    moving = scipy.sparse.csr_array(A @ scipy.sparse.diags_array(free.astype(float)))
    moving.eliminate_zeros()
    rows = np.flatnonzero(np.diff(moving.indptr))
    for min_pivot in (1e-9, 1e-13):  # below, a row of length 1 counts as dependent
        independent = _independent(moving, rows, min_pivot)
        dependent = np.setdiff1d(np.arange(b.size), independent)
        if not dependent.size or _are_implied(A, b, v, free, independent, dependent, n_equations):
            break
    else:
        return None
    if independent.size:
        M = moving[independent]
        square = scipy.sparse.csc_array(M @ M.T)
        rounding = gamma(terms(M) + 2) * float((abs(M) @ abs(M).T).sum(axis=1).max())
        eigenvalue = smallest_eigenvalue(square) - rounding
        if not eigenvalue > 0:
            return None
        rho = residuals(A[independent], v, b[independent])
        change = least_change(M, np.ones(v.size), rho.mid)
        remainder = rho - products(M, change)
        size = np.linalg.norm(np.abs(remainder.mid) + remainder.rad)
        columns = np.sqrt(np.asarray(M.multiply(M).sum(axis=0)).ravel())
        radius = (1 + 1e-9) * (np.abs(change) + columns * float(size) / eigenvalue)
    return radius


def least_change(M: Any, weights: Vector, residual: Vector) -> Vector:
    """Return approximately the shortest d with M d = residual, in variables of nonzero weight."""
    if not M.shape[0]:
        return np.zeros(M.shape[1])
    moving = M @ scipy.sparse.diags_array(weights)
    solve = _solver(scipy.sparse.csc_array(moving @ moving.T))
    step = moving.T @ solve(residual)
    return step + moving.T @ solve(residual - moving @ step)


def least_squares(M: Any, target: Vector) -> Vector:
    """Return w that approximately minimises ‖Mᵀw − target‖, for CSR `M` (m, n)."""
    return _least_squares_on(M)(target)


def _least_squares_on(M: Any) -> Callable[[Vector], Vector]:
    """Return `least_squares` as a function of the target, with M factorised once."""
    if not M.shape[0]:
        return lambda _: np.zeros(0)
    solve = _solver(scipy.sparse.csc_array(M @ M.T))

    def fit(target: Vector) -> Vector:
        w = solve(M @ target)
        return w + solve(M @ (target - M.T @ w))

    return fit


def without_dependent(A: Any, b: Vector) -> Indices:
    """Return the rows of A u = b without those that follow from the others up to rounding."""
    length = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    unit = 1.0 / np.where(length > 0, length, 1.0)
    M, sides = scipy.sparse.csr_array(scipy.sparse.diags_array(unit) @ A), unit * b
    independent = _independent(M, np.flatnonzero(length), 1e-9)
    basis, contradictions = M[independent], list[int]()
    fit = _least_squares_on(basis)
    for row in np.setdiff1d(np.arange(b.size), independent).tolist():
        target = M[[row]].toarray().ravel()
        w = fit(target)
        error = np.abs(target - basis.T @ w).max()
        side_error = abs(sides[row] - w @ sides[independent])
        terms_size = abs(sides[row]) + abs(w) @ abs(sides[independent])
        if error > 1e-12 or side_error > 1e-12 * terms_size:
            contradictions.append(row)
    return np.sort(np.append(independent, np.asarray(contradictions, dtype=independent.dtype)))


def _solver(S: Any) -> Callable[[Vector], Vector]:
    diagonal = S.diagonal()
    regular = np.where(diagonal > 0, 1e-13 * diagonal, 1.0)  # rows may be dependent
    return sparse_lu(scipy.sparse.csc_array(S + scipy.sparse.diags_array(regular))).solve


def _independent(M: Any, rows: Indices, min_pivot: float) -> Indices:
    """Return an independent subset of the rows of M (of length about 1): those with large pivots."""
    if not rows.size:
        return rows
    S = scipy.sparse.csc_array(M[rows] @ M[rows].T)
    factors = factor_ldl(S + 0.01 * min_pivot * scipy.sparse.eye_array(rows.size, format="csc"))
    if factors is None:
        return rows
    _, pivots, order = factors
    return rows[np.sort(order[pivots > min_pivot * S.diagonal()[order]])]


def _are_implied(
    A: Any,
    b: Vector,
    v: Vector,
    free: NDArray[np.bool_],
    rows: Indices,
    dependent: Indices,
    n_equations: int | None,
) -> bool:
    """Whether `dependent` rows of A u = b follow exactly from `rows`, if u equals v except if `free`."""
    moving = A @ scipy.sparse.diags_array(free.astype(float))
    solve = _solver(scipy.sparse.csc_array(moving[rows] @ moving[rows].T)) if rows.size else None
    for row in dependent.tolist():
        remainder = dict(exact_row(A, row))
        side = Fraction(float(b[row]))
        factors = np.zeros(0)
        if solve is not None:
            factors = solve(moving[rows] @ moving[[row]].toarray().ravel())
        for k in np.flatnonzero(np.abs(factors) > 0.5 / _MAX_DENOMINATOR).tolist():
            factor = _ratio(float(factors[k]))
            for column, value in exact_row(A, int(rows[k])):
                remainder[column] = remainder.get(column, Fraction(0)) - factor * value
            side -= factor * Fraction(float(b[rows[k]]))
        for column, value in remainder.items():
            if free[column] and value:
                return False
            side -= value * Fraction(v[column])
        if side < 0 or (side and (n_equations is None or row < n_equations)):
            return False
    return True


def _ratio(factor: float) -> Fraction:
    """Return a factor between two rows as a simple fraction times a power of two, their scaling."""
    power = np.ldexp(1.0, int(np.frexp(factor)[1]))
    return Fraction(float(power)) * Fraction(factor / power).limit_denominator(_MAX_DENOMINATOR)
