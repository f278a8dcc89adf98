"""Share the cores between BLAS and our own threads.

BLAS threads spin for a while after each product and slow down everything else: on two cores by a factor
of two to three. Solvers that distribute tiles over their own threads, or whose products are small, limit
BLAS to one thread, and give it all of them for a large factorisation.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Job = Callable[[int, int], None]

READ_COST = 16  # multiplications that take as long as reading a float32 value from memory

_lock = Lock()
_limits: dict[object, int] = {}  # the open contexts that limit BLAS, in order of opening
_original: list[Any] = []  # the limits before the first of them


@cache
def _linear_algebra() -> Any:
    """Return the BLAS libraries; finding them takes 3 ms, so it is done once."""
    import_module("scipy.linalg")  # loads a separate BLAS library, which must be found too
    return ThreadpoolController().select(user_api="blas")


class Threads:
    """The number of BLAS threads, and contexts that limit it.

    Attributes
    ----------
    count : BLAS threads when this object was created.
    """

    def __init__(self) -> None:
        self._libraries = _linear_algebra()
        self.count = max((int(pool["num_threads"]) for pool in self._libraries.info()), default=1)

    @contextmanager
    def limited(self, count: int) -> Generator[None]:
        """Limit BLAS to `count` threads, in the whole process.

        When contexts of several threads overlap, the latest open one applies; after the last one the
        original limits are restored.
        """
        token = object()
        with _lock:
            limit = self._libraries.limit(limits=count)
            _limits[token] = count
            if len(_limits) == 1:
                _original[:] = [limit]
        try:
            yield
        finally:
            with _lock:
                del _limits[token]
                if _limits:
                    self._libraries.limit(limits=next(reversed(_limits.values())))
                else:
                    _original.pop().restore_original_limits()

    def with_one_blas_thread(self, work: Iterator[Item]) -> Iterator[Item]:
        """Yield the items of `work`, with BLAS limited to one thread while each is computed."""
        while True:
            with self.limited(1):
                item = next(work, None)
            if item is None:
                return
            yield item


class Pool:
    """Threads that divide a job, a range of indices, between them."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if "_threads" in vars(self):
            self._threads.shutdown()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.count)

    def run(self, job: Job, count: int, work: int) -> None:
        """Run job(first, last) over parts of range(count), on as many threads as `work` justifies.

        `work` is the number of multiplications. A thread needs 0.3 ms of them: starting one takes
        0.1 ms, waking one half of that, or a few milliseconds on a busy machine.
        """
        if count == 0:
            return
        parts = min(self.count, count, max(1, work // 2**23))
        size = -(-count // parts)
        starts = range(size, count, size)
        waiting = [self._threads.submit(job, start, min(start + size, count)) for start in starts]
        job(0, min(size, count))
        for part in waiting:
            part.result()


def run_in_threads(job: Callable[[int], None], starts: range, values: int) -> None:
    """Run job(start) for each start, in as many threads as BLAS has, which itself has one meanwhile.

    On chunks that stay in the cache BLAS's own threads mostly wait for each other, which takes up to ten
    times the CPU time of the `values` of K.
    """
    threads = Threads()
    with threads.limited(1):
        if values < 2**20:  # about two milliseconds
            for start in starts:
                job(start)
        else:
            with ThreadPoolExecutor(threads.count) as pool:
                list(pool.map(job, starts))
