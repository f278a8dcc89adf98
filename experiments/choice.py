"""The default choice of `solve` as a solver.

An experiment that compares it with others shows which solver is chosen, and the times of the others:

    solvers:
      - {name: "../choice.py:ByDefault"}      # relative to experiments/configs

The choice itself is timed. The row has the counter `picked_smo` = 1, named after the chosen solver.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dualgap.problems import Formulation
from dualgap.problems.forms import FormPoint
from dualgap.problems.risk.reductions import rescale
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.timing import warm_up
from dualgap.solvers.running.defaults import choose


@dataclass(frozen=True)
class ByDefault(Solver):
    """The default solver of a problem, whose answer is yielded once it has ended.

    Attributes
    ----------
    tol : the relative gap for which the solver is chosen.
    """

    tol: float | None = None

    form: ClassVar = Formulation
    tol_share: ClassVar = 1.0

    def prepare(self, problem: Formulation) -> Formulation:
        """Compile the solver that will be chosen."""
        solver, _, state, _ = choose(rescale(problem), self.tolerance)
        warm_up(solver, problem)
        solver.prepare(state)
        return problem

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield empty points until the last one, which is mapped back to the problem."""
        solver, reduction, state, _ = choose(rescale(problem), self.tolerance)
        counters, point = {f"picked_{solver.name}": 1.0}, FormPoint(None)
        for point in solver.iterates(solver.prepare(state)):
            yield FormPoint(None, iterations=point.iterations, counters=counters)
        answer, counters = reduction.recover(point), {**point.counters, **counters}
        report = point.iterations, point.claim, counters, point.note
        yield FormPoint(answer.alpha, None, None, None, *report, w=answer.w)
