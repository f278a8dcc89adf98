"""Which parameter a path follows and between which values: checked before anything is solved."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import get_args

import numpy as np

from dualgap.problems import Formulation
from dualgap.problems.answers.parametric_bounds import Parameter, with_value
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.validation import check_positive

Ends = tuple[float, float]


def interval_of(
    problem: Formulation, given: Mapping[Parameter, Ends | None], gap: float
) -> tuple[Parameter, float, float]:
    """Return the one parameter that is given, and its interval.

    Raises
    ------
    ValueError
        If an argument is not usable, or the problem has no such path.
    """
    if not 0 < check_positive(gap, "gap") < 1:
        raise ValueError(f"gap: must be between 0 and 1, got {gap!r}")
    chosen: list[tuple[Parameter, Ends]] = [
        (name, ends) for name, ends in given.items() if ends is not None
    ]
    if len(chosen) != 1:
        raise ValueError("C, lam, epsilon: give the interval of one of them, such as C=(0.01, 100)")
    ((name, ends),) = chosen
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: must be an interval (low, high), got {ends!r}") from None
    least_ok = low >= 0 if name == "epsilon" else low > 0
    if not (least_ok and low < high < np.inf):
        raise ValueError(f"{name}: must be an interval (low, high) above 0, got {ends!r}")
    if problem.in_blocks:
        raise ValueError(
            "problem: a path keeps the dual variables of all samples, and these are in blocks: solve at "
            "one value after another"
        )
    kind = type(problem).__name__
    several = problem.outputs > 1 or problem.parts[0].problem is not problem
    if several or np.isinf(problem.weight).any():
        raise ValueError(
            f"problem: a path is of one function with a finite loss, such as SoftMarginDual; got {kind}"
        )
    if problem.costs.any():
        raise ValueError(f"problem: a path needs Σβ = 0, and in {kind} it is not")
    known = [field.name for field in fields(problem) if field.name in get_args(Parameter)]  # type: ignore[arg-type]
    if name not in known:
        raise ValueError(f"{name}: {kind} has none; follow its {' or its '.join(known)}")
    for end in (low, high):  # on the way between them nothing is checked again
        replace(problem, **{name: end})  # type: ignore[type-var]
    if not all(_is_followed(problem, name, end) for end in (low, high)):
        raise ValueError(
            f"{name}: the bounds along it are those of weights in proportion to C or 1/lam and of one "
            f"loss, or of an epsilon-insensitive loss, and {kind} has others"
        )
    return name, low, high


def _is_followed(problem: Formulation, name: Parameter, end: float) -> bool:
    """Return whether a problem changes with its parameter as the bounds along it say."""
    at, own = with_value(problem, name, end), float(np.max(getattr(problem, name)))
    if name == "epsilon":
        return at.loss == EpsilonInsensitive(end) and np.array_equal(at.weight, problem.weight)
    share = end / own if name == "C" else own / end
    same = np.allclose(at.weight, share * problem.weight, rtol=1e-12, atol=0.0)
    return at.loss == problem.loss and same
