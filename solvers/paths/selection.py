"""The C that predicts best, and bounds on the error at the optimum of any other C.

Both objectives are 1-strongly convex, the primal in w and the dual in Σ βᵢφ(xᵢ), so the optimal weights
at C are within √gap of those of an answer at C (`dualgap.problems.answers.interpolation`). Each optimal
score is then known up to radius·√k(x, x), the best intercept for such scores by sorting, and with both
the predictions that all optima between two values of C agree on (Shibagaki, Suzuki, Karasuyama &
Takeuchi 2015, "Regularization path of cross-validation error lower bounds").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgap.problems import Formulation, Gram, Matrix, Precomputed, Vector
from dualgap.problems.answers.interpolation import Interpolation, Parameter, with_value
from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import ELEMENTARY, gamma, products
from dualgap.problems.box import middle
from dualgap.problems.dataset import Indices, check_samples
from dualgap.problems.gram.products import gram_products
from dualgap.problems.kernels.samples import stacked
from dualgap.problems.risk.offsets import best_intercept
from dualgap.problems.risk.risk import Risk
from dualgap.solvers.paths.path import Path

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Selection:
    """The best value of a path's parameter on some samples, and a bound on all others.

    Attributes
    ----------
    value : the C, lam or epsilon of the table whose answer has the smallest `error`: the fraction of
        wrong predictions, or the mean squared error of a regression.
    lower_bound : lower bound on the error of the optimum at any value; a smaller gap raises it.
    table : one row per range of values, see `error_table`.
    """

    path: Path
    value: float
    error: float
    lower_bound: float
    table: pd.DataFrame

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        name, path = self.path.parameter, self.path
        kind = path.problem.task.error
        return (
            f"the answer at {name} = {self.value:.6g} has {kind} of {self.error:.6g}, the smallest of "
            f"{len(self.table)} on the path; no {name} from {path.low:g} to {path.high:g} has an "
            f"optimum with an error below {self.lower_bound:.6g}"
        )

    def __repr__(self) -> str:
        return f"Selection: {self.statement}"


def select(path: Path, X_val: Matrix, y_val: Vector) -> Selection:
    """Return the best value of the path's parameter on held-out samples.

    Parameters
    ----------
    path : result of `solve_path`, for a piecewise linear loss or without an intercept.
    X_val, y_val : (m, d) samples, and their (m,) labels −1 and +1 or targets.

    Raises
    ------
    ValueError
        If the samples are invalid, or the optimal intercept has no bounds.
    """
    ends, values = ranges(path.parameter, path.low, path.high, path.gap)
    table = error_table(ends, values, held_out_errors(path, X_val, y_val, ends, values))
    best = table.iloc[int(table["error"].to_numpy().argmin())]
    lower_bound = float(table["least"].min())
    return Selection(path, float(best["value"]), float(best["error"]), lower_bound, table)


def ranges(parameter: Parameter, low: float, high: float, gap: float) -> tuple[Vector, Vector]:
    """Return the ends of 5/√gap ranges from `low` to `high`, (k + 1,), and the middle of each, (k,).

    They are equally long on a logarithmic scale, except along epsilon. Optimal weights are known up to
    about √gap, so more ranges would hardly narrow the bounds on errors.
    """
    space = np.linspace if parameter == "epsilon" else np.geomspace
    points = space(low, high, 2 * ceil(5.0 / gap**0.5) + 1)
    return points[::2], points[1::2]


def error_table(ends: Vector, values: Vector, errors: Vector) -> pd.DataFrame:
    """Return a table of errors (3, k): from, to, value, error, least and most.

    `error` is that of the answer at `value`; `least` and `most` are bounds on the errors of the optima
    at all values of the range.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    columns = {"from": ends[:-1], "to": ends[1:], "value": values}
    return pd.DataFrame(columns | dict(zip(("error", "least", "most"), errors, strict=True)))


def held_out_errors(
    path: Path, X_val: Matrix, y_val: Vector, ends: Vector, values: Vector
) -> Vector:
    """Return the mean errors on held-out samples as `error_table` takes them, (3, k).

    Raises
    ------
    ValueError
        If the samples are invalid, or the optimal intercept has no bounds.
    """
    problem = path.problem
    X = check_samples(X_val, "X_val")
    if X.shape[1] != problem.d or isinstance(problem.kernel, Precomputed):
        raise ValueError(
            f"X_val: must have the {problem.d} features of the training samples, and a kernel that can "
            f"be evaluated on them; got {X.shape[1]} with {problem.kernel!r}"
        )
    y = problem.task.check(y_val, X.shape[0], "y_val")
    check_enclosed(problem)
    all_samples: Any = stacked(problem.X, X)
    gram, norms = Gram(all_samples, problem.kernel, keep=True), score_norms(problem, all_samples)
    scores = answer_scores(path, gram, np.arange(gram.n))
    return sums_of_errors(path, scores, norms, y, (ends, values)) / y.size


def answer_scores(path: Path, gram: Gram, rows: Indices) -> list[Intervals]:
    """Return wᵀφ(x) of each answer for `rows` of a Gram matrix, its own samples first."""
    problem, scores = path.problem, list[Intervals]()
    for answer in path.answers:
        w = answer.certificate.point.w
        if w is None:
            beta = np.zeros(gram.n)
            beta[rows[: problem.n]] = problem.risk.beta(answer.alpha)
            scores.append(Intervals(*gram_products(gram, beta))[rows])
        else:
            scores.append(products(gram.X[rows], w))
    return scores


def check_enclosed(problem: Formulation) -> None:
    """Raise ValueError if the optimal intercept has no bounds."""
    if problem.risk.groups is not None or (problem.intercept and problem.risk.terms is None):
        raise ValueError(
            f"path: the optimal intercept of the {problem.risk.loss.name} loss is not enclosed"
        )


def score_norms(problem: Formulation, X: Matrix) -> Vector:
    """Return √k(x, x) (n,), rounded up: how far each score changes per unit of change in w."""
    return np.sqrt(1.01 * problem.kernel.diagonal(X))


def sums_of_errors(
    path: Path,
    scores: Sequence[Intervals],
    norms: Vector,
    y: Vector,
    ranges: tuple[Vector, Vector],
) -> Vector:
    """Return sums of errors on held-out samples: of the answers, and both bounds for the optima, (3, k).

    Parameters
    ----------
    scores : wᵀφ(x) of each answer on the path, for the training, then the held-out samples, (n + m,).
    norms : √k(x, x) of the same samples.
    y : labels or targets of the held-out samples, (m,).
    ranges : see `ranges`.
    """
    (ends, values), problem = ranges, path.problem
    errors = problem.task.errors  # each falls towards y
    sums = np.repeat([[0.0], [np.inf], [0.0]], values.size, axis=1)
    for column, value in enumerate(values):
        number = path.segment_number(value)
        f = _between(scores[number : number + 2], path.segments[number].fraction(value)).mid
        b = middle(*best_intercept(_risk_at(path, value), f[: problem.n]))
        sums[0, column] = errors(f[problem.n :] + b, y).sum()
    for number, segment in enumerate(path.segments):
        low, high = segment.values
        cut = np.array([low, *ends[(ends > low) & (ends < high)], high])
        columns = np.clip(np.searchsorted(ends, cut[:-1], "right") - 1, 0, values.size - 1)
        pair = scores[number : number + 2]
        lower, upper = _bounds(path, segment, pair, norms, y, cut)
        np.minimum.at(sums[1], columns, lower)
        np.maximum.at(sums[2], columns, upper)
    # counts are exact
    rounding = gamma(ELEMENTARY + y.size) if problem.risk.loss.is_regression else 0.0
    return sums * np.array([[1.0], [1.0 - rounding], [1.0 + rounding]])


def _bounds(
    path: Path,
    segment: Interpolation,
    scores: Sequence[Intervals],
    norms: Vector,
    y: Vector,
    ends: Vector,
) -> tuple[list[float], list[float]]:
    """Return bounds on the sum of errors of all optima between each two of `ends`."""
    errors, fractions = path.problem.task.errors, segment.fraction(ends)
    at_ends = [_between(scores, t) for t in fractions]
    lower, upper = list[float](), list[float]()
    for (start, end), values, radius in zip(
        pairwise(at_ends), pairwise(ends), segment.radii(fractions), strict=True
    ):
        # scores change monotonically from one end to the other
        spare = radius * norms + 1.01 * np.maximum(start.rad, end.rad)
        first, last = _optimal_decisions(
            path,
            np.minimum(start.mid, end.mid) - spare,
            np.maximum(start.mid, end.mid) + spare,
            values,
        )
        lower.append(float(errors(np.clip(y, first, last), y).sum()))
        upper.append(float(np.maximum(errors(first, y), errors(last, y)).sum()))
    return lower, upper


def _between(scores: Sequence[Intervals], t: Vector | float) -> Intervals:
    """Return (1 − t) times the first scores plus t times the second."""
    first, second = scores
    mid = (1.0 - t) * first.mid + t * second.mid
    rounding = gamma(ELEMENTARY) * (np.abs(first.mid) + np.abs(second.mid))
    return Intervals(mid, np.maximum(first.rad, second.rad) + rounding)


def _risk_at(path: Path, value: float) -> Risk:
    """Return a risk with the same best intercepts as at a value of the parameter."""
    if path.parameter != "epsilon":  # they depend on the ratios of the weights alone
        return path.problem.risk
    return with_value(path.problem, path.parameter, value).risk


def _optimal_decisions(
    path: Path, lower: Vector, upper: Vector, ends: tuple[float, float]
) -> tuple[Vector, Vector]:
    """Return bounds on the optimal decisions on the held-out samples between two values.

    `lower` and `upper` are bounds on the optimal scores of the training, then the held-out samples.
    """
    problem, n, (first, last) = path.problem, path.problem.n, ends
    value = 0.5 * (first + last)
    spare = gamma(ELEMENTARY) * (np.abs(lower[:n]) + np.abs(upper[:n]) + np.abs(problem.y) + 1.0)
    if path.parameter == "epsilon":  # a residual is as far beyond the tube
        spare += last - value
    risk = _risk_at(path, value)
    lowest = best_intercept(risk, upper[:n] + spare)[0]
    highest = best_intercept(risk, lower[:n] - spare)[1]
    # relative error of an intercept found by sorting
    lowest, highest = lowest - 1e-12 * abs(lowest), highest + 1e-12 * abs(highest)
    return lower[n:] + lowest, upper[n:] + highest
