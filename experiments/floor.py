"""A reference cost: the time of one dense evaluation of a kernel machine at its samples.

The values of f at all n samples, over nSV support vectors, take

    E = n·nSV − nSV²/2

kernel values (K is symmetric), each computed once: a float32 matrix product of 2·d·E multiplications and
additions, and E exponentials. It is no lower bound: equal samples share their values, and products of
sparse samples take fewer operations. `KernelFloor` measures the time of one such value on this machine,
in the same run as the solvers that are compared with it:

    solvers:
      - {name: "../floor.py:KernelFloor"}      # beside experiments/configs

It gives no answer. Its row has the number of values as `n_kernel_evals` and their time as `time_solve`.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.kernels import RBF, as_dense
from dualgap.problems.validation import check_positive
from dualgap.solvers.base import Solver

# Of float32, 512 KiB: of six shapes the fastest, or within 1 %, at d = 20 to 300.
_TILE = (256, 512)
_POOL = 8 * _TILE[1]  # samples that are multiplied: their rows, too, stay in the cache
# Of two samples as they are scaled here: exponentials are neither 0 nor infinite.
_LARGEST_PRODUCT = 10.0

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Buffers:
    """What is allocated beforehand: samples (m, d), and an output tile for each thread."""

    samples: Single
    outputs: tuple[Single, ...]


@dataclass(frozen=True)
class KernelFloor(Solver):
    """Times dense kernel values in float32: no solver, it claims nothing.

    Every thread has a tile of its own that stays in its cache: a product of single-threaded BLAS, then
    exponentials in place. Converting the samples to float32 is not timed.

    Attributes
    ----------
    values : how many kernel values are computed, at least.
    """

    values: float = 5e7

    form: ClassVar = BoxQP
    source: ClassVar[str] = "BLAS's sgemm and NumPy's exp"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.values, "values")

    def refuses(self, form: BoxQP) -> str | None:
        """Its values are a product and an exponential, as the RBF kernel's are."""
        if not isinstance(form.gram.kernel, RBF):
            return "only the RBF kernel is supported: the values timed are exponentials of products"
        return None

    def prepare(self, form: BoxQP) -> Buffers:
        """Return the samples in float32, and tiles that have been written to once."""
        samples = as_dense(form.gram.X[:_POOL]).astype(np.float32)
        largest = float(np.square(samples).sum(axis=1).max())
        samples *= np.sqrt(_LARGEST_PRODUCT / largest) if largest > 0 else 1.0
        outputs = tuple(np.ones(_TILE, np.float32) for _ in range(Threads().count))
        tiles = Buffers(np.resize(samples, (_POOL, samples.shape[1])), outputs)  # repeats few
        for _ in self._measure(tiles, rounds=1):
            pass
        return tiles

    def iterates(self, state: Buffers) -> Iterator[FormPoint]:
        """Yield once, without a point."""
        tile = _TILE[0] * _TILE[1]
        yield from self._measure(state, -(-int(self.values) // (tile * len(state.outputs))))

    def _measure(self, tiles: Buffers, rounds: int) -> Iterator[FormPoint]:
        with Threads().limited(1), ThreadPoolExecutor(len(tiles.outputs)) as threads:
            work = [threads.submit(_fill, tiles.samples, out, rounds) for out in tiles.outputs]
            for done in work:
                done.result()
        count = rounds * _TILE[0] * _TILE[1] * len(tiles.outputs)
        yield FormPoint(None, iterations=rounds, counters={"kernel_evaluations": count})


def _fill(samples: Single, out: Single, rounds: int) -> None:
    """Compute `rounds` tiles, each over other samples than the last."""
    rows, columns = out.shape
    for k in range(rounds):
        i, j = k * rows % (samples.shape[0] - rows + 1), k * columns % _POOL
        np.matmul(samples[i : i + rows], samples[j : j + columns].T, out=out)
        np.exp(out, out=out)
