"""Proofs about float64 matrices in rational arithmetic."""

from __future__ import annotations

from numpy.typing import NDArray

MAX_EXACT_ROWS = 100  # of a matrix whose characteristic polynomial takes about a second


def is_semidefinite(A: NDArray) -> bool:
    """Whether A + Aᵀ ⪰ 0: the coefficients of its characteristic polynomial alternate in sign."""
    from flint import fmpq, fmpq_mat  # noqa: PLC0415 - only needed for proofs

    entries = fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in A.tolist()])
    coefficients = (entries + entries.transpose()).charpoly().coeffs()
    return all(c * (-1) ** k >= 0 for k, c in enumerate(reversed(coefficients)))
