"""Problems in units of their own data, by exact powers of two.

Metres or micrometres make the same problem: with K = 2ᵖK' and y = 2ᵏy' it is that of K' and y' with
α = 2ᵏ⁻ᵖα', w = 2ᵏ⁻ᵖᐟ²w', f = 2ᵏf' and C = 2ᵏ⁻ᵖC', or 2⁻ᵖC' for a squared loss. Solvers are given the
problem in which targets, and features of extreme size, are of the size of one: their tolerances, whose
units would else be those of the data, are relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.forms import AsPosed, Point, Reduction, reduce
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Linear, Precomputed
from dualgap.problems.registry import is_ours

# Binary exponents of features up to which no copy is made: only absolute constants of libraries, such as
# LIBSVM's least curvature 1e-12, are to be small beside their squares.
_ORDINARY_FEATURES = 12


@dataclass(frozen=True, eq=False)
class Units:
    """A problem in units of its own, and the way there and back.

    Attributes
    ----------
    problem : the problem in these units.
    decision, alpha, weights : binary exponents of the units of f and b, of α, and of w.
    """

    problem: Any
    decision: int = 0
    alpha: int = 0
    weights: int = 0

    def inside(self, point: Point) -> Point:
        """Return a point of the original problem in these units."""
        return self._times(point, -1)

    def outside(self, point: Point) -> Point:
        """Return a point in these units as one of the original problem."""
        return self._times(point, 1)

    def _times(self, point: Point, sign: int) -> Point:
        exponents = {"alpha": self.alpha, "w": self.weights, "b": self.decision}
        known = {name: getattr(point, name) for name, k in exponents.items() if k}
        values = {n: np.ldexp(v, sign * exponents[n]) for n, v in known.items() if v is not None}
        return replace(point, **values) if values else point


def in_units(problem: Any, features: bool = True) -> Units:
    """Return a problem in units of its own data; itself if that is not exact, or its class is a user's.

    `features` is whether these may be scaled: not if values of their kernel are known.
    """
    if problem.in_blocks or not problem.has_samples or not is_ours(type(problem)):
        return Units(problem)
    known = problem.shared_gram is not None or not features
    m, k = 0 if known else _exponent_of_features(problem), problem.decision_exponent
    p = 2 * m if isinstance(problem.kernel, Linear) else m
    exponents = {"X": m, "C": k * (2 - (problem.loss.degree or 2)) - p}
    if problem.is_regression:
        exponents |= {"y": k, "epsilon": k}
    exponents["lam"] = -exponents["C"]
    names = {"y", "C", *(field.name for field in fields(problem))}  # type: ignore[arg-type]
    values = {n: (getattr(problem, n, None), e) for n, e in exponents.items() if e and n in names}
    values = {n: (v, e) for n, (v, e) in values.items() if v is not None}
    scaled = {name: _times(value, -e) for name, (value, e) in values.items()}
    if not scaled or any(value is None for value in scaled.values()):
        return Units(problem)
    if k and "loss" in names and hasattr(problem.loss, "epsilon"):
        scaled["loss"] = replace(problem.loss, epsilon=float(np.ldexp(problem.loss.epsilon, -k)))
    if p and "psd_shift" in vars(problem):
        scaled["psd_shift"] = float(np.ldexp(problem.psd_shift, -p))
    return Units(problem.changed(**scaled), k, k - p, k - p // 2)


def reduce_in_units(
    problem: Any, form: type[Any], start: Point | None = None, gram: Gram | None = None
) -> Reduction[Any]:
    """Return what `reduce` does of the problem in units of its own, and the way back to the original.

    What is written to files, a form `AsPosed`, is in the units of the data.
    """
    if form is AsPosed:
        return reduce(problem, form, start, gram=gram)
    units = in_units(problem, features=gram is None)
    begin = None if start is None else units.inside(start)
    made = reduce(units.problem, form, begin, gram=gram)
    return Reduction(made.form, lambda point: units.outside(made.recover(point)))


def _exponent_of_features(problem: DualProblem) -> int:
    """Return the binary exponent of the largest entry of X, 0 if it is ordinary or kernels fix it."""
    if not isinstance(problem.kernel, Linear | Precomputed):
        return 0
    values = problem.X if isinstance(problem.X, np.ndarray) else problem.X.data
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(size)[1])
    return exponent if abs(exponent) > _ORDINARY_FEATURES else 0


def _times(value: Any, exponent: int) -> Any:
    """Return 2 to the power of `exponent` times a number or an array, None where that is not exact."""
    if scipy.sparse.issparse(value):
        data = _times(value.data, exponent)
        made = (data, value.indices, value.indptr)
        return None if data is None else type(value)(made, shape=value.shape)
    scaled = np.ldexp(value, exponent)
    if not np.array_equal(np.ldexp(scaled, -exponent), value):
        return None
    if np.ndim(value) == 0:
        return float(scaled)
    scaled.flags.writeable = value.flags.writeable
    return scaled
