"""What `solve` is given: checked, with what to write where it is of no use."""

from __future__ import annotations

from typing import Any

import numpy as np

from problems import Formulation, Gram, Multiclass, Point
from problems.validation import shown
from solvers.base import Solver
from solvers.running.solution import Solution


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
            "after `from solvers import find_solver`"
        )
    if solver is not None and not isinstance(solver, Solver):
        raise ValueError(f"solver: must be a solver such as SMO(), got {shown(solver)}")


def check_gram(problem: Formulation, gram: Gram | None) -> None:
    """Raise ValueError if a Gram matrix that is given is not that of the problem."""
    if gram is None:
        return
    if isinstance(problem, Multiclass):
        raise ValueError("gram: several binary problems have a Gram matrix each; leave it out")
    if gram.n != problem.n or gram.kernel != problem.kernel:
        raise ValueError(
            f"gram: must be that of the problem's {problem.n} samples and {problem.kernel!r}, got one "
            f"of {gram.n} samples and {gram.kernel!r}; Gram(problem.X, problem.kernel, keep=True) is"
        )


def starting_point(problem: Formulation, initial: Any) -> Point | None:
    """Return where to begin: what is given, its dual variables grown with the box; None for no idea.

    Raises
    ------
    ValueError
        If it has no finite dual variables of this problem.
    """
    if initial is None:
        return None
    point = Point(alpha=initial) if isinstance(initial, np.ndarray) else initial
    # certifying an answer takes longer than beginning at it
    found = point.point.alpha if isinstance(point, Solution) else None
    alpha = getattr(point, "alpha", None) if found is None else found
    shape = None if alpha is None else np.shape(alpha)
    if alpha is None or shape != (problem.n,) or not np.isfinite(alpha).all():
        raise ValueError(
            f"initial: needs {problem.n} finite dual variables alpha (a Solution, Point or vector), "
            f"got {type(initial).__name__} with alpha of shape {shape}"
        )
    return Point(alpha=alpha * _growth_of_box(problem, initial))


def _growth_of_box(problem: Formulation, initial: Any) -> Any:
    """Return Cᵢ/C'ᵢ for an answer to a kernel problem with another C: what is at C stays there.

    On ijcnn1 that halves the time of the next of twenty values of C. Linear solvers go by w, which
    changes less without it.
    """
    if not isinstance(initial, Solution) or problem.is_linear:
        return 1.0
    old, new = initial.problem.upper, problem.upper
    return new / old if np.isfinite(old).all() and np.isfinite(new).all() else 1.0
