"""Inner products of samples in tiles that stay in registers, and functions of them.

Columns are packed once, a panel of 32 (16 in float64) at a time with one feature after the other, and
rows 8 at a time. A tile's sums stay in registers until all features are done, and go through the
function while in the first-level cache: so a few rows take no longer each than many, as they do in a
product of matrices, and one compiled call computes a thread's part. Without AVX-512 a tile has half as
many rows and columns.
"""

from __future__ import annotations

import os
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from problems.dataset import Indices
from problems.gram.exponential import exponential

# Of 32 registers of 64 bytes, 16 hold sums; of 16 of 32 bytes, as any CPU named to Numba may have, 8.
_WIDE = "NUMBA_CPU_NAME" not in os.environ and llvm.get_host_cpu_features().get("avx512f", False)
_REGISTER, HEIGHT = (64, 8) if _WIDE else (32, 4)  # bytes; rows of a tile


@intrinsic
def _write_products(_: Any, _rows: Any, _columns: Any, _depth: Any, _tile: Any, number: Any) -> Any:
    """Write AᵀB to a tile, given the addresses of A (depth, HEIGHT), B (depth, width) and the tile.

    All of the type of `number`.
    """
    lanes, integer = 8 * _REGISTER // number.bitwidth, ir.IntType(64)

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        real = context.get_value_type(number)
        vector = ir.VectorType(real, lanes)
        zero, none = ir.Constant(vector, [0.0] * lanes), ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        kind = ir.FunctionType(vector, [vector] * 3)
        name = f"llvm.fmuladd.v{lanes}f{number.bitwidth}"
        multiply_add = cgutils.get_or_insert_function(builder.module, kind, name)
        rows = builder.inttoptr(values[0], real.as_pointer())
        columns, tile = (builder.inttoptr(values[k], vector.as_pointer()) for k in (1, 3))

        def load(start: Any, count: int, loop: Any) -> list[Any]:
            first = builder.mul(loop.index, integer(count))
            places = [builder.add(first, integer(k)) for k in range(count)]
            return [builder.load(builder.gep(start, [at]), align=4) for at in places]

        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2 * HEIGHT)]
        with cgutils.for_range(builder, values[2]) as loop:
            halves = load(columns, 2, loop)
            for r, entry in enumerate(load(rows, HEIGHT, loop)):
                one = builder.insert_element(none, entry, ir.IntType(32)(0))
                spread = builder.shuffle_vector(one, none, everywhere)
                for half, total in zip(halves, sums[2 * r :], strict=False):
                    term = spread, half, builder.load(total)
                    builder.store(builder.call(multiply_add, term), total)
        for k, total in enumerate(sums):
            builder.store(builder.load(total), builder.gep(tile, [integer(k)]), align=4)

    return types.void(*(types.intp,) * 4, number), generate


def width(dtype: np.dtype[Any]) -> int:
    """Return how many columns a panel has."""
    return 2 * _REGISTER // dtype.itemsize


def pack(X: NDArray[Any], some: Indices, width: int) -> NDArray[Any]:
    """Return X[some] in groups of `width`, shape (groups, d, width), with zeros at the end."""
    # NumPy's memory, not Numba's: much of it is in huge pages
    out = np.empty((-(-some.size // width), X.shape[1], width), X.dtype)
    out[-1:] = 0.0
    _pack(X, some, out)
    return out


@numba.njit(cache=True, nogil=True)
def _pack(X: NDArray[Any], some: Indices, out: NDArray[Any]) -> None:
    width = out.shape[2]
    for g in range(out.shape[0]):
        for s in range(min(width, some.size - g * width)):
            row = X[some[g * width + s]]
            for k in range(row.size):
                out[g, k, s] = row[k]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def fill(
    rows: NDArray[Any], panels: NDArray[Any], out: NDArray[Any], left: int,
    factor: Any, shift: Any, degree: int,
) -> None:  # fmt: skip
    """Write (factor·products + shift)^degree of packed rows and columns to `out`, from column `left` on.

    Where `degree` is 0, exp(factor·products), in float32.
    """
    groups, depth, height = rows.shape
    width = panels.shape[2]
    tile = np.empty((height, width), out.dtype)
    a, b = np.intp(rows.ctypes.data), np.intp(panels.ctypes.data)
    t = np.intp(tile.ctypes.data)
    size = tile.itemsize * depth
    step = 1 + depth // 128  # groups that a panel meets while cached, where it is long to read
    for begin in range(0, groups, step):
        for p in range(panels.shape[0]):
            column = left + p * width
            count = min(width, out.shape[1] - column)
            for g in range(begin, min(begin + step, groups)):
                _write_products(a + g * size * height, b + p * size * width, depth, t, factor)  # type: ignore[call-arg]
                for r in range(min(height, out.shape[0] - g * height)):
                    target = out[g * height + r, column : column + count]
                    if degree == 0:
                        for c in range(count):
                            target[c] = exponential(factor * tile[r, c])
                    else:
                        for c in range(count):
                            target[c] = factor * tile[r, c] + shift
                        for _ in range(1, degree):
                            for c in range(count):
                                target[c] *= factor * tile[r, c] + shift
