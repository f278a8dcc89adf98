"""The answer to a problem from the answers to its parts: one clock, one budget, one trace, and sums.

    min Σⱼ Fⱼ: the parts share no variable; each is solved alone, by the same solver
Limits hold for the sum: a part gets what those before it left. One that a limit did not let begin stays
at its start, α = 0 unless one is given, which is feasible and bounds its share from both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from dualgap.problems import Certificate, Formulation, Point, certify
from dualgap.problems.forms import Claim
from dualgap.problems.formulations.formulation import Part
from dualgap.solvers.base import NoSolver, Solver, Status
from dualgap.solvers.running.solution import Evaluation, Solution

_STATUSES_FROM_BEST = [Status.FINISHED, Status.MAX_ITER, Status.TIME_LIMIT, Status.DIVERGED]
_CLAIMS_FROM_STRONGEST: list[Claim] = [
    "optimal",
    "infeasible",
    "unbounded",
    "stopped",
    "none",
]
GROWTH = 1.25  # between the times of two evaluations


class Parts:
    """The parts of a problem that are solved so far, and the evaluations of their sum."""

    def __init__(
        self,
        problem: Formulation,
        starts: Sequence[Point | None],
        callback: Callable[[Evaluation], object] | None,
    ) -> None:
        self.problem, self.starts, self.callback = problem, starts, callback
        self.done: list[Solution] = []
        self.trace: list[Evaluation] = []
        self.next_evaluation = 0.0

    @cached_property
    def untouched(self) -> list[Certificate]:
        """What each part is worth at its start."""
        pairs = zip(self.problem.parts, self.starts, strict=True)
        return [certify(part.problem, _start_of(part, start)) for part, start in pairs]

    @property
    def time(self) -> float:
        """Seconds that the parts took so far."""
        return sum(answer.time_solve for answer in self.done)

    @property
    def iterations(self) -> int:
        """Iterations of all parts so far."""
        return sum(answer.iterations for answer in self.done)

    def left(
        self, time_limit: float | None, max_iter: int | None
    ) -> tuple[float | None, int | None, Status | None]:
        """Return the seconds and iterations that are left, and the limit that leaves nothing."""
        time = None if time_limit is None else time_limit - self.time
        iterations = None if max_iter is None else max_iter - self.iterations
        if time is not None and time <= 0:
            return time, iterations, Status.TIME_LIMIT
        spent = iterations is not None and iterations <= 0 and bool(self.done)
        return time, iterations, Status.MAX_ITER if spent else None

    def leave(self, part: Part, start: Point | None, solver: Solver | None, limit: Status) -> None:
        """Leave a part at its start, as a limit does not let it begin."""
        by, point = solver or NoSolver(), _start_of(part, start)
        self.done.append(Solution(part.problem, by, point, limit, time_solve=0.0))

    def evaluate(self, found: Evaluation) -> None:
        """Evaluate the sum, when the part that is being solved is evaluated."""
        time = self.time + found.time
        if time < self.next_evaluation:
            return  # on a schedule of each part, 45 parts would keep 45 times as many answers
        self.next_evaluation = GROWTH * time
        known = [*(answer.certificate for answer in self.done), found.certificate]
        self._keep(time, self.iterations + found.iteration, [*known, *self.untouched[len(known) :]])

    def _keep(self, time: float, iteration: int, certificates: list[Certificate]) -> None:
        known = self.problem.summed(certificates)
        evaluation = Evaluation(time, iteration, self.problem, known.point, known)
        self.trace.append(evaluation)
        if self.callback is not None:
            self.callback(evaluation)

    def solution(self, solver: Solver | None, target_gap: float) -> Solution:
        """Return the answer to all parts, which the last evaluation is of.

        Times, iterations and counters are sums, the status is the worst of all, the claim the weakest.
        """
        if self.trace and self.trace[-1].iteration != self.iterations:
            self._keep(self.time, self.iterations, [answer.certificate for answer in self.done])
        counters: Counter[str] = Counter()
        for answer in self.done:
            counters.update(dict(answer.counters))  # type: ignore[arg-type]  # sums floats as well
        return Solution(
            problem=self.problem,
            solver=solver or NoSolver(),
            point=self.problem.join([answer.point for answer in self.done]),
            status=max((answer.status for answer in self.done), key=_STATUSES_FROM_BEST.index),
            claimed=max((answer.claimed for answer in self.done), key=_CLAIMS_FROM_STRONGEST.index),
            note="; ".join(dict.fromkeys(answer.note for answer in self.done if answer.note)),
            target_gap=target_gap,
            derived_tol=next(
                (answer.derived_tol for answer in self.done if answer.derived_tol), None
            ),
            time_solve=self.time,
            time_setup=float(np.nansum([answer.time_setup for answer in self.done])),
            cpu_time=float(np.nansum([answer.cpu_time for answer in self.done])),
            iterations=self.iterations,
            trace=tuple(self.trace),
            counters=counters,  # type: ignore[arg-type]
            parts=tuple(self.done),
        )


def _start_of(part: Part, start: Point | None) -> Point:
    """Return the point at which a part stays that is not begun: the start given, else 0."""
    problem = part.problem
    alpha = np.zeros(problem.n) if start is None else np.asarray(start.alpha)
    return Point(alpha, problem.X.T @ problem.beta(alpha) if problem.is_linear else None)
