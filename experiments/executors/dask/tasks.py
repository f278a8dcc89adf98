"""Dask tasks that run cases, and the cluster that runs them."""

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

from dualgap.experiments.cases.messages import read_outcome
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, failed, versions
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.dask.worker import Isolation, run_beside
from dualgap.experiments.workers.wire import Malformed

_CONNECT_TIMEOUT_S = 5.0
_CASES_PER_THREAD = 2  # submitted to Dask: one that runs and one that is queued
_MAX_RETRIES = 2  # of a case that its Dask worker could not start
_log = logging.getLogger(__name__)


def check_address(address: str) -> None:
    """Raise ExecutorError if there is no scheduler, or it cannot import this package."""
    with _reach(address) as client:
        try:
            client.run_on_scheduler(versions)
            client.run(versions)
        except Exception as error:  # an exception of a worker arrives as text
            raise ExecutorError(
                f"--scheduler {address}: the scheduler or a worker cannot import dualgap ({error}). "
                "Install the same version everywhere."
            ) from None


def run_tasks(
    cases: Iterable[Case], grace_period_s: float, workers: int, address: str | None
) -> Generator[Outcome]:
    """Yield the outcomes of cases as they complete; see `DaskExecutor.run`."""
    planned, isolation = list(cases), Isolation(grace_period_s)
    if not planned:
        return
    with _cluster(workers) if address is None else _reach(address) as client:
        client.register_plugin(isolation)
        if not client.nthreads():
            _log.warning("The Dask cluster has no workers yet; waiting for them.")
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
            with suppress(OSError, CancelledError):  # if the scheduler is lost, its workers end too
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
            # its HTTP server cannot be disabled: use a free port, as there may be other clusters
            scheduler_kwargs={"allowed_failures": 0, "dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _reach(address: str) -> Generator[Client]:
    try:
        # a Client that fails to connect is slow and noisy; a notebook has its own event loop
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_call(address))).result()
        client = Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False, name="dualgap")
    except Exception as error:  # any service may answer there
        raise ExecutorError(
            f"--scheduler {address}: no Dask scheduler answers there within {_CONNECT_TIMEOUT_S:.0f} s "
            f"({type(error).__name__}: {error}). Start one with "
            "`dask scheduler`, or leave out --scheduler."
        ) from None
    with silence_logging_cmgr(logging.CRITICAL, "distributed.client"), client:
        yield client


async def _call(address: str) -> None:
    comm = await connect(address, timeout=_CONNECT_TIMEOUT_S)
    comm.abort()


def _completed(
    client: Client, name: str, cases: Iterable[Case]
) -> Iterator[tuple[Case, bytes | Exception]]:
    """Yield each case with its result as they complete; only a few are submitted at a time."""
    pending, running = deque(cases), dict[Future, Case]()
    completed = as_completed(loop=client.loop)
    try:
        while pending or running:
            threads = cast("dict[str, int]", client.nthreads())
            max_running = _CASES_PER_THREAD * max(1, sum(threads.values()))
            while pending and len(running) < max_running:
                case = pending.popleft()
                future = client.submit(run_beside, case, name, pure=False, retries=_MAX_RETRIES)
                running[future] = case
                completed.add(future)
            future = next(completed)
            try:
                result = future.result()
            except Exception as error:
                if future.status != "error":  # the task itself did not fail
                    raise
                result = error
            yield running.pop(future), result
    except (OSError, CancelledError) as error:
        raise ExecutorError(f"the Dask scheduler is lost ({type(error).__name__})") from None


def _outcome(case: Case, result: bytes | Exception) -> Outcome:
    """Return the outcome of a case; an error of Dask becomes a `crashed` row."""
    if isinstance(result, bytes):
        try:
            return read_outcome(result, case)
        except Malformed as error:
            result = error
    reason = f"{type(result).__name__}: {result}"
    if isinstance(result, KilledWorker):
        times = result.allowed_failures + 1
        reason = (
            f"the Dask worker died while it ran ({times} × with other runs, {times} × alone); the last "
            f"one was {result.last_worker.address}"
        )
    lost = failed(case, "crashed", reason)
    return replace(lost, record=lost.record | {"host": None})
