"""Functions of one kernel: exp(k1), and q(k1) for a polynomial q with nonnegative coefficients.

Gram matrices are transformed entry by entry. Sums and entrywise products of positive semidefinite
matrices are positive semidefinite, hence also powers, polynomials, and their limit, the exponential
(Shawe-Taylor & Cristianini 2004, proposition 3.24).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dualgap.problems.arithmetic.intervals import ELEMENTARY, UNIT, gamma
from dualgap.problems.dataset import Matrix
from dualgap.problems.kernels.base import Composite, Kernel, degree_sums
from dualgap.problems.validation import check_positive, short_repr


@dataclass(frozen=True)
class Exponential(Composite):
    """k(x, z) = exp(k1(x, z)); for k1 = 2·gamma·xᵀz, normalised to k(x, x) = 1, it is the RBF kernel."""

    kernel: Kernel

    def join(self, *values: Any) -> Any:
        """Return exp of the values."""
        return np.exp(values[0])

    def operations(self, X: Matrix) -> float:
        """Return the number for errors γₘs² of exponents up to s², and for exp itself."""
        inner, largest = super().operations(X), float(self.kernel.norms(X).max(initial=0.0)) ** 2
        return float(np.expm1(gamma(inner))) / UNIT * largest + ELEMENTARY


@dataclass(frozen=True)
class PolynomialOf(Composite):
    """k(x, z) = Σᵢ coefficients[i]·k1(x, z)ⁱ, from i = 0, with nonnegative coefficients."""

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            chosen = tuple(self.coefficients)
        except TypeError:
            raise ValueError(
                f"coefficients: must be a list of numbers, got {short_repr(self.coefficients)}"
            ) from None
        checked = tuple(check_positive(c, "coefficients", zero=True) for c in chosen)
        if not any(checked):
            raise ValueError(
                f"coefficients: one must be positive, got {short_repr(self.coefficients)}"
            )
        object.__setattr__(self, "coefficients", checked)

    def join(self, *values: Any) -> Any:
        """Return Σᵢ coefficients[i]·k1ⁱ."""
        return np.polynomial.polynomial.polyval(values[0], np.array(self.coefficients))

    def operations(self, X: Matrix) -> float:
        """Return the number for the highest power, and for Horner's scheme."""
        return (len(self.coefficients) - 1) * (super().operations(X) + 2)

    @property
    def monomials(self) -> frozenset[int] | None:
        """The degrees of all powers."""
        inner = self.kernel.monomials
        if inner is None:
            return None
        power, degrees = frozenset({0}), frozenset[int]()
        for coefficient in self.coefficients:
            degrees |= power if coefficient else frozenset()
            power = degree_sums(power, inner)
        return degrees


def kernels_in(kernel: Kernel) -> Iterator[Kernel]:
    """Yield a kernel and, recursively, the kernels among its fields."""
    yield kernel
    for field in fields(kernel):
        inner = getattr(kernel, field.name)
        if isinstance(inner, Kernel):
            yield from kernels_in(inner)
