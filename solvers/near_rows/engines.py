"""Where the questions of a round are answered: in this process, or by workers of Dask.

An engine is one `map`: a function of (form, block, threads, *arguments), for each block with its own
arguments. Its answers are those of the blocks in their order, so both engines return the same, to the
last bit. Of Dask a task is a pure function, whose worker may be killed: the task is run again elsewhere.
"""

from __future__ import annotations

import logging
import pickle
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from resource import RUSAGE_SELF, getrusage
from typing import Any

from problems.forms import Sharded
from problems.gram.threads import Threads
from solvers.base import optional

Question = Callable[..., Any]
_LOST_AFTER = 20.0  # seconds without the scheduler, which the client tries to reach again
_POLL = 0.5  # seconds
_RETRIES = 5  # of a task whose worker was lost
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

    def map(self, question: Question, *shared: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """Return the answers of all blocks to a question with shared arguments and one of its own."""
        self.rounds += 1
        own = [()] * self.form.blocks.count if each is None else [(one,) for one in each]
        return self._answers(question, [(*shared, *last) for last in own])

    @abstractmethod
    def _answers(self, question: Question, arguments: list[tuple[Any, ...]]) -> list[Any]: ...

    def _note(self, process: str, cpu_seconds: float, memory: int) -> None:
        self.cpu_seconds += cpu_seconds
        self._memory[process] = max(memory, self._memory.get(process, 0))


class Here(Engine):
    """All blocks in this process, one after another, the parts of each on all threads."""

    def __init__(self, form: Sharded) -> None:
        super().__init__(form)
        self._threads = Threads().count

    def _answers(self, question: Question, arguments: list[tuple[Any, ...]]) -> list[Any]:
        begun = time.process_time()
        found = [question(self.form, k, self._threads, *own) for k, own in enumerate(arguments)]
        self._note("", time.process_time() - begun, _resident())
        return found


class OnDask(Engine):
    """Blocks as tasks of Dask; each has a worker that it is sent to as long as that one lives."""

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
        return dict(self._client.scheduler_info(n_workers=-1)["workers"])

    def _answers(self, question: Question, arguments: list[tuple[Any, ...]]) -> list[Any]:
        from distributed import wait  # noqa: PLC0415 - optional

        homes, futures = sorted(self._workers()), list[Any]()
        for k, own in enumerate(arguments):
            home = {"workers": [homes[k % len(homes)]]} if homes else {}
            name = f"{question.__name__}-{self.rounds}-{k}-{time.monotonic_ns()}"
            task = _answer, question, self.form, k, own
            futures.append(
                self._client.submit(
                    *task,
                    key=name,
                    pure=False,
                    retries=_RETRIES,
                    allow_other_workers=bool(homes),
                    **home,
                )
            )
            self.bytes_moved += self._size + len(pickle.dumps(own))
        lost_since = None
        while True:
            try:
                with self._client.as_current():
                    wait(futures, timeout=_POLL)
                break
            except TimeoutError:
                pass
            running = self._client.status == "running"
            lost_since = None if running else lost_since or time.monotonic()
            if lost_since and time.monotonic() - lost_since > _LOST_AFTER:
                break
        lost = [future for future in futures if future.status in ("cancelled", "lost", "pending")]
        if lost:
            raise EngineError(
                f"the Dask scheduler is lost in round {self.rounds}: {len(lost)} of {len(futures)} "
                "blocks have no answer"
            )
        found = list[Any]()
        for answer, process, cpu_seconds, memory in self._client.gather(futures):
            self._note(process, cpu_seconds, memory)
            self.bytes_moved += len(answer)
            found.append(pickle.loads(answer))
        return found


@contextmanager
def engine_of(
    name: str, form: Sharded, address: str | None, workers: int | None, memory_limit: str | None
) -> Generator[Engine, None, None]:
    """Yield an engine by its name; the cluster that it makes ends with it."""
    if name == "here":
        yield Here(form)
        return
    distributed = optional("distributed", "engine: dask", "dualgap[dask]")
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
                scheduler_kwargs={"allowed_failures": _RETRIES, "dashboard_address": "127.0.0.1:0"},
            )
        try:
            with distributed.Client(made or address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=_LOST_AFTER)
                yield OnDask(form, client)
        finally:
            if made is not None:
                made.close()


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
