"""Statements about matrices of float64 in rational arithmetic."""

from __future__ import annotations

from numpy.typing import NDArray


def is_semidefinite(A: NDArray) -> bool:
    """Whether A + Aᵀ has no eigenvalue below 0: its characteristic polynomial alternates in sign."""
    from flint import fmpq, fmpq_mat  # noqa: PLC0415 - needed for proofs alone

    entries = fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in A.tolist()])
    coefficients = (entries + entries.transpose()).charpoly().coeffs()
    return all(c * (-1) ** k >= 0 for k, c in enumerate(reversed(coefficients)))
