"""`solve` for several binary problems at once: one after the other, with one clock, budget and answer.

    min Σⱼ Fⱼ(wⱼ, bⱼ): the parts share no variable, so that each is solved alone, by the same solver
Limits hold for the sum: a part gets what those before it left. Parts that a limit did not let begin stay
at their start, α = 0 unless one is given, which is feasible and bounds their share from both sides.
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
from solvers.solution import Look, Solution

_FROM_BEST = [Status.FINISHED, Status.MAX_ITER, Status.TIME_LIMIT, Status.DIVERGED]
_FROM_STRONGEST: list[Claim] = ["optimal", "infeasible", "stopped", "none"]
_NO_ANSWER = (Status.UNSUPPORTED, Status.NOT_INSTALLED)
_GROWTH = 1.25  # between the times of two looks, as in the loop


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
    callback: Callable[[Look], object] | None,
) -> Solution:
    """Solve every part with `solver` by calling `solve`, whose arguments the others are.

    Times, iterations and counters are sums, the status is the worst of the parts' and the claim the
    weakest. `Solution.parts` has the answers to the parts.
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
            callback=run.look if callback is not None or stop_at_target else None,
        )
        if answer.status in _NO_ANSWER:
            note = f"{part.name}: {answer.note}"
            return Solution(
                problem, solver, Point(), answer.status, note=note, target_gap=target_gap
            )
        run.done.append(answer)
    return run.solution(solver, target_gap)


def _starts(problem: Multiclass, initial: Any) -> Sequence[Any]:
    """Return where each part begins, None for no idea.

    Raises
    ------
    ValueError
        If `initial` is not an answer to so many parts.
    """
    if initial is None:
        return [None] * problem.outputs
    if isinstance(initial, Solution) and len(initial.parts) == problem.outputs:
        return initial.parts
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
    """The parts that are done, and the looks at the sum."""

    def __init__(
        self,
        problem: Multiclass,
        starts: Sequence[Any],
        callback: Callable[[Look], object] | None,
    ) -> None:
        self.problem, self.starts, self.callback = problem, starts, callback
        self.done: list[Solution] = []
        self.looks: list[Look] = []
        self.next_look = 0.0
        self.later: list[Certificate] = []

    @property
    def time(self) -> float:
        """Seconds that the parts took so far."""
        return sum(answer.time_solve for answer in self.done)

    @property
    def iterations(self) -> int:
        """Iterations of all parts so far."""
        return sum(answer.iterations for answer in self.done)

    def look(self, look: Look) -> None:
        """Look at the sum, when the part that is being solved is looked at."""
        time = self.time + look.time
        if time < self.next_look:
            return  # the looks at 45 parts would keep 45 times as many answers
        self.next_look = _GROWTH * time
        parts = [*(answer.certificate for answer in self.done), look.certificate]
        parts += self._untouched()[len(parts) :]
        certificate = self.problem.summed(parts)
        self._keep(Look(time, self.iterations + look.iteration, certificate))

    def _untouched(self) -> list[Certificate]:
        """Return the certificates of the points where the parts begin."""
        if not self.later:
            pairs = zip(self.problem.subproblems, self.starts, strict=True)
            self.later = [certify(part.problem, _start_point(part, start)) for part, start in pairs]
        return self.later

    def _keep(self, look: Look) -> None:
        self.looks.append(look)
        if self.callback is not None:
            self.callback(look)

    def solution(self, solver: Solver, target_gap: float) -> Solution:
        """Return the answer of all parts; the last look is at it."""
        if self.looks and self.looks[-1].iteration != self.iterations:
            every = [answer.certificate for answer in self.done]
            summed = self.problem.summed(every)
            self._keep(Look(self.time, self.iterations, summed))
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
            trace=tuple(self.looks),
            counters=counters,  # type: ignore[arg-type]
            parts=tuple(self.done),
        )
