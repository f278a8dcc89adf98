"""The tasks of Dask that run cases, and the cluster that they are sent to."""

import asyncio
import logging
import tempfile
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import cast

from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.comm.core import connect
from distributed.utils import silence_logging_cmgr

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, failed, read_outcome, versions
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.dask.worker import Isolation, run_beside
from dualgap.experiments.workers.wire import Malformed

_REACHED = 5.0  # seconds
_AHEAD = 2  # cases known to Dask, over those that it runs at once
_FAILURES = 0  # workers of a local cluster that a case may lose without being suspected
_RETRIES = 2  # of a case whose Dask worker could not begin it
_log = logging.getLogger(__name__)


def check_address(address: str) -> None:
    """Raise ExecutorError if no scheduler answers there, or it does not have this package."""
    with _reach(address) as client:
        try:
            client.run_on_scheduler(versions)
            client.run(versions)
        except Exception as error:  # a worker's own exception comes as text
            raise ExecutorError(
                f"--scheduler {address}: the scheduler or a worker cannot import dualgap ({error}); "
                "install the same version everywhere"
            ) from None


def run_tasks(
    cases: Iterable[Case], grace: float, workers: int, address: str | None
) -> Generator[Outcome]:
    """Yield the outcome of every case, as they complete; see `DaskExecutor.run`."""
    planned, isolation = list(cases), Isolation(grace)
    if not planned:
        return
    with _cluster(workers) if address is None else _reach(address) as client:
        client.register_plugin(isolation)
        if not client.nthreads():
            _log.warning("the Dask cluster has no workers yet; waiting for them")
        try:
            suspects: list[Case] = []
            for case, result in _completed(client, isolation.name, planned):
                if isinstance(result, KilledWorker):
                    suspects.append(case)
                else:
                    yield _outcome(case, result)
            for suspect in suspects:
                for case, result in _completed(client, isolation.name, [suspect]):
                    yield _outcome(case, result)
        finally:
            with suppress(
                OSError, CancelledError
            ):  # the scheduler is lost, and its workers end alone
                client.unregister_worker_plugin(isolation.name)


@contextmanager
def _cluster(workers: int) -> Generator[Client]:
    with (
        tempfile.TemporaryDirectory(prefix="dualgap-", ignore_cleanup_errors=True) as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=None,  # pyright: ignore[reportArgumentType]
            silence_logs=logging.CRITICAL,
            local_directory=folder,
            # an HTTP server it has all the same: at a free port, as there may be other clusters
            scheduler_kwargs={"allowed_failures": _FAILURES, "dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _reach(address: str) -> Generator[Client]:
    try:
        # a Client that fails to connect is slow to end, and noisy; a notebook has a loop of its own
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_call(address))).result()
        client = Client(address, timeout=_REACHED, set_as_default=False, name="dualgap")
    except Exception as error:  # whatever it is that answers there
        raise ExecutorError(
            f"--scheduler {address}: no Dask scheduler answers there within {_REACHED:.0f} s "
            f"({type(error).__name__}: {error}); start one with "
            "`dask scheduler`, or leave out --scheduler"
        ) from None
    with silence_logging_cmgr(logging.CRITICAL, "distributed.client"), client:
        yield client


async def _call(address: str) -> None:
    comm = await connect(address, timeout=_REACHED)
    comm.abort()


def _completed(
    client: Client, name: str, cases: Iterable[Case]
) -> Iterator[tuple[Case, bytes | Exception]]:
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
            try:
                result = future.result()
            except Exception as error:
                if future.status != "error":  # it is not the task that failed
                    raise
                result = error
            yield running.pop(future), result
    except (OSError, CancelledError) as error:
        raise ExecutorError(f"the Dask scheduler is lost ({type(error).__name__})") from None


def _outcome(case: Case, result: bytes | Exception) -> Outcome:
    """Return what came of a case; of an error that is not the run's own, its row."""
    if isinstance(result, bytes):
        try:
            return read_outcome(result, case)
        except Malformed as error:
            result = error
    reason = f"{type(result).__name__}: {result}"
    if isinstance(result, KilledWorker):
        times = result.allowed_failures + 1
        reason = (
            f"the Dask worker died while it ran ({times} × beside others, {times} × alone); the last "
            f"one was {result.last_worker.address}"
        )
    lost = failed(case, "crashed", reason)
    return replace(lost, record=lost.record | {"host": None})
