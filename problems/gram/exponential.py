"""exp of a tile: half the time of an RBF kernel when d is small.

    eˣ = 2ᵏ·eʳ with k = round(x/ln 2), r = x − k·ln 2, and a polynomial for eʳ (Cody & Waite 1980)

In float32 and without branches, so that compiled loops are vectorised: 0.3 ns per value, against 0.5 for
a multiplication, a clipping and NumPy's exp (on one core of our machine); the relative error is at most
1.2e-7. NumPy's exp suffices where its arguments take longer: for sparse samples, or in float64.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


# no reassociation: r would lose its digits
@numba.njit(inline="always", fastmath={"contract", "nsz"})
def exponential(x: Any) -> Any:
    """Return eˣ in float32."""
    smallest = np.float32(-80.0)  # below, results are subnormal: a hundred times slower
    x = x if x > smallest else smallest
    k = np.floor(x * np.float32(1.442695041) + np.float32(0.5))
    r = (x - k * np.float32(0.693359375)) - k * np.float32(-2.12194440e-4)  # ln 2 in two parts
    p = np.float32(1.9875691500e-4) * r + np.float32(1.3981999507e-3)
    p = (p * r + np.float32(8.3334519073e-3)) * r + np.float32(4.1665795894e-2)
    p = (p * r + np.float32(1.6666665459e-1)) * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    return p * _from_bits((np.int32(k) + np.int32(127)) << np.int32(23))


def _reinterpret(_: Any, __: Any) -> Any:
    """Reinterpret an int32 as a float32: a power of two if it is a shifted exponent."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


_from_bits: Any = intrinsic(_reinterpret)
