"""mystic's constrained direct search on the dual.

    min f(Π(x)),  f(x) = ½xᵀQx + pᵀx,  Π the projection onto the feasible set

mystic (McKerns et al. 2011) constrains any minimiser through a transform of its parameters that imposes
the constraints, here the exact projection. The minimiser here is Powell's (1964) method of conjugate
directions, which uses values of f but no gradients, and is therefore for small problems. The notes ask
for this comparison.
"""

import importlib
import random
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.solvers.base import Solver, import_optional
from dualgap.solvers.needs import at_most


@contextmanager
def _restore_random_state() -> Generator[None]:
    """Restore Python's random state: mystic draws from it even for deterministic methods."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


@dataclass(frozen=True)
class Mystic(Solver):
    """mystic on box QPs of up to 200 variables.

    Attributes
    ----------
    tol : relative change of the objective over ten iterations below which it stops.
    max_iter : limit on its iterations.
    """

    tol: float | None = None
    max_iter: int = 1000

    form: ClassVar = BoxQP
    # an iteration of Powell's method is a line search along each variable
    needs: ClassVar = (at_most(200),)
    source: ClassVar[str] = "McKerns et al. 2011; Powell 1964"

    def prepare(self, form: BoxQP) -> tuple[BoxQP, Any]:
        """Import mystic."""
        with warnings.catch_warnings(), _restore_random_state():
            warnings.simplefilter("ignore")  # of its import
            return form, import_optional("mystic.solvers", "Mystic", "mystic")

    def iterates(self, state: tuple[BoxQP, Any]) -> Iterator[FormPoint]:
        """Yield after each iteration."""
        form, mystic = state
        termination = importlib.import_module("mystic.termination")
        Q, p, start = form.Q.dense(), form.p, form.start
        if start is None:  # inside the box: at a corner every direction may lead outside
            width = np.where(np.isfinite(form.ub), form.ub - form.lb, 1.0)
            start = form.project(form.lb + 0.1 * width)

        def feasible(x: Vector) -> Vector:
            return form.project(np.asarray(x, dtype=np.float64))

        def objective(x: Vector) -> float:
            x = feasible(x)
            return 0.5 * float(x @ (Q @ x)) + float(p @ x)

        with _restore_random_state():
            search = mystic.PowellDirectionalSolver(form.n)
            search.SetInitialPoints(start.tolist())
            search.SetObjective(objective)
            search.SetTermination(termination.NormalizedChangeOverGeneration(self.tolerance, 10))
        for count in range(1, self.max_iter + 1):
            with _restore_random_state():
                converged = bool(search.Step())
            # small gains in the last iterations do not bound later gains
            claim: Claim = "stopped" if converged or count == self.max_iter else "none"
            yield FormPoint(feasible(search.bestSolution), iterations=count, claim=claim)
            if converged:
                return
