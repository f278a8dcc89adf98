"""How fast a run came near the optimum: order and rate of its distances, and the published bound.

The distance of an iterate is |objective − optimum|, of the dual for a solver of box QPs and of the
primal for one of risks, and the optimum is in the middle of the best certified bounds of all runs.
Distances below `_RESOLVED` times what is left between these bounds are not used.

Orders are fitted to the evaluations that came nearer than all before them, in the lower half of the
decades that are resolved, where the first steps no longer matter, or to the last five of them.

    sublinear: distance ∝ k^rate          linear: distance ∝ rate^k
"""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dualgap.experiments.records.columns import DESCRIBED
from dualgap.problems import Vector
from dualgap.problems.forms import ERM
from dualgap.solvers import SOLVERS, Solver

_RESOLVED = 10.0
_FEWEST = 5  # evaluations that a rate is fitted to
_BLOCKS = 10  # of evaluations, at most, that are left out in turn for the interval
# how much nearer, and by which step, an evaluation is that has reached the optimum
_JUMP, _SOON = 1e3, 1.5


class Rate(NamedTuple):
    """What was fitted to the distances of one run.

    Attributes
    ----------
    order : "sublinear" or "linear", whichever line fits better; "finite" where, from afar, the next
        evaluation was too near to be resolved; "" where there are too few evaluations.
    reached : the first step whose distance is not resolved; inf if there is none.
    value : the exponent of k, or the factor of a step. low, high : its 95 % interval, from a jackknife
        over blocks of evaluations, as neighbours are alike.
    steps, distances : those that it was fitted to, (m,).
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
    """The evaluations of one run.

    Attributes
    ----------
    steps, distances : of each evaluation with k > 0, (m,), where it is resolved.
    bounds : the published bound at these steps; None where there is none, or the problem's constants
        were not recorded (`describe: true`).
    rate : what was fitted.
    """

    steps: Vector
    distances: Vector
    bounds: Vector | None
    rate: Rate


def approach(run: pd.Series, evaluations: pd.DataFrame, results: pd.DataFrame) -> Approach:
    """Return how one run came near the optimum.

    Parameters
    ----------
    run : its row of `load_results`. evaluations : its rows of `load_traces`, in the order of time.
    results : all runs of problems with the same optimum.
    """
    low, high = results["dual_objective"].max(), results["primal_objective"].min()
    solver = SOLVERS.get(str(run["solver"]))
    column = "primal_objective" if solver and solver.form is ERM else "dual_objective"
    known = evaluations[["iteration", column]].to_numpy(np.float64)
    known = known[np.isfinite(known).all(axis=1) & (known[:, 0] > 0)]
    steps, distances = known[:, 0], np.abs(known[:, 1] - 0.5 * (low + high))
    resolution = _RESOLVED * max(high - low, np.finfo(float).eps * abs(high))
    resolved = distances > resolution
    return Approach(
        steps[resolved],
        distances[resolved],
        None if solver is None else _bounds(solver, run, steps[resolved], results),
        fitted(steps, distances, resolution),
    )


def _bounds(
    solver: type[Solver], run: pd.Series, steps: Vector, results: pd.DataFrame
) -> Vector | None:
    """Return the published bound, with constants from the best certified answer to the problem."""
    if "total_weight" not in results or results["total_weight"].isna().all():
        return None
    known = results.dropna(subset=["total_weight"]).sort_values("relative_gap")
    best = {
        own.name: float(known[own.name].iloc[0]) if own.name in known else np.nan
        for own in DESCRIBED
    }
    bounds = solver(**json.loads(run["params"])).worst_case(steps, best)
    return None if bounds is None or not np.isfinite(bounds).all() else bounds


def fitted(steps: Vector, distances: Vector, resolution: float) -> Rate:
    """Return the rate of distances (m,) at steps k > 0 (m,) as far as they are above the resolution."""
    nearest = np.minimum.accumulate(distances)
    far = nearest > resolution
    reached = float(steps[~far].min(initial=np.inf))
    steps, nearest = steps[far], nearest[far]
    if not nearest.size:
        return Rate(reached=reached)
    if reached <= _SOON * steps[-1] and nearest[-1] > _JUMP * resolution:
        return Rate("finite", reached)
    better = np.diff(nearest, prepend=np.inf) < 0
    steps, nearest = steps[better], nearest[better]
    if steps.size < _FEWEST:
        return Rate(reached=reached)
    late = np.count_nonzero(nearest**2 <= nearest[0] * nearest[-1])
    steps, nearest = (values[-max(late, _FEWEST) :] for values in (steps, nearest))
    fits = {"sublinear": np.log(steps), "linear": steps}
    order = max(fits, key=lambda name: abs(np.corrcoef(fits[name], np.log(nearest))[0, 1]))
    interval = _slope(fits[order], np.log(nearest))
    value, low, high = (interval if order == "sublinear" else np.exp(interval)).tolist()
    return Rate(order, reached, value, low, high, steps, nearest)


def _slope(x: Vector, y: Vector) -> Vector:
    """Return the slope of the least-squares line, and the ends of its 95 % interval."""
    blocks = np.array_split(np.arange(x.size), min(_BLOCKS, x.size))
    without = [np.polyfit(np.delete(x, block), np.delete(y, block), 1)[0] for block in blocks]
    freedom = len(blocks) - 1
    slope, error = np.polyfit(x, y, 1)[0], np.sqrt(freedom * np.var(without))
    return slope + stats.t.ppf(0.975, freedom) * error * np.array([0.0, -1.0, 1.0])
