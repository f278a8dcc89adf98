"""What `solve` is given: checked, with what to write where it is of no use."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualgap.problems import Formulation, Gram, Point
from dualgap.problems.validation import shown
from dualgap.solvers.base import Solver
from dualgap.solvers.running.solution import Solution


def check_pair(problem: Any, solver: Any) -> None:
    """Raise ValueError, saying what to write, if these are no formulation and no solver."""
    given = problem if isinstance(problem, type) else type(problem)
    if issubclass(given, Solver):
        raise ValueError(
            f"problem: got the solver {given.__name__}; the problem comes first: "
            f"solve(problem, {given.__name__}())"
        )
    if not isinstance(problem, Formulation):
        raise ValueError(
            "problem: must be a formulation such as SoftMarginDual(X, y, C=1.0), got "
            f"{shown(problem)}"
        )
    if isinstance(solver, type) and issubclass(solver, Solver):
        name = solver.__name__
        raise ValueError(f"solver: got the class {name}; write solve(problem, {name}())")
    if isinstance(solver, str):
        raise ValueError(
            f"solver: got the name {solver!r}; write solve(problem, find_solver({solver!r})()), "
            "after `from dualgap.solvers import find_solver`"
        )
    if solver is not None and not isinstance(solver, Solver):
        raise ValueError(f"solver: must be a solver such as SMO(), got {shown(solver)}")


def check_gram(problem: Formulation, gram: Gram | None) -> None:
    """Raise ValueError if a Gram matrix that is given is not that of the problem."""
    if gram is None:
        return
    if not isinstance(gram, Gram):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"gram: must be a Gram of `problems`, got {shown(gram)}")
    if len(problem.parts) > 1:
        raise ValueError("gram: several binary problems have a Gram matrix each; leave it out")
    if gram.n != problem.n or gram.kernel != problem.kernel:
        raise ValueError(
            f"gram: must be that of the problem's {problem.n} samples and {problem.kernel!r}, got one "
            f"of {gram.n} samples and {gram.kernel!r}; Gram(problem.X, problem.kernel, keep=True) is"
        )


def starting_points(problem: Formulation, initial: Any) -> list[Point | None]:
    """Return where each part begins: at what is given, grown with its box; None for no idea.

    An answer to a kernel problem with another C is multiplied by C/C': what is at C stays there. On
    ijcnn1 that halves the time of the next of twenty values of C. Linear solvers go by w, which changes
    less without it.

    Raises
    ------
    ValueError
        If it has no finite dual variables of this problem.
    """
    if initial is None:
        return [None] * len(problem.parts)
    # certifying an answer takes longer than beginning at it
    known = isinstance(initial, Solution) and initial.point.alpha is not None
    answer = initial.point if known else initial
    alpha = answer if isinstance(answer, np.ndarray) else getattr(answer, "alpha", None)
    shape = (problem.n, problem.outputs) if problem.outputs > 1 else (problem.n,)
    given = None if alpha is None else np.shape(alpha)
    if alpha is None or given != shape or not np.isfinite(alpha).all():
        raise ValueError(
            f"initial: needs finite dual variables alpha of shape {shape} (a Solution, Point or "
            f"array), got {type(initial).__name__} with alpha of shape {given}"
        )
    if isinstance(initial, Solution) and not problem.is_linear:
        old, new = initial.problem.upper, problem.upper
        if np.isfinite(old).all() and np.isfinite(new).all():
            alpha = (alpha.T * (new / old)).T  # of each output
    return [*problem.split(Point(alpha))]
