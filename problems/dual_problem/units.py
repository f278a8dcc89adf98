"""Rescaling of problems by exact powers of two.

Units do not change a problem: for K = 2ᵖK' and y = 2ᵏy' it is equivalent to that of K' and y' with
α = 2ᵏ⁻ᵖα', w = 2ᵏ⁻ᵖᐟ²w', f = 2ᵏf' and C = 2ᵏ⁻ᵖC', or 2⁻ᵖC' for a squared loss. Solvers receive a problem
whose targets, and whose features if extreme, have magnitude 1, so absolute tolerances do not depend on
the units of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.forms import Point, Reduction
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Linear, Precomputed
from dualgap.problems.problem import Problem, reduce
from dualgap.problems.registry import is_ours


@dataclass(frozen=True, eq=False)
class RescaledProblem:
    """A rescaled problem, and the maps of points to and from it.

    Attributes
    ----------
    original : the problem in its own units.
    problem : the rescaled problem.
    decision, alpha, weights : binary exponents of the units of f and b, of α, and of w.
    """

    original: Any
    problem: Any
    decision: int = 0
    alpha: int = 0
    weights: int = 0

    def scale_point(self, point: Point) -> Point:
        """Return a point of the original problem as one of the rescaled problem."""
        return self._times(point, -1)

    def unscale_point(self, point: Point) -> Point:
        """Return a point of the rescaled problem as one of the original problem."""
        return self._times(point, 1)

    def reduce(
        self, form: type[Any], start: Point | None = None, gram: Gram | None = None
    ) -> Reduction[Any]:
        """Return `reduce` of the rescaled problem, with its map back to the original.

        Parameters
        ----------
        form : as for `reduce`. `Problem`, which is written to files, is the original problem.
        start : a point of the original problem.
        gram : the Gram matrix of the rescaled problem; None creates a new one.
        """
        if form is Problem:
            return reduce(self.original, form, start)
        scaled_start = None if start is None else self.scale_point(start)
        reduction = reduce(self.problem, form, scaled_start, gram=gram)
        return Reduction(reduction.form, lambda point: self.unscale_point(reduction.recover(point)))

    def _times(self, point: Point, sign: int) -> Point:
        exponents = {"alpha": self.alpha, "w": self.weights, "b": self.decision}
        scaled = {name: getattr(point, name) for name, k in exponents.items() if k}
        values = {n: np.ldexp(v, sign * exponents[n]) for n, v in scaled.items() if v is not None}
        return replace(point, **values) if values else point


def rescale(problem: Any, features: bool = True) -> RescaledProblem:
    """Return the rescaled problem; the problem itself if that is inexact or its class is user-defined.

    `features` is whether these may be scaled: not if kernel values are already cached.
    """
    cls = type(problem)
    if not (issubclass(cls, DualProblem) and is_ours(cls)) or problem.in_blocks:
        return RescaledProblem(problem, problem)
    fixed = problem.shared_gram is not None or not features
    m, k = 0 if fixed else _exponent_of_features(problem), problem.decision_exponent
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
        return RescaledProblem(problem, problem)
    if k and "loss" in names and hasattr(problem.loss, "epsilon"):
        scaled["loss"] = replace(problem.loss, epsilon=float(np.ldexp(problem.loss.epsilon, -k)))
    if p and "psd_shift" in vars(problem):
        scaled["psd_shift"] = float(np.ldexp(problem.psd_shift, -p))
    return RescaledProblem(problem, problem.changed(**scaled), k, k - p, k - p // 2)


def _exponent_of_features(problem: DualProblem) -> int:
    """Return the binary exponent of the largest entry of X, 0 if moderate or fixed by the kernel."""
    if not isinstance(problem.kernel, Linear | Precomputed):
        return 0
    values = problem.X if isinstance(problem.X, np.ndarray) else problem.X.data
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(size)[1])
    # smaller ones are not scaled, as that copies X: the squares of features only have to exceed absolute
    # constants of libraries, such as LIBSVM's minimum curvature of 1e-12
    return exponent if abs(exponent) > 12 else 0


def _times(value: Any, exponent: int) -> Any:
    """Return a number or an array times 2^exponent, or None if that is inexact."""
    if scipy.sparse.issparse(value):
        data = _times(value.data, exponent)
        arrays = (data, value.indices, value.indptr)
        return None if data is None else type(value)(arrays, shape=value.shape)
    scaled = np.ldexp(value, exponent)
    if not np.array_equal(np.ldexp(scaled, -exponent), value):
        return None
    if np.ndim(value) == 0:
        return float(scaled)
    scaled.flags.writeable = value.flags.writeable
    return scaled
