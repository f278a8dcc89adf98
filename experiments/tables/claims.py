"""Claims of solvers about their answers, and how many are verified."""

import numpy as np
import pandas as pd

from dualgap.experiments.records.names import gap_text
from dualgap.experiments.records.outcomes import targets_above
from dualgap.experiments.tables.table import Column, Table
from dualgap.problems.problem.certificate import WRONG_GAP

CLAIMS = (
    "Verified: the certified relative gap of the answer, regardless of the claim, is at or below the "
    "target. Refuted: claimed to be infeasible, although some run has a feasible point; claimed to be "
    "unbounded, although some run has a lower bound; or claimed to be optimal, although some run has a "
    f"feasible point better by more than {WRONG_GAP:g} of its value than the feasible point proven near "
    "the answer."
)


def claims(results: pd.DataFrame) -> Table:
    """Return the counts of claims and of verified answers, one row per configuration of a solver.

    Parameters
    ----------
    results : labelled, see `analysis.times.labelled`. Any of these runs may refute a claim.
    """
    value = results["primal_objective"]
    best = value.groupby(results["family_hash"]).transform("min")
    bound = results["dual_objective"].groupby(results["family_hash"]).transform("max")
    optimal, infeasible, unbounded = (
        results["claimed"] == word for word in ("optimal", "infeasible", "unbounded")
    )
    worse = (value - best) > WRONG_GAP * np.maximum(value.abs(), best.abs())
    refuted = (optimal & (worse | (results["verdict"] == "infeasible"))) | (
        (infeasible & np.isfinite(best)) | (unbounded & np.isfinite(bound))
    )
    targets = {
        gap_text(target): results["relative_gap"] <= target
        for target in targets_above(float(results["target_gap"].min()))
    }
    counted = {
        "optimal": optimal,
        "infeasible": infeasible | unbounded,
        "refuted": refuted,
        **targets,
    }
    groups = pd.DataFrame(counted).groupby(results["configuration"])
    rows = groups.sum().assign(runs=groups.size()).reset_index()
    heads = {"configuration": Column("solver"), "runs": Column("runs")}
    heads |= {name: Column(f"claimed {name}") for name in ("optimal", "infeasible")}
    heads |= {name: Column(f"verified to {name}") for name in targets}
    return Table.of(rows, heads | {"refuted": Column("claims refuted")})
