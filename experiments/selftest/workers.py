"""The process in which a solver is tried, replaced when it dies or does not come back.

It leads a session of its own, and everything the solver starts is killed with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from experiments.selftest.outcome import Limits, Outcome, Property
from experiments.workers.start import start_worker

LOADING = "loading the solver"
_THREADS = 2  # enough for a race to show
_POLL = 0.2  # seconds
_BURIAL = 2.0  # seconds until an exit code is known


class Workers:
    """One process at a time that checks properties of `solver`."""

    def __init__(self, solver: str, limits: Limits) -> None:
        self.solver, self.limits = solver, limits
        self.process: BaseProcess | None = None
        self.connection: Connection | None = None
        self.used = False

    def check(
        self, item: Property, digests: Mapping[str, str], deadline: float, left: float
    ) -> Outcome:
        """Return the outcome of a property, also where the process hangs or dies in it.

        `deadline` counts from its first problem; `left` are the seconds left for everything.
        """
        last = time.monotonic() + left
        end = min(last, time.monotonic() + self.limits.loading)
        connection = self._ready(item.fresh)
        with suppress(OSError):  # it is dead: what follows finds out
            connection.send((item, dict(digests)))
        at = LOADING
        while (wait := end - time.monotonic()) > 0:
            try:
                message = connection.recv() if connection.poll(min(wait, _POLL)) else None
            except (EOFError, OSError):
                return self._failed(item, at, f"the process {self._death()}")
            if isinstance(message, Outcome):
                return message
            if isinstance(message, str):
                end = min(last, time.monotonic() + deadline) if at == LOADING else end
                at = message
            elif self.process is not None and not self.process.is_alive():
                return self._failed(item, at, f"the process {self._death()}")
        self.close()
        given = self.limits.loading if at == LOADING else deadline
        return self._failed(item, at, f"no end after {min(given, left):.0f} s, killed", hung=True)

    def close(self) -> None:
        """Kill the process and all that it started."""
        if self.process is not None and self.process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()  # if it did not lead a group yet
            self.process.join()
            self.process.close()
        if self.connection is not None:
            self.connection.close()
        self.process = self.connection = None

    def _ready(self, fresh: bool) -> Connection:
        if fresh and self.used:
            self.close()
        if self.connection is None:
            context = multiprocessing.get_context("spawn")
            self.connection, theirs = context.Pipe()
            arguments = (theirs, self.solver, self.limits)
            self.process = context.Process(target=_serve, args=arguments)
            self.process.start()
            theirs.close()
        self.used = True
        return self.connection

    def _death(self) -> str:
        assert self.process is not None
        self.process.join(_BURIAL)
        code = self.process.exitcode
        self.close()
        if code is None:
            return "closed its connection"
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"

    def _failed(self, item: Property, at: str, what: str, hung: bool = False) -> Outcome:
        sentence = f"{item.name} on {at}: {what}"
        loaded = at != LOADING
        tried = (at,) if loaded else ()
        return Outcome(item.name, "failed", tried, sentences=(sentence,), hung=hung, loaded=loaded)


def _serve(connection: Connection, solver: str, limits: Limits) -> None:
    """Check what is asked for, until the process is killed."""
    start_worker(_THREADS)
    from experiments.selftest.bench import Bench, load, one_line  # noqa: PLC0415 - after the environment is set

    bench = None
    while True:
        item, digests = connection.recv()
        try:
            bench = bench or Bench(load(solver), limits)
        except BaseException as error:  # whatever importing and building it does
            sentence = f"{item.name} on {LOADING}: {one_line(error)}"
            connection.send(Outcome(item.name, "failed", sentences=(sentence,), loaded=False))
            continue
        connection.send(bench.check(item, digests, connection.send))
