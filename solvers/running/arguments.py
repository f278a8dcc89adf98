"""Checks of the arguments of `solve` and of solvers' points; messages say what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

import numpy as np

from dualgap.problems import Gram, Point, Problem, SampleProblem
from dualgap.problems.answers.geometry import upper_limits
from dualgap.problems.blocks import DualRule
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Claim, FormPoint
from dualgap.problems.problem import split
from dualgap.problems.validation import short_repr
from dualgap.solvers.base import Solver
from dualgap.solvers.running.solution import Solution


def check_pair(problem: Any, solver: Any) -> None:
    """Raise ValueError unless these are a formulation and a solver, or None for the default one."""
    got = problem if isinstance(problem, type) else type(problem)
    if issubclass(got, Solver):
        raise ValueError(
            f"problem: got the solver {got.__name__}; the problem comes first: "
            f"solve(problem, {got.__name__}())"
        )
    if not isinstance(problem, Problem):
        raise ValueError(
            "problem: must be a formulation such as SoftMarginDual(X, y, C=1.0), got "
            f"{short_repr(problem)}"
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
        raise ValueError(f"solver: must be a solver such as SMO(), got {short_repr(solver)}")


def check_gram(problem: Problem, gram: Gram | None) -> None:
    """Raise ValueError if `gram` is not the Gram matrix of the problem."""
    if gram is None:
        return
    if not isinstance(gram, Gram):
        raise ValueError(f"gram: must be a dualgap.problems.Gram, got {short_repr(gram)}")
    if not isinstance(problem, SampleProblem):
        raise ValueError(f"gram: leave it out; {problem.name} has no samples, so no Gram matrix")
    if len(problem.parts) > 1:
        raise ValueError(
            "gram: leave it out; each of several binary problems has its own Gram matrix"
        )
    if gram.n != problem.n or gram.kernel != problem.kernel:
        raise ValueError(
            f"gram: must be that of the problem's {problem.n} samples and {problem.kernel!r}, got one "
            f"of {gram.n} samples and {gram.kernel!r}; use Gram(problem.X, problem.kernel, keep=True)"
        )


def starting_points(problem: Problem, initial: Any) -> list[Point | None]:
    """Return the starting point of each part, scaled to its box; None without an initial answer.

    The answer to a kernel problem with another C′ is multiplied by C/C′, so that variables at the bound
    stay there: along twenty values of C on ijcnn1 this halves the time per value. Linear problems are
    not scaled, as that would change w more.

    Raises
    ------
    ValueError
        If `initial` has no finite dual variables of the problem's shape.
    """
    if initial is None or not isinstance(
        problem, SampleProblem
    ):  # QP solvers have no starting point
        return [None] * len(problem.parts)
    # `Solution.alpha` would certify the answer, which takes longer than starting from it
    is_answer = isinstance(initial, Solution) and initial.point.alpha is not None
    start = initial.point if is_answer else initial
    alpha = start if isinstance(start, np.ndarray) else getattr(start, "alpha", None)
    shape = (problem.n, problem.outputs) if problem.outputs > 1 else (problem.n,)
    got = None if alpha is None else np.shape(alpha)
    if alpha is None or got != shape or not np.isfinite(alpha).all():
        raise ValueError(
            f"initial: must have finite dual variables alpha of shape {shape} (a Solution, Point or "
            f"array), got {type(initial).__name__} with alpha of shape {got}"
        )
    if isinstance(initial, Solution) and not problem.samples.is_linear:
        old, new = upper_limits(initial.problem), upper_limits(problem)
        if np.isfinite(old).all() and np.isfinite(new).all():
            alpha = (alpha.T * (new / old)).T  # of every output
    return [*split(problem, Point(alpha))]


def validated(point: Any) -> FormPoint:
    """Return the point in plain arrays, numbers and text; TypeError or ValueError if it is invalid.

    Lazy values are computed here, on the solver's time.
    """
    if type(point) is not FormPoint:  # the fields of a subclass may be properties
        raise TypeError(f"a solver yields FormPoint, this one {type(point).__name__}")
    if not isinstance(point.claim, str) or (claim := str.__str__(point.claim)) not in get_args(
        Claim
    ):
        raise ValueError(
            f"claim: must be one of {', '.join(get_args(Claim))}, got {short_repr(point.claim)}"
        )
    is_count = isinstance(point.iterations, (int, np.integer))
    if not is_count or not 0 <= (iterations := int(point.iterations)) < 2**63:
        raise ValueError(
            f"iterations: must be a whole number from 0 to 2**63 − 1, got {short_repr(point.iterations)}"
        )
    if not isinstance(point.rule, DualRule | None):
        raise TypeError(f"rule: must be a DualRule, got {short_repr(point.rule)}")
    has_texts = isinstance(point.note, str) and isinstance(point.version, str)
    if not isinstance(point.counters, Mapping) or not has_texts:
        raise TypeError(
            "the counters of a FormPoint must be a mapping, its note and version strings"
        )
    x, beta, b, inequality, w, equality = (
        _floats(getattr(point, name), name)
        for name in ("x", "beta", "b", "inequality", "w", "equality")
    )
    return FormPoint(
        x,
        beta,
        None if b is None else float(b),
        inequality,
        iterations,
        cast("Claim", claim),
        {str.__str__(name): float(value) for name, value in dict(point.counters).items()},
        str.__str__(point.note),
        w,
        str.__str__(point.version),
        equality,
        point.rule,
    )


def _floats(values: Any, name: str) -> Vector | None:
    if values is None or (type(values) is np.ndarray and values.dtype == float):
        return values
    if np.ma.isMaskedArray(values):
        raise TypeError(f"{name}: must be an array of floats, got a masked array")
    array = np.asarray(values)
    if array.dtype.kind not in "bifu":
        got = short_repr(values) if array.ndim == 0 else array.dtype  # 0-d: not an array
        raise TypeError(f"{name}: must be an array of floats, got {got}")
    return array.astype(np.float64)
