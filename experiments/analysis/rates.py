"""Convergence of a run: order and rate of its distances to the optimum.

The distance of an iterate is |objective − optimum|, of the dual for a solver of box QPs and of the
primal for a solver of risks; the optimum is the midpoint of the best certified bounds of all runs.
Distances below `_RESOLUTION_FACTOR` times the difference of these bounds are not used.

Orders are fitted to the evaluations that improved on all earlier ones, in the lower half of the resolved
decades, where the first steps no longer matter, or to the last five of them.

    sublinear: distance ∝ k^rate          linear: distance ∝ rate^k
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dualgap.problems import Vector
from dualgap.problems.forms import ERM
from dualgap.solvers import SOLVERS

_RESOLUTION_FACTOR = 10.0  # the optimum is known to half the difference: an error of 5 %
_MIN_EVALUATIONS = 5  # evaluations: two parameters are fitted


class Rate(NamedTuple):
    """Rate of convergence fitted to the distances of one run.

    Attributes
    ----------
    order : "sublinear" or "linear", whichever line fits better; "finite" if the next evaluation
        after a distant one was too near to be resolved; "" if there are too few evaluations.
    reached : the first step whose distance is not resolved; inf if there is none.
    value : the exponent of k, or the factor of a step. low, high : its 95 % interval, from a jackknife
        over blocks of evaluations, as neighbours are correlated.
    steps, distances : the fitted points, (m,).
    """

    order: str = ""
    reached: float = np.inf
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    steps: Vector = np.empty(0)
    distances: Vector = np.empty(0)

    def __str__(self) -> str:
        """Write the rate as a formula in the number of steps k."""
        interval = f"[{self.low:.3g}, {self.high:.3g}]"
        return {
            "sublinear": f"k^{self.value:.3g} {interval}",
            "linear": f"{self.value:.4g}^k [{self.low:.4g}, {self.high:.4g}]",
        }.get(self.order, "")


class Approach(NamedTuple):
    """Distances of one run's evaluations to the optimum, and their rate.

    Attributes
    ----------
    steps, distances : of each resolved evaluation with k > 0, (m,).
    rate : the fitted rate.
    """

    steps: Vector
    distances: Vector
    rate: Rate


def approach(run: pd.Series, evaluations: pd.DataFrame, results: pd.DataFrame) -> Approach:
    """Return the distances of one run to the optimum, and their rate.

    Parameters
    ----------
    run : its row of `load_results`. evaluations : its rows of `load_traces`, in order of time.
    results : all runs of problems with the same optimum.
    """
    low, high = results["dual_objective"].max(), results["primal_objective"].min()
    solver = SOLVERS.get(str(run["solver"]))
    column = "primal_objective" if solver and solver.form is ERM else "dual_objective"
    values = evaluations[["iteration", column]].to_numpy(np.float64)
    values = values[np.isfinite(values).all(axis=1) & (values[:, 0] > 0)]
    steps, distances = values[:, 0], np.abs(values[:, 1] - 0.5 * (low + high))
    resolution = _RESOLUTION_FACTOR * max(high - low, np.finfo(float).eps * abs(high))
    resolved = distances > resolution
    return Approach(steps[resolved], distances[resolved], fit_rate(steps, distances, resolution))


def fit_rate(steps: Vector, distances: Vector, resolution: float) -> Rate:
    """Return the rate of the distances (m,) above the resolution, at steps k > 0 (m,)."""
    nearest = np.minimum.accumulate(distances)
    resolved = nearest > resolution
    reached = float(steps[~resolved].min(initial=np.inf))
    steps, nearest = steps[resolved], nearest[resolved]
    if not nearest.size:
        return Rate(reached=reached)
    # the distance drops by a factor of 1000 to below the resolution, in few more steps
    if reached <= 1.5 * steps[-1] and nearest[-1] > 1e3 * resolution:
        return Rate("finite", reached)
    improved = np.diff(nearest, prepend=np.inf) < 0
    steps, nearest = steps[improved], nearest[improved]
    if steps.size < _MIN_EVALUATIONS:
        return Rate(reached=reached)
    n_fitted = np.count_nonzero(nearest**2 <= nearest[0] * nearest[-1])
    steps, nearest = (values[-max(n_fitted, _MIN_EVALUATIONS) :] for values in (steps, nearest))
    fits = {"sublinear": np.log(steps), "linear": steps}
    order = max(fits, key=lambda name: abs(np.corrcoef(fits[name], np.log(nearest))[0, 1]))
    interval = _slope(fits[order], np.log(nearest))
    value, low, high = (interval if order == "sublinear" else np.exp(interval)).tolist()
    return Rate(order, reached, value, low, high, steps, nearest)


def _slope(x: Vector, y: Vector) -> Vector:
    """Return the slope of the least-squares line, and the ends of its 95 % interval."""
    # left out in turn (jackknife)
    blocks = np.array_split(np.arange(x.size), min(10, x.size))
    without = [np.polyfit(np.delete(x, block), np.delete(y, block), 1)[0] for block in blocks]
    freedom = len(blocks) - 1
    slope, error = np.polyfit(x, y, 1)[0], np.sqrt(freedom * np.var(without))
    return slope + stats.t.ppf(0.975, freedom) * error * np.array([0.0, -1.0, 1.0])
