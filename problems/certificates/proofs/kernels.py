"""Values of the kernels in ball arithmetic, and what is proven of their matrices.

All kernels here are made of rational operations and elementary functions of the stored numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from flint import arb, arb_mat, ctx, fmpq_mat

from problems.certificates.proofs.balls import Unprovable, above, ball_matrix, balls, dot
from problems.certificates.proofs.exact import exact_array
from problems.dataset import Indices, Matrix
from problems.gram.semidefinite import smallest_eigenvalue_bound
from problems.kernels import (
    RBF,
    Exponential,
    FittedFisher,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    Product,
    QuadraticForm,
    Scaled,
    SetIntersection,
    Sigmoid,
    Spectrum,
    Subset,
    Sum,
    WeisfeilerLehman,
    as_dense,
    kernels_in,
)

BLOCK = 512  # rows and columns of kernel values held as balls at a time
_BITS = 106
_MOST_EXACT = 100  # samples whose matrix is tested in rationals: a second
_MOST_TESTED = 3000  # samples whose matrix is tested by its values: some ten seconds
Values = Callable[[Indices, Indices], Any]


def ball_gram(kernel: Kernel, X: Matrix) -> Values:  # noqa: PLR0911 - one for each kind of kernel
    """Return (rows, cols) ↦ the Gram matrix of `X` (n, d) restricted to them, in balls.

    Raises
    ------
    Unprovable
        If a kernel has no ball arithmetic here.
    """
    match kernel:
        case Linear() | Polynomial() | Sigmoid() | QuadraticForm():
            return _of_inner_products(kernel, X)
        case RBF(gamma):
            return _gaussian(X, arb(gamma))
        case Precomputed():  # αᵀKα knows only of the symmetric part
            return lambda rows, cols: (
                (ball_matrix(X[rows][:, cols]) + ball_matrix(X[cols][:, rows]).transpose())
                * arb(0.5)
            )
        case Sum(left, right) | Product(left, right):
            one, other = ball_gram(left, X), ball_gram(right, X)
            join = arb.__add__ if isinstance(kernel, Sum) else arb.__mul__
            return lambda rows, cols: _each(join, one(rows, cols), other(rows, cols))
        case Scaled(inside, factor):
            return _mapped(lambda k: factor * k, ball_gram(inside, X))
        case Exponential(inside):
            return _mapped(arb.exp, ball_gram(inside, X))
        case PolynomialOf(inside, coefficients):
            return _mapped(lambda k: _polynomial(coefficients, k), ball_gram(inside, X))
        case Subset(inside, features):
            return ball_gram(inside, X[:, np.array(features)])
        case SetIntersection() | Spectrum() | WeisfeilerLehman():
            return _of_counts(kernel, X)
        case FittedFisher():
            phi = _fisher_features(kernel, as_dense(X))
            return lambda rows, cols: (
                arb_mat(phi[rows].tolist()) * arb_mat(phi[cols].tolist()).transpose()
            )
        case _:
            raise Unprovable(f"{type(kernel).__name__} has no ball arithmetic")


def ball_diagonal(kernel: Kernel, X: Matrix) -> Any:
    """Return balls around k(xᵢ, xᵢ), shape (n,); Unprovable as `ball_gram`."""
    values = ball_gram(kernel, X)
    return np.array([values(i, i)[0, 0] for i in np.arange(X.shape[0])[:, None]], object)


def _of_inner_products(kernel: Any, X: Matrix) -> Values:
    A = ball_matrix(kernel.matrix) if isinstance(kernel, QuadraticForm) else None

    def inner(rows: Indices, cols: Indices) -> Any:
        left, right = ball_matrix(X[rows]), ball_matrix(X[cols]).transpose()
        return left * right if A is None else left * A * right

    match kernel:
        case Polynomial(degree, gamma, coef0):
            return _mapped(lambda g: (gamma * g + coef0) ** int(degree), inner)
        case Sigmoid(gamma, coef0):
            return _mapped(lambda g: (gamma * g + coef0).tanh(), inner)
        case _:
            return inner


def _gaussian(X: Matrix, gamma: Any) -> Values:
    """Return exp(−gamma·‖x − z‖²) = exp([x, ‖x‖², 1]·[2gamma·z, −gamma, −gamma·‖z‖²])."""
    stored = scipy.sparse.csr_array(X)
    ends = pairwise(stored.indptr.tolist())
    norms = np.array([dot(r, r) for r in (stored.data[i:j].tolist() for i, j in ends)], object)

    def values(rows: Indices, cols: Indices) -> Any:
        left, right = balls(as_dense(X[rows])), balls(as_dense(X[cols]))
        ones, steep = (
            np.full((own.size, 1), v, object) for own, v in ((rows, arb(1)), (cols, -gamma))
        )
        A = np.hstack([left, norms[rows][:, None], ones])
        B = np.hstack([2 * gamma * right, steep, -gamma * norms[cols][:, None]])
        return _each(arb.exp, arb_mat(A.tolist()) * arb_mat(B.tolist()).transpose())

    return values


def _of_counts(kernel: Any, X: Matrix) -> Values:
    """Return the values of a kernel that counts: its inner products are exact in float64."""
    counting = Linear() if isinstance(kernel, SetIntersection) else replace(kernel, normalize=False)
    sizes, common = counting.diagonal(X), counting.bind(X)

    def values(rows: Indices, cols: Indices) -> Any:
        K, a, b = common(rows, cols), sizes[rows][:, None], sizes[cols]
        if isinstance(kernel, SetIntersection):
            return arb_mat((2 ** balls(K - 0.5 * (a + b) if kernel.normalize else K)).tolist())
        if kernel.normalize:
            norms = np.sqrt(balls(np.maximum(a, 1.0)) * balls(np.maximum(b, 1.0)))  # K is 0 for 0
            return arb_mat((balls(K) / norms).tolist())
        return ball_matrix(K)

    return values


def _fisher_features(kernel: FittedFisher, X: Any) -> Any:
    """Return `kernel.features` of dense samples, as an array of balls."""
    weights, means, variances = (balls(v) for v in (kernel.weights, kernel.means, kernel.variances))
    deviations = (balls(X)[:, None, :] - means) / np.sqrt(variances)
    odds = weights * np.exp(-(deviations**2 + np.log(variances)).sum(axis=2) / 2)
    shares = odds / odds.sum(axis=1, keepdims=True)
    of_means = shares[:, :, None] * deviations / np.sqrt(weights)[:, None]
    of_widths = shares[:, :, None] * (deviations**2 - 1) / np.sqrt(2 * weights)[:, None]
    parts = [(shares - weights) / np.sqrt(weights), of_means, of_widths]
    return np.hstack([part.reshape(len(X), -1) for part in parts])


def _polynomial(coefficients: tuple[float, ...], value: Any) -> Any:
    total = arb(0)
    for coefficient in reversed(coefficients):
        total = total * value + coefficient
    return total


def _mapped(function: Callable[[Any], Any], inside: Values) -> Values:
    return lambda rows, cols: _each(function, inside(rows, cols))


def _each(function: Callable[..., Any], *matrices: Any) -> Any:
    """Return a matrix of `function` of each entry."""
    entries = map(function, *(matrix.entries() for matrix in matrices))
    return arb_mat(matrices[0].nrows(), matrices[0].ncols(), list(entries))


def eigenvalue_shift(kernel: Kernel, X: Matrix) -> float:
    """Return δ ≥ 0 such that K + δI is proven to be positive semidefinite.

    Raises
    ------
    Unprovable
        If no such δ of the order of rounding is known.
    """
    forms = [k.matrix for k in kernels_in(kernel) if isinstance(k, QuadraticForm)]
    exact = isinstance(kernel, Precomputed) and X.shape[0] <= _MOST_EXACT
    if (kernel.is_psd or exact) and all(map(_is_semidefinite, [as_dense(X)] if exact else forms)):
        return 0.0
    K, error = _midpoints(kernel, X)
    bound = smallest_eigenvalue_bound(K) - error
    if not np.isfinite(bound):
        raise Unprovable("the kernel's matrix has eigenvalues below 0, by more than rounding")
    return max(0.0, -bound)


def _is_semidefinite(matrix: Any) -> bool:
    """Whether A + Aᵀ is exactly so: its characteristic polynomial alternates in sign."""
    A = exact_array(np.array(matrix))
    coefficients = fmpq_mat((A + A.T).tolist()).charpoly().coeffs()
    return all(c * (-1) ** k >= 0 for k, c in enumerate(reversed(coefficients)))


def _midpoints(kernel: Kernel, X: Matrix) -> tuple[Any, float]:
    """Return a float64 matrix, and a bound on the norm of its difference to K."""
    if isinstance(kernel, Precomputed):
        return as_dense(X), 0.0
    n = X.shape[0]
    if n > _MOST_TESTED:
        raise Unprovable(
            f"the kernel is not known to be positive semidefinite on all samples, and {n} are too "
            "many to test it on them"
        )
    values, K, square = ball_gram(kernel, X), np.empty((n, n)), arb(0)
    with ctx.workprec(_BITS):
        for i in range(0, n, BLOCK):
            entries = values(np.arange(i, min(i + BLOCK, n)), np.arange(n)).entries()
            nearest = np.array(entries, object).astype(float)
            K[i : i + BLOCK] = nearest.reshape(-1, n)
            square += sum(
                ((v - m) ** 2 for v, m in zip(entries, nearest.tolist(), strict=True)), arb(0)
            )
        return K, above(square.upper().sqrt())
