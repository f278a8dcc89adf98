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

from dualgap.problems.forms import Point, Reduction
from dualgap.problems.gram.gram import Gram
from dualgap.problems.kernels import Linear, Precomputed
from dualgap.problems.problem import Problem, reduce, replace_fields
from dualgap.problems.problem.task import CLASSES
from dualgap.problems.risk.risk import KernelSamples, Risk
from dualgap.problems.validation import is_ours


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


def decision_exponent(risk: Risk) -> int:
    """Return the k such that decisions, targets and offsets have the magnitude 2ᵏ: 0 for a margin of 1.

    If offsets have costs and labels have no margin, 2ᵏ is the magnitude of K times one sample's α.
    """
    samples = risk.samples
    if risk.loss.degree is None:
        return 0
    if not risk.loss.is_regression:
        largest = min(float(risk.C.max()), float(np.abs(risk.costs).sum()))
        return _exponent(largest * float(np.abs(samples.kernel.diagonal(samples.X)).max()))
    largest, extent = float(np.abs(risk.y).max()), float(np.ptp(risk.y))
    takes_shifts = risk.costs.size and not risk.costs.sum()
    # a range of targets below 2⁻³⁰ of the largest is rounding
    extent = max(extent, 2.0**-30 * largest) if takes_shifts and extent else largest
    return _exponent(extent)


def rescale(problem: Any, features: bool = True) -> RescaledProblem:
    """Return the rescaled problem; the problem itself if that is inexact or its class is user-defined.

    `features` is whether these may be scaled: not if kernel values are already cached.
    """
    if problem.task is None or problem.in_blocks or not is_ours(type(problem)):
        return RescaledProblem(problem, problem)
    samples = problem.samples
    fixed = samples.shared_gram is not None or not features
    m, k = 0 if fixed else _exponent_of_features(samples), 0
    p = 2 * m if samples.is_linear else m
    exponents = {"X": m, "C": -p}
    if problem.task is not CLASSES:
        loss, k = problem.risk.loss, decision_exponent(problem.risk)
        exponents["C"] += k * (2 - (loss.degree or 2))
        exponents |= {"y": k, "epsilon": k} if loss.is_regression else {}
    exponents["lam"] = -exponents["C"]
    names = {"y", "C", *(field.name for field in fields(problem))}
    values = {n: (getattr(problem, n, None), e) for n, e in exponents.items() if e and n in names}
    values = {n: (v, e) for n, (v, e) in values.items() if v is not None}
    scaled = {name: _times(value, -e) for name, (value, e) in values.items()}
    if not scaled or any(value is None for value in scaled.values()):
        return RescaledProblem(problem, problem)
    if k and "loss" in names and hasattr(problem.loss, "epsilon"):
        scaled["loss"] = replace(problem.loss, epsilon=float(np.ldexp(problem.loss.epsilon, -k)))
    if "X" in scaled:
        scaled["samples"] = samples.derived(scaled["X"], factor=float(np.ldexp(1.0, -p)))
    return RescaledProblem(problem, replace_fields(problem, **scaled), k, k - p, k - p // 2)


def _exponent_of_features(samples: KernelSamples) -> int:
    """Return the binary exponent of the largest entry of X, 0 if moderate or fixed by the kernel."""
    X = samples.X
    if not isinstance(samples.kernel, Linear | Precomputed):
        return 0
    values = X if isinstance(X, np.ndarray) else X.data
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


def _exponent(size: float) -> int:
    """Return the k with size/2ᵏ in [½, 1), and 0 for 0."""
    return int(np.frexp(size)[1])
