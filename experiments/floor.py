"""The dense reference of benchmarks: the time to evaluate a kernel machine at its own samples.

The values of f at all n samples, over nSV support vectors, take

    E = n·nSV − nSV²/2

kernel values (K is symmetric), each computed once: a float32 matrix product of 2·d·E multiplications and
additions, and E exponentials. This is not a lower bound: equal samples share their values, and products
of sparse samples take fewer operations. `KernelFloor` measures the time per value on this machine, in
the same run as the solvers that are compared with it:

    solvers:
      - {name: "../floor.py:KernelFloor"}      # relative to experiments/configs

It returns no answer. Its row has the number of values, `n_kernel_evals`, and their time, `time_solve`.
Its name is hashed into run ids, so it stays.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.kernels import as_dense
from dualgap.problems.validation import check_positive
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import RBF_KERNEL

_TILE_SHAPE = TUNING.tile_rows, TUNING.tile_columns
_POOL_SAMPLES = 8 * TUNING.tile_columns  # whose rows stay in the cache as well
_MAX_PRODUCT = 10.0  # of two scaled samples: exponentials are neither 0 nor infinite

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Buffers:
    """Preallocated arrays: samples (m, d), and one output tile per thread."""

    samples: Single
    outputs: tuple[Single, ...]


@dataclass(frozen=True)
class KernelFloor(Solver):
    """Times dense kernel values in float32; not a solver, it claims nothing.

    Every thread has a tile that stays in its cache: a product by single-threaded BLAS, then exponentials
    in place. Converting the samples to float32 is not timed.

    Attributes
    ----------
    values : minimum number of kernel values to compute.
    """

    values: float = 5e7

    form: ClassVar = BoxQP
    needs: ClassVar = (RBF_KERNEL,)  # the values timed are exponentials of products
    source: ClassVar[str] = "BLAS's sgemm and NumPy's exp"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.values, "values")

    def prepare(self, form: BoxQP) -> Buffers:
        """Return the samples in float32, and tiles whose memory is mapped."""
        samples = as_dense(form.gram.X[:_POOL_SAMPLES]).astype(np.float32)
        largest = float(np.square(samples).sum(axis=1).max())
        samples *= np.sqrt(_MAX_PRODUCT / largest) if largest > 0 else 1.0
        outputs = tuple(np.ones(_TILE_SHAPE, np.float32) for _ in range(Threads().count))
        # repeats the samples if there are few
        tiles = Buffers(np.resize(samples, (_POOL_SAMPLES, samples.shape[1])), outputs)
        for _ in self._measure(tiles, rounds=1):
            pass
        return tiles

    def iterates(self, state: Buffers) -> Iterator[FormPoint]:
        """Yield once, without a point."""
        tile = prod(_TILE_SHAPE)
        yield from self._measure(state, -(-int(self.values) // (tile * len(state.outputs))))

    def _measure(self, tiles: Buffers, rounds: int) -> Iterator[FormPoint]:
        with Threads().limited(1), ThreadPoolExecutor(len(tiles.outputs)) as threads:
            tasks = [threads.submit(_fill, tiles.samples, out, rounds) for out in tiles.outputs]
            for task in tasks:
                task.result()
        count = rounds * prod(_TILE_SHAPE) * len(tiles.outputs)
        yield FormPoint(None, iterations=rounds, counters={"kernel_evaluations": count})


def _fill(samples: Single, out: Single, rounds: int) -> None:
    """Compute `rounds` tiles, each of different samples than the previous one."""
    rows, columns = out.shape
    for k in range(rounds):
        i, j = k * rows % (samples.shape[0] - rows + 1), k * columns % _POOL_SAMPLES
        np.matmul(samples[i : i + rows], samples[j : j + columns].T, out=out)
        np.exp(out, out=out)
