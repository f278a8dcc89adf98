"""The choice between pairs and semismooth Newton that `solve` makes, as a solver of its own.

An experiment that names it beside both shows which one was picked, and what the other would have cost:

    solvers:
      - {name: "../choice.py:ByDiagnosis"}      # beside experiments/configs

The diagnosis is on the clock, and its row has 1 as `picked_newton` where it picked semismooth Newton.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from problems.forms import BoxQP, FormPoint
from solvers import SMO, SemismoothNewton
from solvers.base import Solver
from solvers.numerics.warm_up import warm_up


@dataclass(frozen=True)
class ByDiagnosis(Solver):
    """Semismooth Newton where some rows of K say that it pays, else SMO.

    Attributes
    ----------
    tol, gap : as of both.
    """

    tol: float = 1e-3
    gap: float | None = None

    form: ClassVar = BoxQP

    def refuses(self, form: BoxQP) -> str | None:
        """As SMO does."""
        return SMO().refuses(form)

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile both."""
        for solver in (SemismoothNewton(), SMO()):
            warm_up(solver, form)
            solver.prepare(form)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield the points of the one that is picked."""
        newton = SemismoothNewton(self.tol, self.gap)
        found = newton.suits(form)
        points = SMO(self.tol, self.gap).iterates(form) if found is None else newton.iterates(found)
        for point in points:
            counters = {**point.counters, "picked_newton": float(found is not None)}
            yield replace(point, counters=counters)
