"""Kernels that are a function of one kernel: exp(k1), and q(k1) with coefficients of 0 or above.

Gram matrices are transformed entry by entry. That sums and products of positive semidefinite matrices
are so again gives powers, polynomials, and as their limit the exponential (Shawe-Taylor & Cristianini
2004, proposition 3.24).
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

import numpy as np

from dualgap.problems.arithmetic.rounding import ELEMENTARY, gamma
from dualgap.problems.dataset import Vector
from dualgap.problems.kernels.base import Bound, Composite, Kernel, added
from dualgap.problems.kernels.standard import Precomputed
from dualgap.problems.validation import check_positive, shown


@dataclass(frozen=True)
class Exponential(Composite):
    """k(x, z) = exp(k1(x, z)); of 2·gamma·xᵀz, divided by its values at (x, x) and (z, z), the RBF."""

    kernel: Kernel

    def join(self, *values: Any) -> Any:
        """Return exp of the values."""
        return np.exp(values[0])

    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """The largest error of the exponent, and that of exp."""
        radius = parts[0].absolute_radius()
        return float(np.expm1(1.01 * radius.max() ** 2)) + gamma(ELEMENTARY), 0.0 * radius


@dataclass(frozen=True)
class PolynomialOf(Composite):
    """k(x, z) = Σᵢ coefficients[i]·k1(x, z)ⁱ, from i = 0, with no coefficient below 0."""

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            chosen = tuple(self.coefficients)
        except TypeError:
            raise ValueError(
                f"coefficients: must be a list of numbers, got {shown(self.coefficients)}"
            ) from None
        checked = tuple(check_positive(c, "coefficients", zero=True) for c in chosen)
        if not any(checked):
            raise ValueError(f"coefficients: needs one above 0, got {shown(self.coefficients)}")
        object.__setattr__(self, "coefficients", checked)

    def join(self, *values: Any) -> Any:
        """Return Σᵢ coefficients[i]·k1ⁱ."""
        return np.polynomial.polynomial.polyval(values[0], np.array(self.coefficients))

    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """Of tⁱ at the largest t at most i·tⁱ⁻¹ times what the kernel inside is wrong by."""
        radius = parts[0].absolute_radius()
        wrong = float(radius.max()) ** 2
        size = 1.01 * float(parts[0].sizes.max()) ** 2 + wrong
        powers = np.arange(len(self.coefficients))
        errors = powers * wrong * size ** np.maximum(powers - 1, 0)
        rounded = gamma(2 * powers.size) * size**powers
        uniform = float((errors + rounded) @ np.array(self.coefficients))
        return 0.0, np.full(radius.size, np.sqrt(1.01 * uniform))

    @property
    def monomials(self) -> frozenset[int] | None:
        """All degrees that the powers have."""
        inside = self.kernel.monomials
        if inside is None:
            return None
        power, found = frozenset({0}), frozenset[int]()
        for coefficient in self.coefficients:
            found |= power if coefficient else frozenset()
            power = added(power, inside)
        return found


def kernels_in(kernel: Any) -> Iterator[Kernel]:
    """Yield a kernel and all kernels that it is made of.

    Raises
    ------
    TypeError
        If its class is not a dataclass, of which the fields are not known.
    """
    if not is_dataclass(kernel):
        name = type(kernel).__name__
        raise TypeError(
            f"kernel: the class {name} is not a dataclass; write @dataclass(frozen=True) above "
            f"`class {name}`, and its settings as fields in place of __init__"
        )
    yield cast(Kernel, kernel)
    for field in fields(kernel):
        inside = getattr(kernel, field.name)
        if isinstance(inside, Kernel):
            yield from kernels_in(inside)


def uses_gram_matrix(kernel: Kernel) -> bool:
    """Return whether the columns of `X` are samples too: of a matrix of kernel values."""
    return any(isinstance(part, Precomputed) for part in kernels_in(kernel))
