"""Problems of estimators and their answers; the Gram matrix that the pairs of several classes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from problems import Formulation, Gram, Kernel, Matrix, Point, Vector
from problems.dataset import Indices
from problems.kernels import Block
from solvers.smo.small import solve_small

SHARPER = 1e-6
SMALL = 1000  # samples up to which `tol`·SHARPER takes milliseconds, and the Gram matrix is cheap
_WHOLE = 5000  # samples of all classes, whose Gram matrix takes 200 MB


@dataclass(frozen=True, eq=False)
class Task:
    """min ½βᵀKβ − yᵀβ + tube·Σ|βᵢ|  s.t. lower ≤ β ≤ upper, Σβ = 0, or other sums over groups.

    Attributes
    ----------
    problem : makes the formulation, which takes as long as a small problem takes to solve.
    signs : α = signs·β, labels or ones.
    start : a β to begin from, feasible; None is 0.
    groups, sums : with nu, see `solvers.smo.small`. Sums without groups are left to `solve`.
    """

    problem: Callable[[], Formulation]
    y: Vector
    signs: Vector
    limits: tuple[Vector, Vector]
    tube: float = 0.0
    intercept: bool = True
    start: Vector | None = None
    groups: Indices | None = None
    sums: tuple[float, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether it is solved by its Gram matrix."""
        posed = self.groups is not None or not self.sums
        return posed and self.y.size <= SMALL and bool(np.isfinite(self.limits[1]).all())


@dataclass(frozen=True, eq=False)
class Answer:
    """The point of one machine, and ρ, by which LIBSVM divides the decisions of ν-SVC."""

    point: Any  # a Point
    iterations: int
    converged: bool
    margin: float = 1.0

    def __post_init__(self) -> None:
        if not self.margin > 0:
            raise ValueError("nu: leaves no margin between the classes; use a smaller nu")


def small_answer(task: Task, K: Block, tol: float, fine: float, most: int) -> Answer | None:
    """Solve a task by its Gram matrix (n, n) to `fine`, or to `tol`; None where that leads nowhere."""
    groups = np.full(task.y.size, task.intercept - 1) if task.groups is None else task.groups
    posed = task.limits, groups, task.sums, task.start
    beta, b, steps, violation = solve_small(K, -task.y, task.tube, *posed, tol, fine, most)
    if violation > tol and steps < most:
        return None
    margin = 0.5 * float(b[1] - b[0]) if b.size == 2 and groups.size == beta.size else 1.0
    point = Point(task.signs * beta, b=float(b.mean()) if b.size else 0.0)
    return Answer(point, steps, violation <= tol, margin)


def shared_gram(X: Matrix, kernel: Kernel) -> Callable[[Sequence[slice]], Block]:
    """Return a function that joins slices of the Gram matrix, which is computed once if it fits."""
    kernel.check(X)
    gram = Gram(X, kernel)
    whole = gram.dense() if gram.n <= _WHOLE else None

    def block(rows: slice, cols: slice) -> Block:
        return gram.block(rows, cols) if whole is None else whole[rows, cols]

    def among(place: Sequence[slice]) -> Block:
        if whole is not None and sum(part.stop - part.start for part in place) == gram.n:
            return whole
        return np.concatenate([np.concatenate([block(p, q) for q in place], 1) for p in place])

    return among
