"""Where cases are run with Dask: each as a task that has an isolated process beside its Dask worker.

What a run may take and how it ends are the same as on this machine alone (see `slot`): a crash,
a hang or too much memory costs the run it happened in, and no Dask worker. What else may happen:

- a Dask worker is lost: its runs are begun again elsewhere. Dask suspects every run that was waiting
  there, so those it gives up on run again at the end, one at a time: only one that takes its workers
  with it even then is a row `crashed`;
- the scheduler is lost: `ExecutorError`; the runs in progress are ended;
- the command is interrupted, or killed: the runs in progress are ended.

The scheduler and the workers import this package: they need the same version of it, and the files that
an experiment names at the same paths; a run that does not find its file says so. A run has its share
of the cores of its host: the cores, divided by the threads of all Dask workers there.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import cast

from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.comm.core import connect
from distributed.utils import silence_logging_cmgr

from experiments.cases.plan import Case
from experiments.cases.records import Outcome, failed, versions
from experiments.executors.base import Executor, ExecutorError
from experiments.executors.dask_worker import Isolation, run_beside

_REACHED = 5.0  # seconds
_AHEAD = 2  # cases known to Dask, over those that it runs at once
_FAILURES = 0  # workers of a local cluster that a case may lose without being suspected
_RETRIES = 2  # of a case whose Dask worker could not begin it
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DaskExecutor(Executor):
    """Runs cases as tasks of Dask.

    Attributes
    ----------
    workers : Dask workers of a cluster on this machine, which is started and ended with each `run`
        (1 by default).
    address : that of a scheduler that runs already, `tcp://host:port`, whose own workers are used then.
    """

    def check(self) -> None:
        """Reach the scheduler, if there is an address.

        Raises
        ------
        ExecutorError
            If it cannot be reached within a few seconds, or does not have this package.
        """
        if self.address is None:
            return
        if self.workers is not None:
            raise ExecutorError(
                "--workers: a scheduler at --address has its own workers; leave out one of the two"
            )
        with _reach(self.address) as client:
            _check_package(client, self.address)

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator.

        Raises
        ------
        ExecutorError
            If the scheduler cannot be reached or is lost; cases without an outcome are not run.
        """
        planned, isolation = list(cases), Isolation(self.limits)
        if not planned:
            return
        with self._client() as client, _registered(isolation, client):
            suspects: list[Case] = []
            for case, result in _completed(client, isolation.name, planned):
                if isinstance(result, KilledWorker):
                    suspects.append(case)
                else:
                    yield _outcome(case, result)
            for suspect in suspects:
                for case, result in _completed(client, isolation.name, [suspect]):
                    yield _outcome(case, result)

    @contextmanager
    def _client(self) -> Generator[Client]:
        if self.address is not None:
            with _reach(self.address) as client:
                yield client
            return
        with (
            tempfile.TemporaryDirectory(prefix="dualgap-", ignore_cleanup_errors=True) as folder,
            LocalCluster(
                n_workers=self.workers or 1,
                threads_per_worker=1,
                memory_limit=None,
                dashboard_address=None,  # pyright: ignore[reportArgumentType]
                silence_logs=logging.CRITICAL,
                local_directory=folder,
                scheduler_kwargs={"allowed_failures": _FAILURES},
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


@contextmanager
def _reach(address: str) -> Generator[Client]:
    try:
        asyncio.run(_call(address))  # a Client that fails to connect is slow to end, and noisy
        client = Client(address, timeout=_REACHED, set_as_default=False, name="dualgap")
    except Exception as error:  # whatever it is that answers there
        raise ExecutorError(
            f"--address {address}: no Dask scheduler answers there within {_REACHED:.0f} s "
            f"({type(error).__name__}: {error}); start one with `dask scheduler`, or leave out --address"
        ) from None
    with silence_logging_cmgr(logging.CRITICAL, "distributed.client"), client:
        yield client


async def _call(address: str) -> None:
    comm = await connect(address, timeout=_REACHED)
    comm.abort()


def _check_package(client: Client, address: str) -> None:
    try:
        client.run_on_scheduler(versions)
        client.run(versions)
    except Exception as error:  # a worker's own exception comes as text
        raise ExecutorError(
            f"--address {address}: the scheduler or a worker cannot import dualgap ({error}); "
            "install the same version everywhere"
        ) from None


@contextmanager
def _registered(plugin: Isolation, client: Client) -> Generator[None]:
    client.register_plugin(plugin)
    if not client.nthreads():
        _log.warning("the Dask cluster has no workers yet; waiting for them")
    try:
        yield
    finally:
        with suppress(OSError, CancelledError):  # the scheduler is lost, and its workers end alone
            client.unregister_worker_plugin(plugin.name)


def _completed(
    client: Client, name: str, cases: Iterable[Case]
) -> Iterator[tuple[Case, Outcome | Exception]]:
    """Yield each case with its result, as they complete; Dask knows only some of them at a time."""
    waiting, running = deque(cases), dict[Future, Case]()
    completed = as_completed(loop=client.loop)
    try:
        while waiting or running:
            threads = cast("dict[str, int]", client.nthreads())
            most = _AHEAD * max(1, sum(threads.values()))
            while waiting and len(running) < most:
                case = waiting.popleft()
                future = client.submit(run_beside, case, name, pure=False, retries=_RETRIES)
                running[future] = case
                completed.add(future)
            future = next(completed)
            yield running.pop(future), _result(future)
    except (OSError, CancelledError) as error:
        raise ExecutorError(f"the Dask scheduler is lost ({type(error).__name__})") from None


def _result(future: Future) -> Outcome | Exception:
    try:
        return future.result()
    except Exception as error:
        if future.status != "error":  # it is not the task that failed
            raise
        return error


def _outcome(case: Case, result: Outcome | Exception) -> Outcome:
    """Return what came of a case; of an error that is not the run's own, its row."""
    if isinstance(result, Outcome):
        return result
    reason = f"{type(result).__name__}: {result}"
    if isinstance(result, KilledWorker):
        times = result.allowed_failures + 1
        reason = (
            f"the Dask worker died while it ran ({times} × beside others, {times} × alone); the last "
            f"one was {result.last_worker.address}"
        )
    lost = failed(case, "crashed", reason)
    return replace(lost, record=lost.record | {"host": None})
