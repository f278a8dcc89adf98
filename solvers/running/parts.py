"""The answer to a problem from those to its parts: one clock, one budget, one trace, and sums.

    min Σⱼ Fⱼ: the parts share no variable; each is solved alone, by the same solver
Limits apply to the sum: a part gets what its predecessors left. One that a limit prevents from starting
stays at its starting point, by default α = 0, which is feasible and gives both bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems import Certificate, Point, certify
from dualgap.problems.forms import Claim
from dualgap.problems.problem import Part, join, join_certificates
from dualgap.solvers.base import NoSolver, Solver, Status
from dualgap.solvers.running.loop import EVALUATION_TIME_RATIO, Request
from dualgap.solvers.running.output import Evaluation
from dualgap.solvers.running.solution import Solution


class Parts:
    """The answers to the parts so far, and the evaluations of their sum."""

    def __init__(self, request: Request, starts: Sequence[Point | None]) -> None:
        self.request, self.starts = request, starts
        self.problem: Any = request.problem
        self.answers: list[Solution] = []
        self.trace: list[Evaluation] = []
        self.next_evaluation = 0.0

    @cached_property
    def start_certificates(self) -> list[Certificate]:
        """The certificate of each part at its starting point."""
        pairs = zip(self.problem.parts, self.starts, strict=True)
        return [certify(part.problem, _start_point(part, start)) for part, start in pairs]

    @property
    def time(self) -> float:
        """Seconds of solving of all parts so far."""
        return sum(answer.time_solve for answer in self.answers)

    @property
    def iterations(self) -> int:
        """Iterations of all parts so far."""
        return sum(answer.iterations for answer in self.answers)

    def remaining(self) -> tuple[Request, Status | None]:
        """Return the request with the remaining seconds and iterations, and the exhausted limit."""
        time, iterations = self.request.time_limit, self.request.max_iter
        time = None if time is None else time - self.time
        iterations = None if iterations is None else iterations - self.iterations
        remaining = replace(self.request, time_limit=time, max_iter=iterations)
        if time is not None and time <= 0:
            return remaining, Status.TIME_LIMIT
        spent = iterations is not None and iterations <= 0 and bool(self.answers)
        return remaining, Status.MAX_ITER if spent else None

    def solve(
        self, run: Callable[[Request, Point | None], Solution], solver: Solver | None
    ) -> Solution:
        """Return the answer to the sum, each of whose parts `run(request, start)` solves.

        `solver` is the first that it uses, None for the default one.
        """
        callback = self.evaluate if self.request.needs_trace else None
        for part, start in zip(self.problem.parts, self.starts, strict=True):
            remaining, exhausted = self.remaining()
            if exhausted is not None:
                self.skip(part, start, solver, exhausted)
                continue
            answer = run(replace(remaining, problem=part.problem, callback=callback), start)
            if answer.status in (Status.UNSUPPORTED, Status.NOT_INSTALLED):
                return Solution(
                    self.problem,
                    answer.solver,
                    Point(),
                    answer.status,
                    note=f"{part.name}: {answer.note}",
                    target=self.request.target,
                )
            solver = solver or answer.solver
            self.answers.append(answer)
        return self.solution(solver)

    def skip(self, part: Part, start: Point | None, solver: Solver | None, limit: Status) -> None:
        """Leave a part at its starting point, as a limit is exhausted."""
        named, point = solver or NoSolver(), _start_point(part, start)
        self.answers.append(Solution(part.problem, named, point, limit, time_solve=0.0))

    def evaluate(self, evaluation: Evaluation) -> None:
        """Evaluate the sum, if due, when the part being solved is evaluated."""
        time = self.time + evaluation.time
        if time < self.next_evaluation:
            return  # one schedule per part would keep 45 times as many answers for 45 parts
        self.next_evaluation = EVALUATION_TIME_RATIO * time
        certificates = [*(answer.certificate for answer in self.answers), evaluation.certificate]
        certificates += self.start_certificates[len(certificates) :]
        self._record(time, self.iterations + evaluation.iteration, certificates)

    def _record(self, time: float, iteration: int, certificates: list[Certificate]) -> None:
        total = join_certificates(self.problem, certificates)
        evaluation = Evaluation(time, iteration, self.problem, total.point, total)
        self.trace.append(evaluation)
        if self.request.callback is not None:
            self.request.callback(evaluation)

    def solution(self, solver: Solver | None) -> Solution:
        """Return the answer to all parts, after evaluating it.

        Times, iterations and counters are sums, the status is the worst, the claim the weakest.
        """
        if self.trace and self.trace[-1].iteration != self.iterations:
            self._record(
                self.time, self.iterations, [answer.certificate for answer in self.answers]
            )
        counters: Counter[str] = Counter()
        for answer in self.answers:
            counters.update(dict(answer.counters))  # sums floats as well
        # from best to worst, from strongest to weakest
        statuses = [Status.FINISHED, Status.MAX_ITER, Status.TIME_LIMIT, Status.DIVERGED]
        claims: list[Claim] = ["optimal", "infeasible", "unbounded", "stopped", "none"]
        return Solution(
            problem=self.problem,
            solver=solver or NoSolver(),
            point=join(self.problem, [answer.point for answer in self.answers]),
            status=max((answer.status for answer in self.answers), key=statuses.index),
            claimed=max((answer.claimed for answer in self.answers), key=claims.index),
            note="; ".join(dict.fromkeys(answer.note for answer in self.answers if answer.note)),
            time_solve=self.time,
            time_setup=float(np.nansum([answer.time_setup for answer in self.answers])),
            cpu_time=float(np.nansum([answer.cpu_time for answer in self.answers])),
            iterations=self.iterations,
            trace=tuple(self.trace),
            counters=counters,
            parts=tuple(self.answers),
            derived_tol=next((each.derived_tol for each in self.answers if each.derived_tol), None),
            finer_tol=next((each.finer_tol for each in self.answers if each.finer_tol), None),
            target=self.request.target,
        )


def _start_point(part: Part, start: Point | None) -> Point:
    """Return the starting point of a part: the one given, else 0."""
    problem = part.problem
    alpha = np.zeros(problem.n) if start is None else np.asarray(start.alpha)
    is_linear = problem.samples.is_linear
    return Point(alpha, problem.X.T @ problem.risk.beta(alpha) if is_linear else None)
