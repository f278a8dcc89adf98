"""How long a solver may take, and the clock that counts it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 4.0  # seconds of waiting that count as one: a solver that sleeps is given up too


@dataclass(frozen=True)
class Limits:
    """Seconds of CPU time after which a solver is given up, or `PATIENCE` times as many of waiting.

    A machine that is busy with other work thus fails no solver.

    Attributes
    ----------
    loading : to start a process and import the solver in it.
    first : for the first property, in which compiled solvers compile. each : for each other one.
    total : for all of them. hangs : properties it may hang in before the remaining ones are skipped.
    solving : the time limit that the solver itself is given for each problem.
    grace : by which it may exceed a time limit, since it stops at its next yield.
    """

    loading: float = 30.0
    first: float = 45.0
    each: float = 20.0
    total: float = 110.0
    hangs: int = 3
    solving: float = 2.0
    grace: float = 5.0


class WorkClock:
    """Counts CPU time, and between two readings at least a `PATIENCE`-th of the time that passed.

    Parameters
    ----------
    cpu, wall : the clocks that it reads, in seconds.
    """

    def __init__(
        self, cpu: Callable[[], float], wall: Callable[[], float] = time.monotonic
    ) -> None:
        self.cpu, self.wall = cpu, wall
        self._cpu, self._wall, self._seconds = cpu(), wall(), 0.0

    def __call__(self) -> float:
        """Return the seconds that count since this clock was made."""
        cpu, wall = max(self._cpu, self.cpu()), self.wall()  # less once a child has died
        self._seconds += max(cpu - self._cpu, (wall - self._wall) / PATIENCE)
        self._cpu, self._wall = cpu, wall
        return self._seconds
