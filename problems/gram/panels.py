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

from dualgap.problems.dataset import Indices
from dualgap.problems.gram.exponential import exponential

# Of 32 registers of 64 bytes, 16 hold sums; of 16 of 32 bytes, as any CPU named to Numba may have, 8.
_WIDE = "NUMBA_CPU_NAME" not in os.environ and llvm.get_host_cpu_features().get("avx512f", False)
_LANES, HEIGHT = (16, 8) if _WIDE else (8, 4)  # float32 in a register; rows of a tile
WIDTH = 2 * _LANES  # columns of a tile


@intrinsic
def _write_products(_: Any, rows: Any, group: Any, panels: Any, panel: Any, tile: Any) -> Any:
    """Write AᵀB to a tile (HEIGHT, WIDTH), with A = rows[group], B = panels[panel], in float32."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        integer, real = ir.IntType(64), ir.FloatType()
        vector, places = ir.VectorType(real, _LANES), ir.VectorType(ir.IntType(32), _LANES)
        zero, none = ir.Constant(vector, [0.0] * _LANES), ir.Constant(vector, ir.Undefined)
        kind = ir.FunctionType(vector, [vector] * 3)
        name = f"llvm.fmuladd.v{_LANES}f32"
        multiply_add = cgutils.get_or_insert_function(builder.module, kind, name)
        a, b, c = (
            context.make_array(signature.args[k])(context, builder, values[k]) for k in (0, 2, 4)
        )
        depth = cgutils.unpack_tuple(builder, a.shape)[1]

        def start(array: Any, index: Any, width: int) -> Any:
            size = builder.mul(depth, integer(width))
            return builder.gep(array.data, [builder.mul(index, size)])

        lines = start(a, values[1], HEIGHT)
        columns = builder.bitcast(start(b, values[3], WIDTH), vector.as_pointer())
        target = builder.bitcast(c.data, vector.as_pointer())

        def load(start: Any, count: int, loop: Any) -> list[Any]:
            first = builder.mul(loop.index, integer(count))
            places = [builder.add(first, integer(k)) for k in range(count)]
            return [builder.load(builder.gep(start, [at]), align=4) for at in places]

        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2 * HEIGHT)]
        with cgutils.for_range(builder, depth) as loop:
            halves = load(columns, 2, loop)
            for r, entry in enumerate(load(lines, HEIGHT, loop)):
                one = builder.insert_element(none, entry, ir.IntType(32)(0))
                spread = builder.shuffle_vector(one, none, ir.Constant(places, [0] * _LANES))
                for half, total in zip(halves, sums[2 * r :], strict=False):
                    term = spread, half, builder.load(total)
                    builder.store(builder.call(multiply_add, term), total)
        for k, total in enumerate(sums):
            builder.store(builder.load(total), builder.gep(target, [integer(k)]), align=4)
        return context.get_dummy_value()

    return types.none(rows, group, panels, panel, tile), generate


def pack(X: NDArray[Any], some: Indices, width: int) -> NDArray[Any]:
    """Return X[some] in groups of `width`, shape (groups, d, width), with zeros at the end."""
    rows = np.empty((some.size + -some.size % width, X.shape[1]), X.dtype)
    np.take(X, some, axis=0, out=rows[: some.size], mode="clip")
    rows[some.size :] = 0.0
    return np.ascontiguousarray(rows.reshape(-1, width, X.shape[1]).transpose(0, 2, 1))


@numba.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def fill(
    rows: NDArray[Any], panels: NDArray[Any], tile: NDArray[Any], out: NDArray[Any], left: int,
    factor: Any, shift: Any, degree: int,
) -> None:  # fmt: skip
    """Write (factor·products + shift)^degree of packed rows and columns to `out`, from column `left` on.

    Where `degree` is 0, exp(factor·products). All in float32; `tile` (HEIGHT, WIDTH) is overwritten.
    """
    step = (
        1 + rows.shape[1] // 128
    )  # groups that a panel meets while cached, where it is long to read
    for begin in range(0, rows.shape[0], step):
        for p in range(panels.shape[0]):
            column = left + p * WIDTH
            for g in range(begin, begin + step):
                if g == rows.shape[0]:
                    break
                _write_products(rows, g, panels, p, tile)  # type: ignore[call-arg]
                for r in range(HEIGHT):
                    if g * HEIGHT + r == out.shape[0]:
                        break
                    target, sums = out[g * HEIGHT + r, column : column + WIDTH], tile[r]
                    if degree == 0:
                        for c in range(target.size):
                            target[c] = exponential(factor * sums[c])
                    else:
                        for c in range(target.size):
                            target[c] = factor * sums[c] + shift
                        for _ in range(1, degree):
                            for c in range(target.size):
                                target[c] *= factor * sums[c] + shift
