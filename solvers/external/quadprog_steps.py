"""Proximal steps with quadprog, which takes the Cholesky factor of P.

P of a dual or of a nearly linear program is singular, and quadprog minimises f + ½δ‖x − c‖² in its
place: about c = 0, then about the last x until the ridge δ changes f no more (Rockafellar 1976).
"""

from time import perf_counter
from typing import Any

import numpy as np

from dualgap.problems.dataset import Vector


def ridge(P: Vector) -> float:
    """Return δ: it moves the optimum by O(δ) and adds rounding of O(eps/δ), so √eps is best."""
    return float(np.sqrt(np.finfo(float).eps)) * float(np.mean(np.diag(P)))


def quadprog_answer(qpsolvers: Any, problem: Any, limit_s: float | None) -> Any:
    """Return quadprog's answer to a dense qpsolvers problem whose P has a `ridge`, in ten steps at most.

    Steps end where the ridge contributes at most 1e-7 of the terms of f. If there is no point, they
    begin again with 64 times the ridge, and with 4,096 times.
    """
    start, best = perf_counter(), None
    P, q, *constraints = problem.unpack()
    for delta in ridge(P) * np.array([1.0, 64.0, 4096.0]):
        centre = np.zeros(q.size)
        matrix = P + (delta - ridge(P)) * np.eye(q.size)
        for _ in range(10):
            step = type(problem)(matrix, q - delta * centre, *constraints)
            answer = qpsolvers.solve_problem(step, "quadprog")
            if not answer.found:
                answer = qpsolvers.solve_problem(loosened(step), "quadprog")
            best = answer if best is None or answer.found else best
            if not answer.found:
                break
            change, centre = answer.x - centre, answer.x
            terms = 0.5 * abs(centre @ (P @ centre)) + abs(q) @ abs(centre)
            is_late = limit_s is not None and perf_counter() - start > limit_s
            if 0.5 * delta * (change @ change) <= 1e-7 * terms or is_late:
                return answer
        if best is not None and best.found:
            break
    return best


def loosened(problem: Any) -> Any:
    """Return the problem with h, lb and ub looser by up to 1e-9 of themselves, but at least of one.

    quadprog finds no point where rounding violates a constraint that follows from active ones: at random
    distances no constraint does (Charnes 1952).
    """
    rng = np.random.default_rng(0)

    def loosen(limits: Any, sign: float) -> Any:
        if limits is None:
            return None
        return limits + sign * 1e-9 * np.maximum(1.0, np.abs(limits)) * rng.uniform(
            0.5, 1.0, limits.size
        )

    P, q, G, h, A, b, lb, ub = problem.unpack()
    return type(problem)(P, q, G, loosen(h, 1.0), A, b, loosen(lb, -1.0), loosen(ub, 1.0))
