"""Which C predicts best, and what error any other C could have at its optimum.

Both objectives are 1-strongly convex, the primal in w and the dual in Σ βᵢφ(xᵢ), so that the optimal w*
at C' satisfies ½‖w* − w‖² ≤ primal − optimum and ½‖w* − sw‖² ≤ optimum − dual for the bounds of an
answer w (`dualgap.problems.answers.parametric_bounds`). Their sum is a ball:
    ‖w* − ½(1 + s)w‖² ≤ gap − ¼(1 − s)²‖w‖²
so that each optimal score is known up to radius·√k(x, x), the intercept that is best for such scores by
sorting, and with them the predictions that every optimum of a piece of the path makes (Shibagaki,
Suzuki, Karasuyama & Takeuchi 2015, "Regularization path of cross-validation error lower bounds").
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualgap.problems import Formulation, Gram, Matrix, Precomputed, Vector
from dualgap.problems.answers.parametric_bounds import Along
from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.rounding import ELEMENTARY, gamma, products
from dualgap.problems.dataset import check_samples
from dualgap.problems.dual_problem.offsets import best_intercept
from dualgap.problems.gram.products import gram_products
from dualgap.problems.kernels.samples import stacked
from dualgap.solvers.paths.path import Path, Piece

if TYPE_CHECKING:
    import pandas as pd

_SLICES = 4  # of a piece, each with a ball of its own: the balls are narrower than with one
_SORTED = 1e-12  # of its size, that an intercept found by sorting may be wrong by


@dataclass(frozen=True, eq=False)
class Selection:
    """The best value of a path's parameter on some samples, and what all others could reach.

    Attributes
    ----------
    value : the C, lam or epsilon whose answer on the path has the least `error`: the share of wrong
        predictions, or the mean squared error of a regression.
    least : no optimum at any value of the path has an error below this; a path within a smaller gap
        raises it.
    table : a row for each piece of the path: from, to, the error of its answer, and the least and the
        largest error that an optimum between could have.
    """

    path: Path
    value: float
    error: float
    least: float
    table: pd.DataFrame

    @property
    def statement(self) -> str:
        """The result in one sentence."""
        name, path = self.path.parameter, self.path
        kind = path.problem.task.error
        return (
            f"the answer at {name} = {self.value:.6g} has {kind} of {self.error:.6g}, the least on the "
            f"path; at no {name} from {path.low:g} to {path.high:g} has the optimum one below "
            f"{self.least:.6g}"
        )

    def __repr__(self) -> str:
        return f"Selection: {self.statement}"


def select(path: Path, X_val: Matrix, y_val: Vector) -> Selection:
    """Return the best value of the path's parameter on samples that no answer was trained on.

    Parameters
    ----------
    path : as `solve_path` returns it, of a loss with pieces or without an intercept.
    X_val, y_val : (m, d) samples, and their (m,) labels −1 and +1 or targets.

    Raises
    ------
    ValueError
        If the samples are not usable, or nothing can be said of the optimal intercept.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    problem = path.problem
    X = check_samples(X_val, "X_val")
    if X.shape[1] != problem.d or isinstance(problem.kernel, Precomputed):
        raise ValueError(
            f"X_val: must have the {problem.d} features of the training samples, and a kernel that has "
            f"values for them; got {X.shape[1]} with {problem.kernel!r}"
        )
    y = problem.task.check(y_val, X.shape[0], "y_val")
    check_enclosed(problem)
    both: Any = stacked(problem.X, X)
    gram, norms = Gram(both, problem.kernel, memory=0), score_norms(problem, both)
    rows = list[dict[str, float]]()
    for piece, (low, high) in zip(path.pieces, pairwise(path.breakpoints), strict=True):
        point = piece.along.certificate.point
        if point.w is None:
            beta = np.append(problem.beta(piece.alpha), np.zeros(X.shape[0]))
            scores = Intervals(*gram_products(gram, beta))
        else:
            scores = products(both, point.w)
        error, bands = held_out_errors(piece, (low, high), scores, norms, y)
        least, most = min(b.least for b in bands), max(b.most for b in bands)
        errors = {"error": error / y.size, "least": least / y.size, "most": most / y.size}
        rows.append({"from": low, "to": high, **errors})
    table = pd.DataFrame(rows)
    best = int(table["error"].to_numpy().argmin())
    value, error = path.pieces[best].value, float(table["error"].iloc[best])
    return Selection(path, value, error, float(table["least"].min()), table)


def check_enclosed(problem: Formulation) -> None:
    """Raise ValueError if nothing can be said of the optimal intercept."""
    if problem.groups is not None or (problem.intercept and problem.pieces is None):
        raise ValueError(
            f"path: the optimal intercept of the {problem.loss.name} loss is not enclosed"
        )


def score_norms(problem: Formulation, X: Matrix) -> Vector:
    """Return the most that a score may change with w, √k(x, x) of each sample (n,), rounded up."""
    return np.sqrt(1.01 * problem.kernel.diagonal(X))


class Band(NamedTuple):
    """Between which sums of errors all optima at values from `low` to `high` are."""

    low: float
    high: float
    least: float
    most: float


def held_out_errors(
    piece: Piece, ends: tuple[float, float], scores: Intervals, norms: Vector, y: Vector
) -> tuple[float, list[Band]]:
    """Return the sum of the errors of a piece's answer on held-out samples, and those of all optima.

    Parameters
    ----------
    ends : between which values of the parameter, which are parted into slices.
    scores, norms : wᵀφ(x) and √k(x, x) of the training samples, then of the held-out ones, (n + m,).
    y : of the held-out samples, (m,).
    """
    problem, b = piece.along.problem, float(piece.along.certificate.point.b or 0.0)
    errors = problem.task.errors  # each falls towards y
    rounding = gamma(ELEMENTARY + y.size) if problem.is_regression else 0.0  # counts are exact
    bands = list[Band]()
    slices = pairwise(np.linspace(*ends, _SLICES + 1).tolist())
    for first, last in slices:
        low, high = _optimal_decisions(piece.along, scores, norms, first, last)
        least = float(errors(np.clip(y, low, high), y).sum())
        most = float(np.maximum(errors(low, y), errors(high, y)).sum())
        bands.append(Band(first, last, least * (1.0 - rounding), most * (1.0 + rounding)))
    return float(errors(scores.mid[problem.n :] + b, y).sum()), bands


def _optimal_decisions(
    along: Along, scores: Intervals, norms: Vector, first: float, last: float
) -> tuple[Vector, Vector]:
    """Return the least and the largest optimal decisions on the held-out samples between two values."""
    problem, n = along.problem, along.problem.n
    centre, radius = along.ball(first, last)
    wider = max(abs(first - along.own), abs(last - along.own))
    f, off = centre * scores.mid, radius * norms + 1.01 * centre * scores.rad
    off += gamma(ELEMENTARY) * np.abs(f)
    off[:n] += wider if along.parameter == "epsilon" else 0.0
    off[:n] += gamma(ELEMENTARY) * (np.abs(problem.y) + 1.0)
    least = best_intercept(problem, f[:n] + off[:n])[0]
    most = best_intercept(problem, f[:n] - off[:n])[1]
    least, most = least - _SORTED * abs(least), most + _SORTED * abs(most)
    return f[n:] - off[n:] + least, f[n:] + off[n:] + most
