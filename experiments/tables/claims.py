"""Claims of solvers about their answers, and how many are verified."""

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import gap_text
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.records.names import targets_above
from dualgap.experiments.tables.table import Column, Table
from dualgap.problems.problem.certificate import WRONG_GAP

CLAIMS = (
    "Verified: the certified relative gap of the answer, regardless of the claim, is at or below the "
    "target. Refuted: claimed to be infeasible, although some run has a feasible point; claimed to be "
    "unbounded, although some run has a lower bound; or claimed to be optimal, although some run has a "
    "feasible point better than the feasible point proven near the answer, by a relative gap of more "
    f"than {WRONG_GAP:g}."
)


def claims(results: Results) -> Table:
    """Return the counts of claims and of verified answers, one row per configuration of a solver.

    Any run on any host may refute a claim.
    """
    runs = results.table
    value = runs["primal_objective"]
    best = value.groupby(runs["family_hash"]).transform("min")
    bound = runs["dual_objective"].groupby(runs["family_hash"]).transform("max")
    optimal, infeasible, unbounded = (
        runs["claimed"] == word for word in ("optimal", "infeasible", "unbounded")
    )
    # where no gap was proven, there is no unit of it, and the values are compared
    unit = runs["gap"] / runs["relative_gap"]
    unit = unit.where(unit.notna(), np.maximum(value.abs(), best.abs()))
    worse = (value - best) > WRONG_GAP * unit
    refuted = (optimal & (worse | (runs["verdict"] == "infeasible"))) | (
        (infeasible & np.isfinite(best)) | (unbounded & np.isfinite(bound))
    )
    targets = {
        gap_text(target): runs["relative_gap"] <= target
        for target in targets_above(float(runs["target_gap"].min()))
    }
    counted = {
        "optimal": optimal,
        "infeasible": infeasible | unbounded,
        "refuted": refuted,
        **targets,
    }
    groups = pd.DataFrame(counted).groupby(runs["configuration"])
    rows = groups.sum().assign(runs=groups.size()).reset_index()
    heads = {"configuration": Column("solver"), "runs": Column("runs")}
    heads |= {name: Column(f"claimed {name}") for name in ("optimal", "infeasible")}
    heads |= {name: Column(f"verified to {name}") for name in targets}
    return Table.of(rows, heads | {"refuted": Column("claims refuted")})
