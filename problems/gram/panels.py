"""Inner products of samples in register tiles, and kernel functions of them.

Columns are packed once, in panels of 32 (16 in float64) stored feature by feature, and rows in groups of
8. A tile's sums stay in registers until all features are added, and the kernel's function is applied
while they are in the L1 cache. So the time per row does not grow when there are few rows, unlike in a
BLAS product, and one compiled call computes a thread's share. Without AVX-512 a tile has half as many
rows and columns.
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
from dualgap.problems.gram.tuning import TUNING

# Sums take 16 of 32 registers of 64 bytes, or 8 of 16 of 32 bytes, which every CPU named to Numba has.
_LANES = 8  # float32 values per register
if "NUMBA_CPU_NAME" not in os.environ and llvm.get_host_cpu_features().get("avx512f", False):
    _LANES = 16
HEIGHT = _LANES // 2  # rows of a tile
WIDTH = 2 * _LANES  # columns of a tile


@intrinsic
def _write_products(_: Any, rows: Any, group: Any, panels: Any, panel: Any, tile: Any) -> Any:
    """Write AᵀB to a tile (HEIGHT, WIDTH), with A = rows[group], B = panels[panel], in float32."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        integer, real = ir.IntType(64), ir.FloatType()
        vector, lane_indices = ir.VectorType(real, _LANES), ir.VectorType(ir.IntType(32), _LANES)
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

        row_data = start(a, values[1], HEIGHT)
        columns = builder.bitcast(start(b, values[3], WIDTH), vector.as_pointer())
        target = builder.bitcast(c.data, vector.as_pointer())

        def load(start: Any, count: int, loop: Any) -> list[Any]:
            first = builder.mul(loop.index, integer(count))
            positions = [builder.add(first, integer(k)) for k in range(count)]
            return [builder.load(builder.gep(start, [at]), align=4) for at in positions]

        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2 * HEIGHT)]
        with cgutils.for_range(builder, depth) as loop:
            halves = load(columns, 2, loop)
            for r, entry in enumerate(load(row_data, HEIGHT, loop)):
                one = builder.insert_element(none, entry, ir.IntType(32)(0))
                broadcast = builder.shuffle_vector(
                    one, none, ir.Constant(lane_indices, [0] * _LANES)
                )
                for half, total in zip(halves, sums[2 * r :], strict=False):
                    term = broadcast, half, builder.load(total)
                    builder.store(builder.call(multiply_add, term), total)
        for k, total in enumerate(sums):
            builder.store(builder.load(total), builder.gep(target, [integer(k)]), align=4)
        return context.get_dummy_value()

    return types.none(rows, group, panels, panel, tile), generate


def pack(X: NDArray[Any], indices: Indices, width: int) -> NDArray[Any]:
    """Return X[indices] in groups of `width`, shape (groups, d, width), padded with zeros."""
    count, remainder = divmod(indices.size, width)
    groups = np.zeros((count + (remainder > 0), X.shape[1], width), X.dtype)
    step = max(1, TUNING.copied_bytes // max(1, X.itemsize * width * X.shape[1]))
    for start in range(0, count, step):
        part = groups[start : min(start + step, count)]
        rows = X[indices[start * width :][: len(part) * width]]
        part[:] = rows.reshape(-1, width, X.shape[1]).transpose(0, 2, 1)
    if remainder:
        groups[count, :, :remainder] = X[indices[count * width :]].T
    return groups


@numba.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def fill(
    rows: NDArray[Any], panels: NDArray[Any], tile: NDArray[Any], out: NDArray[Any], offset: int,
    factor: Any, shift: Any, degree: int, ends: NDArray[Any],
) -> None:  # fmt: skip
    """Write (factor·products + shift)^degree of packed rows and columns to `out[:, offset:]`.

    If `degree` is 0, write exp(factor·products). All in float32; `tile` (HEIGHT, WIDTH) is overwritten.
    Of row r only the columns before ends[r] are needed, which increase; other panels are left.
    """
    step = 1 + rows.shape[1] // 128  # groups per pass over a panel: long panels are costly to read
    for first_group in range(0, rows.shape[0], step):
        for p in range(panels.shape[0]):
            column = offset + p * WIDTH
            for g in range(first_group, first_group + step):
                if g == rows.shape[0]:
                    break
                if column >= ends[min((g + 1) * HEIGHT, out.shape[0]) - 1]:
                    continue
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


@numba.njit(cache=True, nogil=True)
def mirror(K: NDArray[Any], at: Indices, missing: NDArray[Any], first: int, last: int) -> None:
    """Complete rows of a symmetric matrix right of its diagonal, in the columns `first` to `last`.

    Row i is K[at[i]], and K[at[i], j] becomes K[at[j], i] for all i < j of which `missing` is true. 16
    columns are written at a time.
    """
    size, values = 16, K.reshape(-1)
    starts = at * K.shape[1]
    for column in range(first, last, size):
        end = min(column + size, last)
        square, sources = column if end == column + size else 0, starts[column:end]
        for i in range(square):
            if missing[i]:
                target = starts[i] + column
                for j in range(size):  # a constant number, which needs no loop
                    values[target + j] = values[sources[j] + i]
        for i in range(square, end):
            if missing[i]:
                for j in range(max(column, i + 1), end):
                    K[at[i], j] = K[at[j], i]
