"""Time limits of a solver, and the clock that measures them."""

import time
from collections.abc import Callable
from dataclasses import dataclass

WAITS_PER_CPU_SECOND = 4.0  # seconds of waiting that count as one: a sleeping solver times out too


@dataclass(frozen=True)
class Limits:
    """Limits in CPU seconds, or `WAITS_PER_CPU_SECOND` times as many seconds of waiting.

    A busy machine thus fails no solver.

    Attributes
    ----------
    loading : of starting a process and importing the solver.
    first : of the first property, which includes compilation. each : of every other property.
    total : of all properties. hangs : number of hangs after which the remaining properties are skipped.
    solving : the solver's time limit per problem.
    grace : by which it may exceed a time limit, as it stops at its next yield.
    """

    loading: float = 30.0
    first: float = 45.0
    each: float = 20.0
    total: float = 110.0
    hangs: int = 3
    solving: float = 2.0
    grace: float = 5.0


class WorkClock:
    """Counts CPU time, and at least 1/`WAITS_PER_CPU_SECOND` of the wall time between two readings.

    Parameters
    ----------
    cpu, wall : the underlying clocks, in seconds.
    """

    def __init__(
        self, cpu: Callable[[], float], wall: Callable[[], float] = time.monotonic
    ) -> None:
        self.cpu, self.wall = cpu, wall
        self._cpu, self._wall, self._seconds = cpu(), wall(), 0.0

    def __call__(self) -> float:
        """Return the seconds counted since this clock was created."""
        cpu, wall = max(self._cpu, self.cpu()), self.wall()  # CPU time may drop when a child ends
        self._seconds += max(cpu - self._cpu, (wall - self._wall) / WAITS_PER_CPU_SECOND)
        self._cpu, self._wall = cpu, wall
        return self._seconds
