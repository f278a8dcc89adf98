"""Checks of the parameter that a path follows and of its interval, before anything is solved."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import get_args

import numpy as np

from dualgap.problems import Formulation, Problem, SampleProblem
from dualgap.problems.answers.interpolation import Parameter, with_value
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.validation import check_positive

Ends = tuple[float, float]


def validate_interval(
    problem: Problem,
    intervals: Mapping[Parameter, Ends | None],
    gap: float,
    time_limit: float | None = None,
) -> tuple[Parameter, float, float]:
    """Return the one parameter with an interval, and its ends.

    Raises
    ------
    ValueError
        If an argument is invalid, or the problem has no such path.
    """
    if not 0 < check_positive(gap, "gap") < 1:
        raise ValueError(f"gap: must be between 0 and 1, got {gap!r}")
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    chosen: list[tuple[Parameter, Ends]] = [
        (name, ends) for name, ends in intervals.items() if ends is not None
    ]
    if len(chosen) != 1:
        raise ValueError("C, lam, epsilon: give the interval of one of them, such as C=(0.01, 100)")
    ((name, ends),) = chosen
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: must be an interval (low, high), got {ends!r}") from None
    low_is_valid = low >= 0 if name == "epsilon" else low > 0
    if not (low_is_valid and low < high < np.inf):
        raise ValueError(f"{name}: must be an interval (low, high) above 0, got {ends!r}")
    kind = type(problem).__name__
    if not isinstance(problem, SampleProblem):
        raise ValueError(f"problem: a path needs samples, which {kind} does not have")
    if problem.in_blocks:
        raise ValueError(
            "problem: must not be in blocks, as a path keeps the dual variables of all samples; solve "
            "at one value after another"
        )
    if not isinstance(problem, Formulation) or problem.outputs > 1 or problem.risk.is_hard:
        raise ValueError(
            f"problem: a path is of one function with a finite loss, such as SoftMarginDual; got {kind}"
        )
    if problem.risk.costs.any():
        raise ValueError(f"problem: a path needs Σβ = 0, which does not hold for {kind}")
    names = [field.name for field in fields(problem) if field.name in get_args(Parameter)]
    if name not in names:
        raise ValueError(f"{name}: {kind} has none; follow its {' or its '.join(names)}")
    for end in (low, high):  # values in between are not checked again
        replace(problem, **{name: end})
    if not all(_is_parametric(problem, name, end) for end in (low, high)):
        raise ValueError(
            f"{name}: the bounds along it need weights in proportion to C or 1/lam and a fixed loss, or "
            f"an epsilon-insensitive loss, unlike {kind}"
        )
    return name, low, high


def _is_parametric(problem: Formulation, name: Parameter, end: float) -> bool:
    """Whether the problem depends on its parameter as the parametric bounds assume."""
    moved, value = with_value(problem, name, end), float(np.max(getattr(problem, name)))
    if name == "epsilon":
        return moved.risk.loss == EpsilonInsensitive(end) and np.array_equal(
            moved.risk.C, problem.risk.C
        )
    ratio = end / value if name == "C" else value / end
    is_proportional = np.allclose(moved.risk.C, ratio * problem.risk.C, rtol=1e-12, atol=0.0)
    return moved.risk.loss == problem.risk.loss and is_proportional
