"""The C that predicts best, and bounds on the error at the optimum of any other C.

Both objectives are 1-strongly convex, the primal in w and the dual in Σ βᵢφ(xᵢ), so that the optimal w*
at C' satisfies ½‖w* − w‖² ≤ primal − optimum and ½‖w* − sw‖² ≤ optimum − dual for the bounds of an
answer w (`dualgap.problems.answers.parametric_bounds`). Their sum is a ball:
    ‖w* − ½(1 + s)w‖² ≤ gap − ¼(1 − s)²‖w‖²
so that each optimal score is known up to radius·√k(x, x), the best intercept for such scores by sorting,
and with both the predictions that all optima on a segment of the path agree on (Shibagaki, Suzuki,
Karasuyama & Takeuchi 2015, "Regularization path of cross-validation error lower bounds").
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap.problems import Formulation, Gram, Matrix, Precomputed, Vector
from dualgap.problems.answers.parametric_bounds import ParametricBounds
from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import ELEMENTARY, gamma, products
from dualgap.problems.dataset import check_samples
from dualgap.problems.gram.products import gram_products
from dualgap.problems.kernels.samples import stacked
from dualgap.problems.risk.offsets import best_intercept
from dualgap.solvers.paths.path import Path, PathSegment

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Selection:
    """The best value of a path's parameter on some samples, and a bound on all others.

    Attributes
    ----------
    value : the C, lam or epsilon whose answer on the path has the smallest `error`: the fraction of
        wrong predictions, or the mean squared error of a regression.
    lower_bound : lower bound on the error of the optimum at any value; a smaller gap raises it.
    table : one row per segment: from, to, the error of its answer, and bounds (least, most) on
        the error of the optima in between.
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
            f"the answer at {name} = {self.value:.6g} has {kind} of {self.error:.6g}, the smallest on "
            f"the path; no {name} from {path.low:g} to {path.high:g} has an optimum with an error below "
            f"{self.lower_bound:.6g}"
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
    import pandas as pd  # noqa: PLC0415 - slow to import

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
    gram, norms = Gram(all_samples, problem.kernel, memory=0), score_norms(problem, all_samples)
    rows = list[dict[str, float]]()
    for segment, (low, high) in zip(path.segments, pairwise(path.breakpoints), strict=True):
        point = segment.along.certificate.point
        if point.w is None:
            beta = np.append(problem.risk.beta(segment.alpha), np.zeros(X.shape[0]))
            scores = Intervals(*gram_products(gram, beta))
        else:
            scores = products(all_samples, point.w)
        error, bands = held_out_errors(segment, (low, high), scores, norms, y)
        lower, upper = min(b.lower for b in bands), max(b.upper for b in bands)
        errors = {"error": error / y.size, "least": lower / y.size, "most": upper / y.size}
        rows.append({"from": low, "to": high, **errors})
    table = pd.DataFrame(rows)
    best = int(table["error"].to_numpy().argmin())
    value, error = path.segments[best].value, float(table["error"].iloc[best])
    return Selection(path, value, error, float(table["least"].min()), table)


def check_enclosed(problem: Formulation) -> None:
    """Raise ValueError if the optimal intercept has no bounds."""
    if problem.risk.groups is not None or (problem.intercept and problem.risk.terms is None):
        raise ValueError(
            f"path: the optimal intercept of the {problem.risk.loss.name} loss is not enclosed"
        )


def score_norms(problem: Formulation, X: Matrix) -> Vector:
    """Return √k(x, x) (n,), rounded up: how far each score changes per unit of change in w."""
    return np.sqrt(1.01 * problem.kernel.diagonal(X))


class Band(NamedTuple):
    """Bounds on the sum of errors of all optima at values from `low` to `high`."""

    low: float
    high: float
    lower: float
    upper: float


def held_out_errors(
    segment: PathSegment, ends: tuple[float, float], scores: Intervals, norms: Vector, y: Vector
) -> tuple[float, list[Band]]:
    """Return the sum of errors of a segment's answer on held-out samples, and bands for the optima.

    Parameters
    ----------
    ends : range of the parameter, which is divided into slices.
    scores, norms : wᵀφ(x) and √k(x, x) of the training samples, then of the held-out ones, (n + m,).
    y : labels or targets of the held-out samples, (m,).
    """
    problem, b = segment.along.problem, float(segment.along.certificate.point.b or 0.0)
    errors = problem.task.errors  # each falls towards y
    # counts are exact
    rounding = gamma(ELEMENTARY + y.size) if problem.risk.loss.is_regression else 0.0
    bands = list[Band]()
    # four slices, each with its own ball, which is smaller than that of the whole segment
    values = np.linspace(*ends, 5).tolist()
    balls = segment.along.balls(values)
    for (first, last), ball in zip(pairwise(values), balls, strict=True):
        low, high = _optimal_decisions(segment.along, scores, norms, (first, last), ball)
        lower = float(errors(np.clip(y, low, high), y).sum())
        upper = float(np.maximum(errors(low, y), errors(high, y)).sum())
        bands.append(Band(first, last, lower * (1.0 - rounding), upper * (1.0 + rounding)))
    return float(errors(scores.mid[problem.n :] + b, y).sum()), bands


def _optimal_decisions(
    along: ParametricBounds,
    scores: Intervals,
    norms: Vector,
    ends: tuple[float, float],
    ball: tuple[float, float],
) -> tuple[Vector, Vector]:
    """Return bounds on the optimal decisions on the held-out samples between two values."""
    problem, n, (centre, radius) = along.problem, along.problem.n, ball
    tube_change = max(abs(end - along.base_value) for end in ends)
    f, radii = centre * scores.mid, radius * norms + 1.01 * centre * scores.rad
    radii += gamma(ELEMENTARY) * np.abs(f)
    radii[:n] += tube_change if along.parameter == "epsilon" else 0.0
    radii[:n] += gamma(ELEMENTARY) * (np.abs(problem.y) + 1.0)
    lower = best_intercept(problem.risk, f[:n] + radii[:n])[0]
    upper = best_intercept(problem.risk, f[:n] - radii[:n])[1]
    # relative error of an intercept found by sorting
    lower, upper = lower - 1e-12 * abs(lower), upper + 1e-12 * abs(upper)
    return f[n:] - radii[n:] + lower, f[n:] + radii[n:] + upper
