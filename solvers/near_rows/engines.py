"""Where the questions of a round are answered: in this process, or by workers of Dask.

An engine is one `map`: of a function of (form, block, threads, *arguments) over all blocks. Its answers
are those of the blocks in their order, so both engines return the same, to the last bit. Of Dask a task
is a pure function, whose worker may be killed: the task is run again elsewhere.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from resource import RUSAGE_SELF, getrusage
from typing import Any

from dualgap.problems.forms import Sharded
from dualgap.problems.gram.threads import Threads
from dualgap.solvers.base import import_optional

_log = logging.getLogger("dualgap")
Question = Callable[..., Any]
_LOST_AFTER = 20.0  # seconds without a scheduler or a worker, after which they are not waited for
_FAILURES = 5  # workers that may be lost with the same task, in a cluster made for the run
_LEAST_MEMORY = 2.0  # of a worker, in blocks: one, and what is computed of its parts


class EngineError(Exception):
    """The cluster cannot do what is asked of it; the message says why."""


class Engine(ABC):
    """Asks every block a question, and counts what that took.

    Attributes
    ----------
    rounds, bytes_moved, cpu_seconds, worker_memory : so far; bytes are those of questions and answers
        that left a process, memory the largest resident one of each process, summed.
    """

    def __init__(self, form: Sharded) -> None:
        self.form = form
        self.rounds, self.bytes_moved, self.cpu_seconds = 0, 0, 0.0
        self._memory = dict[str, int]()

    @property
    def worker_memory(self) -> int:
        """The largest resident memory of each process that answered, in bytes, summed."""
        return sum(self._memory.values())

    def map(self, question: Question, *arguments: Any) -> list[Any]:
        """Return the answers of all blocks to a question."""
        self.rounds += 1
        return self._answers(question, arguments)

    @abstractmethod
    def _answers(self, question: Question, arguments: tuple[Any, ...]) -> list[Any]: ...

    def _note(self, process: str, cpu_seconds: float, memory: int) -> None:
        self.cpu_seconds += cpu_seconds
        self._memory[process] = max(memory, self._memory.get(process, 0))


class Here(Engine):
    """All blocks in this process, one after another, the parts of each on all threads."""

    def __init__(self, form: Sharded) -> None:
        super().__init__(form)
        self._threads = Threads().count

    def _answers(self, question: Question, arguments: tuple[Any, ...]) -> list[Any]:
        begun = time.process_time()
        blocks = range(self.form.blocks.count)
        found = [question(self.form, k, self._threads, *arguments) for k in blocks]
        self._note("", time.process_time() - begun, _resident())
        return found


class OnDask(Engine):
    """Blocks as tasks of Dask, for any worker.

    A task that is bound to a worker, even loosely, is never run once all workers were lost at one time,
    though others came since.
    """

    def __init__(self, form: Sharded, client: Any) -> None:
        super().__init__(form)
        self._client, self._size = client, len(pickle.dumps(form))
        largest = max(form.blocks.nbytes)
        limits = {w["memory_limit"] for w in self._workers().values() if w["memory_limit"]}
        if limits and min(limits) < _LEAST_MEMORY * largest:
            raise EngineError(
                f"a Dask worker may use {min(limits) / 2**20:.0f} MiB, and the largest block has "
                f"{largest / 2**20:.0f} MiB, of which a worker needs {_LEAST_MEMORY:g} times as much: "
                "give workers more memory, or the blocks fewer rows"
            )

    def _workers(self) -> dict[str, Any]:
        # the client's own `scheduler_info` is overwritten, without workers, every two seconds
        known = self._client.sync(self._client.scheduler.identity, n_workers=-1)
        return dict(known["workers"])

    def _answers(self, question: Question, arguments: tuple[Any, ...]) -> list[Any]:
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415 - optional

        try:
            return self._gathered(question, arguments)
        except KilledWorker as killed:
            block = self.form.blocks.names[int(str(killed.task).split("-")[2])]
            raise EngineError(
                f"{block}: more than {killed.allowed_failures} workers died one after another while "
                "they had it or a block beside it: give workers more memory, or the blocks fewer rows"
            ) from None
        except (CancelledError, OSError) as error:
            raise EngineError(
                f"the Dask scheduler is lost in round {self.rounds} ({type(error).__name__})"
            ) from None

    def _gathered(self, question: Question, arguments: tuple[Any, ...]) -> list[Any]:
        from distributed import wait  # noqa: PLC0415 - optional

        before, futures, blocks = self._workers(), list[Any](), self.form.blocks.count
        for k in range(blocks):
            name = f"{question.__name__}-{self.rounds}-{k}-{time.monotonic_ns()}"
            task = _answer, question, self.form, k, arguments
            futures.append(self._client.submit(*task, key=name, pure=False))
        self.bytes_moved += blocks * (self._size + len(pickle.dumps(arguments)))
        times_without = 0
        while True:
            with suppress(TimeoutError), self._client.as_current():
                wait(futures, timeout=_LOST_AFTER)
                break
            times_without = 0 if self._workers() else times_without + 1
            if times_without > 1:  # the first may be while they are being replaced
                raise EngineError(f"the Dask cluster has lost all workers in round {self.rounds}")
        found = list[Any]()
        for answer, process, cpu_seconds, memory in self._client.gather(futures):
            self._note(process, cpu_seconds, memory)
            self.bytes_moved += len(answer)
            found.append(pickle.loads(answer))
        lost = set(before).difference(self._workers())
        if lost:
            _log.warning("round %d: workers lost: %d; others answered", self.rounds, len(lost))
        return found


@contextmanager
def engine_of(
    name: str, form: Sharded, address: str | None, workers: int | None, memory_limit: str | None
) -> Generator[Engine, None, None]:
    """Yield an engine by its name; the cluster that it makes ends with it."""
    if name == "here":
        yield Here(form)
        return
    distributed = import_optional("distributed", "engine: dask", "dualgap[dask]")
    with tempfile.TemporaryDirectory(prefix="dualgap-", ignore_cleanup_errors=True) as folder:
        made = None
        if address is None:
            made = distributed.LocalCluster(
                n_workers=workers or Threads().count,
                threads_per_worker=1,
                memory_limit=memory_limit,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                scheduler_kwargs={
                    "allowed_failures": _FAILURES,
                    "dashboard_address": "127.0.0.1:0",
                },
            )
        try:
            with _connected(made or address) as client:
                yield OnDask(form, client)
        finally:
            if made is not None:
                made.close()


@contextmanager
def _connected(scheduler: Any) -> Generator[Any, None, None]:
    """Yield a client of a scheduler that has workers; EngineError if there is none."""
    from distributed import Client  # noqa: PLC0415 - optional

    try:
        client = Client(scheduler, set_as_default=False, timeout=_LOST_AFTER)
    except OSError:
        raise EngineError(
            f"address: no Dask scheduler answers at {scheduler} within {_LOST_AFTER:g} s: start one "
            "with `dask scheduler`, or leave out the address"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_LOST_AFTER)
        except TimeoutError:
            raise EngineError(
                f"the Dask cluster has no worker after {_LOST_AFTER:g} s: start some with "
                f"`dask worker {client.scheduler_info()['address']}`"
            ) from None
        yield client


def _answer(
    question: Question, form: Sharded, k: int, arguments: tuple[Any, ...]
) -> tuple[bytes, str, float, int]:
    """Return the answer of one block, and the process's name, CPU seconds and largest memory."""
    from distributed import get_worker  # noqa: PLC0415 - where a task runs it is there

    begun = time.thread_time()
    answer = pickle.dumps(question(form, k, 1, *arguments))
    return answer, str(get_worker().address), time.thread_time() - begun, _resident()


def _resident() -> int:
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024
