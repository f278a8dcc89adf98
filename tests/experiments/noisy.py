"""Results with noise: times that scatter, and A/A pairs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from experiments.cases.records import COLUMNS


def times_of(rng, factor=1.0, count=5, scatter=0.05):
    """Return times whose median is `factor`, scattered by so much of it."""
    return (factor * rng.lognormal(0.0, scatter, count)).tolist()


def runs_of(solver, times, problem="p", repeat=False, tol=1e-3, **changes):
    """Return rows of results, one for each time; `changes` replace columns."""
    row = dict.fromkeys(COLUMNS, float("nan")) | {
        "problem_id": problem,
        "formulation": "soft_margin_dual",
        "solver": solver,
        "params": json.dumps({"tol": tol}),
        "aa_repeat": repeat,
        "target_gap": 1e-3,
        "status": "finished",
        "claimed": "optimal",
        "verdict": "solved",
        "reason": "",
        "bound_source": "alpha",
        "objective": -244.99551,
        "primal_objective": 2.0,
        "suboptimality": 0.0,
        "relative_gap": 1e-4,
        "kkt_violation": 1e-4,
        "n_support": 77.0,
        "n": 100.0,
        "d": 5.0,
        "host": "one",
    }
    return [row | changes | {"repetition": i, "time_solve": t} for i, t in enumerate(times)]


def noisy_results(problem="p"):
    """Return runs of two solvers that are equally fast, a slow one, and an A/A pair."""
    rng = np.random.default_rng(3)
    rows = runs_of("smo", times_of(rng), problem)
    rows += runs_of("smo", times_of(rng), problem, repeat=True)
    rows += runs_of("libsvm", times_of(rng, 1.01), problem)
    return pd.DataFrame(rows + runs_of("one_dal", times_of(rng, 3.0), problem))
