"""One pool of threads at a time.

Linear algebra's own threads spin for a while after each product, and slow down whatever else runs: on
two cores by a factor of two to three. Solvers that spread tiles over threads of their own, or whose
products are small, run it on one thread, and give it all of them for a large factorisation.
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

T = TypeVar("T")
Job = Callable[[int, int], None]

# Multiplications that are worth a thread, 0.3 ms: starting it takes 0.1 ms, waking it half of that, on a
# busy machine some milliseconds. A float32 value read from memory takes as long as sixteen.
_LEAST_WORK, READING = 2**23, 16


# The contexts that limit linear algebra, each with its count, and what was before the first of them
_LOCK, _OPEN, _BEFORE = Lock(), dict[object, int](), list[Any]()


@cache
def _linear_algebra() -> Any:
    """Return the linear algebra libraries; finding them takes 3 ms, so it is done once."""
    import_module("scipy.linalg")  # brings a library of its own, which has to be found too
    return ThreadpoolController().select(user_api="blas")


class Threads:
    """How many threads there are, and who has them.

    Attributes
    ----------
    count : threads that linear algebra was set to when this was made.
    """

    def __init__(self) -> None:
        self._libraries = _linear_algebra()
        self.count = max((int(pool["num_threads"]) for pool in self._libraries.info()), default=1)

    @contextmanager
    def limited(self, count: int) -> Generator[None]:
        """Give linear algebra `count` threads, of the whole process.

        Where contexts of several threads overlap, the last that is open counts, and after all of them
        there is again what was before the first.
        """
        own = object()
        with _LOCK:
            limit = self._libraries.limit(limits=count)
            _OPEN[own] = count
            if len(_OPEN) == 1:
                _BEFORE[:] = [limit]
        try:
            yield
        finally:
            with _LOCK:
                del _OPEN[own]
                if _OPEN:
                    self._libraries.limit(limits=next(reversed(_OPEN.values())))
                else:
                    _BEFORE.pop().restore_original_limits()

    def one_at_a_time(self, work: Iterator[T]) -> Iterator[T]:
        """Yield what `work` does, with linear algebra on one thread while it is at work."""
        while True:
            with self.limited(1):
                item = next(work, None)
            if item is None:
                return
            yield item


class Pool:
    """Threads that share a job, each of them a part of a range."""

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
        """Run job(first, last) over parts of range(count), on as many threads as its `work` is worth.

        It is given in multiplications.
        """
        if count == 0:
            return
        parts = min(self.count, count, max(1, work // _LEAST_WORK))
        size = -(-count // parts)
        others = range(size, count, size)
        waiting = [self._threads.submit(job, at, min(at + size, count)) for at in others]
        job(0, min(size, count))
        for part in waiting:
            part.result()
