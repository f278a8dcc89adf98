"""The choice that `solve` makes where no solver is named, as a solver of its own.

An experiment that names it beside others shows which one is picked, and what they would have cost:

    solvers:
      - {name: "../choice.py:ByDefault"}      # beside experiments/configs

Looking for the solver is on the clock, and its row has 1 as `picked_smo`, or after whatever was picked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dualgap.problems import Formulation
from dualgap.problems.forms import FormPoint
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.warm_up import warm_up
from dualgap.solvers.running.defaults import choose


@dataclass(frozen=True)
class ByDefault(Solver):
    """The solver that is picked for a problem, whose answer is shown once it has ended.

    Attributes
    ----------
    tol : the relative gap that it is picked for.
    """

    tol: float | None = None

    form: ClassVar = Formulation
    tol_share: ClassVar = 1.0

    def prepare(self, problem: Formulation) -> Formulation:
        """Compile the one that will be picked."""
        solver, _, state, _ = choose(problem, self.tolerance)
        warm_up(solver, problem)
        solver.prepare(state)
        return problem

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield no answer until the last one, which is then taken back to the problem."""
        solver, reduction, state, _ = choose(problem, self.tolerance)
        counters, point = {f"picked_{solver.name}": 1.0}, FormPoint(None)
        for point in solver.iterates(solver.prepare(state)):
            yield FormPoint(None, iterations=point.iterations, counters=counters)
        found, counters = reduction.recover(point), {**point.counters, **counters}
        of_last = point.iterations, point.claim, counters, point.note
        yield FormPoint(found.alpha, None, None, None, *of_last, w=found.w)
