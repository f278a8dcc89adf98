"""What a solver returns: points while it runs, and its answer with its claim and its costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems import Certificate, Problem, certify
from dualgap.problems.forms import Claim
from dualgap.solvers.base import TARGET_GAP, Solver, Status

BACKWARD_ERROR = 1e-12  # relative rounding of a sum of a few thousand products


class Target(NamedTuple):
    """What the certificate of an answer has to show for the verdict "solved".

    Attributes
    ----------
    gap : the largest relative gap.
    rigorous : whether certificates prove their bounds, see `certify`.
    backward_error : for a convex QP, the largest change of the right-hand sides, relative to the terms
        of their rows, for which an optimum of the changed problem counts as solved.
    """

    gap: float = TARGET_GAP
    rigorous: bool = False
    backward_error: float = BACKWARD_ERROR


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A point of a running solver, with the seconds and iterations so far.

    Attributes
    ----------
    precomputed : the certificate of the point, if already computed.
    certificate : computed at first access.
    """

    time: float
    iteration: int
    problem: Problem
    point: Any
    precomputed: Certificate | None = None

    @cached_property
    def certificate(self) -> Certificate:
        """Bounds on the optimum from this point and the data alone, in float64."""
        if self.precomputed is not None:
            return self.precomputed
        return certify(self.problem, self.point, target_gap=np.inf)


@dataclass(frozen=True, eq=False)
class SolverOutput:
    """The answer of a solver to a problem, its claim and its costs: nothing here is certified.

    Attributes
    ----------
    problem : any `Problem`.
    point : the answer as the solver returned it, unprojected: a `Point`, or a `QPPoint` of a convex QP.
    status : how the process ended. claimed : the solver's claim about its answer.
    note : remarks of the solver, and the solvers tried before it.
    time_solve, time_setup : seconds inside the algorithm; seconds preparing (imports, compilation).
    cpu_time : CPU seconds inside the algorithm, of all threads of this process and of children that were
        waited for.
    iterations : as the solver counts them. trace : the evaluations made while it ran.
    counters : kernel evaluations and other counts of the solver.
    parts : the `Solution` of each of several binary problems.
    version : of an external program, as it reports it.
    derived_tol : the solver's `tol` if it was derived from the target gap.
    finer_tol : the finest `tol` that the solver resolves, if it is below its own.
    """

    problem: Any
    solver: Solver
    point: Any
    status: Status
    claimed: Claim = "none"
    note: str = ""
    time_solve: float = float("nan")
    time_setup: float = float("nan")
    cpu_time: float = float("nan")
    iterations: int = 0
    trace: tuple[Evaluation, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    parts: tuple[Any, ...] = ()
    version: str = ""
    derived_tol: float | None = None
    finer_tol: float | None = None
