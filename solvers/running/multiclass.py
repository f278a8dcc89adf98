"""`solve` for several binary problems at once: one after the other, with one clock, budget and answer.

    min Σⱼ Fⱼ(wⱼ, bⱼ): the subproblems share no variable; each is solved alone, by the same solver
Limits hold for the sum: a subproblem gets what those before it left. One that a limit did not let begin
stays at its start, α = 0 unless one is given, which is feasible and bounds its share from both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from problems import Certificate, Multiclass, Point, certify
from problems.forms import Claim
from problems.formulations.multiclass import Subproblem
from solvers.base import Solver, Status
from solvers.running.solution import Evaluation, Solution

_FROM_BEST = [Status.FINISHED, Status.MAX_ITER, Status.TIME_LIMIT, Status.DIVERGED]
_FROM_STRONGEST: list[Claim] = ["optimal", "infeasible", "stopped", "none"]
_NO_ANSWER = (Status.UNSUPPORTED, Status.NOT_INSTALLED)
_GROWTH = 1.25  # between the times of two evaluations, as in the loop


def solve_subproblems(
    problem: Multiclass,
    solver: Solver,
    solve: Callable[..., Solution],
    *,
    target_gap: float,
    stop_at_target: bool,
    initial: Any,
    time_limit: float | None,
    max_iter: int | None,
    callback: Callable[[Evaluation], object] | None,
    clock: Callable[[], float],
) -> Solution:
    """Solve every subproblem with `solver` by calling `solve`, whose arguments the others are.

    Times, iterations and counters are sums, the status is the worst of all and the claim the weakest.
    `Solution.subsolutions` has the answers to the subproblems.
    """
    run = _Run(problem, _starts(problem, initial), callback)
    for part, start in zip(problem.subproblems, run.starts, strict=True):
        time_left = None if time_limit is None else time_limit - run.time
        iterations_left = None if max_iter is None else max_iter - run.iterations
        out_of = _out_of(time_left, iterations_left)
        if out_of is not None:
            point = _start_point(part, start)
            run.done.append(Solution(part.problem, solver, point, out_of, time_solve=0.0))
            continue
        answer = solve(
            part.problem,
            solver,
            target_gap=target_gap,
            stop_at_target=stop_at_target,
            initial=start,
            time_limit=time_left,
            max_iter=iterations_left,
            callback=run.evaluate if callback is not None or stop_at_target else None,
            clock=clock,
        )
        if answer.status in _NO_ANSWER:
            note = f"{part.name}: {answer.note}"
            return Solution(
                problem, solver, Point(), answer.status, note=note, target_gap=target_gap
            )
        run.done.append(answer)
    return run.solution(solver, target_gap)


def _starts(problem: Multiclass, initial: Any) -> Sequence[Any]:
    """Return where each subproblem begins, None for no idea.

    Raises
    ------
    ValueError
        If `initial` is not an answer to so many subproblems.
    """
    if initial is None:
        return [None] * problem.outputs
    if isinstance(initial, Solution) and len(initial.subsolutions) == problem.outputs:
        return initial.subsolutions
    alpha = initial if isinstance(initial, np.ndarray) else getattr(initial, "alpha", None)
    shape = (problem.n, problem.outputs)
    given = None if alpha is None else np.shape(alpha)
    if alpha is None or np.size(alpha) != problem.n * problem.outputs:
        raise ValueError(
            f"initial: needs dual variables alpha of shape {shape} (a Solution, Point or array), "
            f"got {type(initial).__name__} with alpha of shape {given}"
        )
    return problem.split(Point(alpha=np.reshape(alpha, shape)))


def _out_of(time_left: float | None, iterations_left: int | None) -> Status | None:
    if time_left is not None and time_left <= 0:
        return Status.TIME_LIMIT
    return Status.MAX_ITER if iterations_left is not None and iterations_left <= 0 else None


def _start_point(part: Subproblem, start: Any) -> Point:
    problem = part.problem
    alpha = np.zeros(problem.n) if start is None else np.asarray(start.alpha)
    return Point(alpha, problem.X.T @ problem.beta(alpha) if problem.is_linear else None)


class _Run:
    """The subproblems that are done, and the evaluations of the sum."""

    def __init__(
        self,
        problem: Multiclass,
        starts: Sequence[Any],
        callback: Callable[[Evaluation], object] | None,
    ) -> None:
        self.problem, self.starts, self.callback = problem, starts, callback
        self.done: list[Solution] = []
        self.trace: list[Evaluation] = []
        self.next_evaluation = 0.0
        self.later: list[Certificate] = []

    @property
    def time(self) -> float:
        """Seconds that the subproblems took so far."""
        return sum(answer.time_solve for answer in self.done)

    @property
    def iterations(self) -> int:
        """Iterations of all subproblems so far."""
        return sum(answer.iterations for answer in self.done)

    def evaluate(self, found: Evaluation) -> None:
        """Evaluate the sum, when the subproblem that is being solved is evaluated."""
        time = self.time + found.time
        if time < self.next_evaluation:
            return  # those of 45 subproblems would keep 45 times as many answers
        self.next_evaluation = _GROWTH * time
        parts = [*(answer.certificate for answer in self.done), found.certificate]
        parts += self._untouched()[len(parts) :]
        certificate = self.problem.summed(parts)
        self._keep(time, self.iterations + found.iteration, certificate)

    def _untouched(self) -> list[Certificate]:
        """Return the certificates of the points where the subproblems begin."""
        if not self.later:
            pairs = zip(self.problem.subproblems, self.starts, strict=True)
            self.later = [certify(part.problem, _start_point(part, start)) for part, start in pairs]
        return self.later

    def _keep(self, time: float, iteration: int, known: Certificate) -> None:
        evaluation = Evaluation(time, iteration, self.problem, known.point, known)
        self.trace.append(evaluation)
        if self.callback is not None:
            self.callback(evaluation)

    def solution(self, solver: Solver, target_gap: float) -> Solution:
        """Return the answer to all subproblems, which the last evaluation is of."""
        if self.trace and self.trace[-1].iteration != self.iterations:
            every = [answer.certificate for answer in self.done]
            summed = self.problem.summed(every)
            self._keep(self.time, self.iterations, summed)
        counters: Counter[str] = Counter()
        for answer in self.done:
            counters.update(dict(answer.counters))  # type: ignore[arg-type]  # sums floats as well
        return Solution(
            problem=self.problem,
            solver=solver,
            point=self.problem.join([answer.point for answer in self.done]),
            status=max((answer.status for answer in self.done), key=_FROM_BEST.index),
            claimed=max((answer.claimed for answer in self.done), key=_FROM_STRONGEST.index),
            note="; ".join(dict.fromkeys(answer.note for answer in self.done if answer.note)),
            target_gap=target_gap,
            time_solve=self.time,
            time_setup=float(np.nansum([answer.time_setup for answer in self.done])),
            cpu_time=float(np.nansum([answer.cpu_time for answer in self.done])),
            iterations=self.iterations,
            trace=tuple(self.trace),
            counters=counters,  # type: ignore[arg-type]
            subsolutions=tuple(self.done),
        )
