"""Kernel values of stored float64 samples: rationals, or balls where exp is in them."""

from collections import Counter
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from dualgap.problems import (
    RBF,
    Exponential,
    Kernel,
    Linear,
    Matrix,
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
)

_SPARE = 64  # bits that roundings within a value may take
ZERO, HALF = fmpq(0), fmpq(1, 2)

Row = list[fmpq]


def exact_rows(X: Matrix) -> list[Row]:
    """Return the samples as they are stored."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    return [[fmpq(*v.as_integer_ratio()) for v in row] for row in dense.tolist()]


def exact_gram(X: Matrix, kernel: Kernel, bits: int) -> tuple[list[list[fmpq]], fmpq]:
    """Return k(xᵢ, xⱼ), and how far each may be off: about 2^−bits of the largest, 0 if rational.

    What is rounded has so much added to its diagonal that it is positive semidefinite still.
    """
    rows, n = exact_rows(X), X.shape[0]
    if isinstance(kernel, Precomputed):  # βᵀKβ knows only of the symmetric part
        return [[(rows[i][j] + rows[j][i]) / 2 for j in range(n)] for i in range(n)], ZERO
    with ctx.workprec(bits + _SPARE):
        lower = [[value(kernel, rows[i], rows[j]) for j in range(i + 1)] for i in range(n)]
        values = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        if all(isinstance(v, fmpq) for row in lower for v in row):
            return values, ZERO
        largest = max(abs(arb(v)).upper() for row in lower for v in row)
        mantissa, exponent = largest.man_exp()
        unit = fmpq(2) ** (mantissa.bit_length() + int(exponent) - bits)
        K = [[_rounded(v, unit) for v in row] for row in values]
        for i in range(n):
            K[i][i] += n * unit
        return K, (n + 1) * unit


def seen_rows(X: Matrix, kernel: Kernel) -> list[Row]:
    """Return what a kernel sees of the samples."""
    rows = exact_rows(X)
    return (
        [[row[j] for j in kernel.features] for row in rows] if isinstance(kernel, Subset) else rows
    )


def _rounded(value: Any, unit: fmpq) -> fmpq:
    """Return the multiple of `unit` that is next to a value."""
    ball = arb(value) / unit
    assert ball.rad() < 0.25, "the balls are too wide"
    return unit * (ball.mid() + arb(0.5)).floor().unique_fmpz()


def value(kernel: Kernel, x: Row, z: Row) -> Any:
    """Return k(x, z) from its definition."""
    match kernel:
        case Linear():
            result = inner(x, z)
        case Polynomial(degree, gamma, coef0):
            result = (_float(gamma) * inner(x, z) + _float(coef0)) ** int(degree)
        case RBF(gamma):
            squared = sum(((u - v) * (u - v) for u, v in zip(x, z, strict=True)), ZERO)
            result = arb(-_float(gamma) * squared).exp() if squared else fmpq(1)
        case Sum(left, right):
            result = value(left, x, z) + value(right, x, z)
        case Product(left, right):
            result = value(left, x, z) * value(right, x, z)
        case Scaled(inside, factor):
            result = _float(factor) * value(inside, x, z)
        case Exponential(inside):
            exponent = value(inside, x, z)
            result = arb(exponent).exp() if exponent != 0 else fmpq(1)
        case PolynomialOf(inside, coefficients):
            base = value(inside, x, z)
            result = sum((_float(c) * base**k for k, c in enumerate(coefficients)), ZERO)
        case Subset(inside, features):
            result = value(inside, [x[j] for j in features], [z[j] for j in features])
        case QuadraticForm(matrix):
            result = inner(x, [inner([_float(v) for v in row], z) for row in matrix])
        case Sigmoid(gamma, coef0):
            inside = _float(gamma) * inner(x, z) + _float(coef0)
            result = arb(inside).tanh() if inside else ZERO
        case SetIntersection(normalize):
            common = inner(x, z) - (HALF * (inner(x, x) + inner(z, z)) if normalize else ZERO)
            result = fmpq(2) ** int(common) if common.q == 1 else arb(2) ** arb(common)
        case Spectrum(k, normalize):
            result = _common_substrings(x, z, k)
            if normalize and result:
                sizes = _common_substrings(x, x, k) * _common_substrings(z, z, k)
                result = result / arb(sizes).sqrt() if x != z else fmpq(1)
        case _:
            raise NotImplementedError(f"no exact values of {kernel!r}")
    return result


def inner(x: Row, z: Row) -> fmpq:
    """Return xᵀz."""
    return sum((u * v for u, v in zip(x, z, strict=True) if u and v), ZERO)


def _common_substrings(x: Row, z: Row, k: int) -> fmpq:
    """Return Σ over strings u of k letters of the occurrences of u in x times those in z."""
    counts = []
    for row in (x, z):
        letters = [int(v.p) for v in row if v]
        counts.append(Counter(tuple(letters[i : i + k]) for i in range(len(letters) - k + 1)))
    return fmpq(sum(count * counts[1][u] for u, count in counts[0].items()))


def _float(number: float) -> fmpq:
    return fmpq(*float(number).as_integer_ratio())


def is_psd(K: list[Row]) -> bool:
    """Return whether a rational matrix is positive semidefinite, by elimination."""
    rows = [list(row) for row in K]
    while rows:
        first = rows.pop(0)
        pivot = first[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return False
        rows = [
            row[1:]
            if pivot == 0
            else [v - row[0] * u / pivot for u, v in zip(first[1:], row[1:], strict=True)]
            for row in rows
        ]
    return True
