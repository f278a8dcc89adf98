"""Engines that run a function on all blocks: in this process, or in Dask workers.

An engine maps a function of (risk, block, threads, *arguments) over all blocks. It returns the results
in the order of the blocks, so that both engines agree to the last bit. A Dask task is a pure function:
if its worker is killed, it runs again elsewhere.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from dualgap.problems.risk.risk import Risk, blocks_of
from dualgap.solvers.base import import_optional
from dualgap.solvers.numerics.timing import peak_memory

_log = logging.getLogger("dualgap")
BlockFunction = Callable[..., Any]
_LOST_AFTER_S = 20.0  # without a scheduler or any worker, before giving up


class EngineError(Exception):
    """The cluster cannot run the tasks; the message says why."""


class Engine(ABC):
    """Runs functions on every block, and counts the resources used.

    Attributes
    ----------
    rounds, bytes_moved, cpu_seconds, worker_memory : totals so far; bytes are those of arguments and
        results sent between processes, memory is the peak resident size, summed over processes.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rounds, self.bytes_moved, self.cpu_seconds = 0, 0, 0.0
        self._memory = dict[str, int]()

    @property
    def worker_memory(self) -> int:
        """The peak resident size in bytes, summed over the processes used."""
        return sum(self._memory.values())

    def map(self, function: BlockFunction, *arguments: Any) -> list[Any]:
        """Return the results of a function for all blocks."""
        self.rounds += 1
        return self._map_blocks(function, arguments)

    @abstractmethod
    def _map_blocks(self, function: BlockFunction, arguments: tuple[Any, ...]) -> list[Any]: ...

    def _record_usage(self, process: str, cpu_seconds: float, memory: int) -> None:
        self.cpu_seconds += cpu_seconds
        self._memory[process] = max(memory, self._memory.get(process, 0))


class LocalEngine(Engine):
    """All blocks in this process, one after another, the parts of each on all threads."""

    def __init__(self, risk: Risk, threads: int) -> None:
        super().__init__(risk)
        self._threads = threads

    def _map_blocks(self, function: BlockFunction, arguments: tuple[Any, ...]) -> list[Any]:
        started_at = time.process_time()
        blocks = range(blocks_of(self.risk).count)
        results = [function(self.risk, k, self._threads, *arguments) for k in blocks]
        self._record_usage("", time.process_time() - started_at, peak_memory())
        return results


class DaskEngine(Engine):
    """Blocks as Dask tasks, for any worker.

    Tasks are not bound to workers, not even loosely: such a task would never run once all workers were
    lost at the same time, even if others came since.
    """

    def __init__(self, risk: Risk, client: Any) -> None:
        super().__init__(risk)
        self._client, self._size = client, len(pickle.dumps(risk))
        largest = max(blocks_of(risk).nbytes)
        limits = {w["memory_limit"] for w in self._workers().values() if w["memory_limit"]}
        if limits and min(limits) < 2 * largest:  # a block, and results for its parts
            raise EngineError(
                f"a Dask worker may use {min(limits) / 2**20:.0f} MiB, and the largest block has "
                f"{largest / 2**20:.0f} MiB, but a worker needs twice as much: "
                "give workers more memory, or blocks fewer rows"
            )

    def _workers(self) -> dict[str, Any]:
        # every two seconds the client replaces its `scheduler_info` by one without workers
        scheduler_info = self._client.sync(self._client.scheduler.identity, n_workers=-1)
        return dict(scheduler_info["workers"])

    def _map_blocks(self, function: BlockFunction, arguments: tuple[Any, ...]) -> list[Any]:
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415 - optional

        try:
            return self._submit_and_gather(function, arguments)
        except KilledWorker as killed:
            block = blocks_of(self.risk).names[int(str(killed.task).split("-")[2])]
            raise EngineError(
                f"{block}: more than {killed.allowed_failures} workers died one after another while "
                "processing it or a block next to it: give workers more memory, or blocks fewer rows"
            ) from None
        except (CancelledError, OSError) as error:
            raise EngineError(
                f"the Dask scheduler is lost in round {self.rounds} ({type(error).__name__})"
            ) from None

    def _submit_and_gather(self, function: BlockFunction, arguments: tuple[Any, ...]) -> list[Any]:
        from distributed import wait  # noqa: PLC0415 - optional

        workers_before, futures, blocks = self._workers(), list[Any](), blocks_of(self.risk).count
        for k in range(blocks):
            name = f"{function.__name__}-{self.rounds}-{k}-{time.monotonic_ns()}"
            task = _run_task, function, self.risk, k, arguments
            futures.append(self._client.submit(*task, key=name, pure=False))
        self.bytes_moved += blocks * (self._size + len(pickle.dumps(arguments)))
        times_without = 0
        while True:
            with suppress(TimeoutError), self._client.as_current():
                wait(futures, timeout=_LOST_AFTER_S)
                break
            times_without = 0 if self._workers() else times_without + 1
            if times_without > 1:  # once may happen while workers are being replaced
                raise EngineError(f"the Dask cluster has lost all workers in round {self.rounds}")
        results = list[Any]()
        for answer, process, cpu_seconds, memory in self._client.gather(futures):
            self._record_usage(process, cpu_seconds, memory)
            self.bytes_moved += len(answer)
            results.append(pickle.loads(answer))
        lost = set(workers_before).difference(self._workers())
        if lost:
            _log.warning("round %d: workers lost: %d; others answered", self.rounds, len(lost))
        return results


@contextmanager
def open_engine(
    name: str, risk: Risk, threads: int, address: str | None, workers: int, memory_limit: str | None
) -> Generator[Engine, None, None]:
    """Yield an engine by its name; a cluster started for it is closed afterwards."""
    if name == "here":
        yield LocalEngine(risk, threads)
        return
    distributed = import_optional("distributed", "engine: dask", "dualgap[dask]")
    with tempfile.TemporaryDirectory(prefix="dualgap-", ignore_cleanup_errors=True) as folder:
        cluster = None
        if address is None:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=memory_limit,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                scheduler_kwargs={
                    "allowed_failures": 5,  # workers that may die with the same task
                    "dashboard_address": "127.0.0.1:0",
                },
            )
        try:
            with _connect(cluster or address) as client:
                yield DaskEngine(risk, client)
        finally:
            if cluster is not None:
                cluster.close()


@contextmanager
def _connect(scheduler: Any) -> Generator[Any, None, None]:
    """Yield a client of a scheduler with workers; raise EngineError if there is none."""
    from distributed import Client  # noqa: PLC0415 - optional

    try:
        client = Client(scheduler, set_as_default=False, timeout=_LOST_AFTER_S)
    except OSError:
        raise EngineError(
            f"address: no Dask scheduler answers at {scheduler} within {_LOST_AFTER_S:g} s: start one "
            "with `dask scheduler`, or leave out `address`"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_LOST_AFTER_S)
        except TimeoutError:
            raise EngineError(
                f"the Dask cluster has no worker after {_LOST_AFTER_S:g} s: start some with "
                f"`dask worker {client.scheduler_info()['address']}`"
            ) from None
        yield client


def _run_task(
    function: BlockFunction, risk: Risk, k: int, arguments: tuple[Any, ...]
) -> tuple[bytes, str, float, int]:
    """Return the pickled result for one block, the worker's address, CPU seconds and peak memory."""
    from distributed import get_worker  # noqa: PLC0415 - installed where tasks run

    started_at = time.thread_time()
    answer = pickle.dumps(function(risk, k, 1, *arguments))
    return answer, str(get_worker().address), time.thread_time() - started_at, peak_memory()
