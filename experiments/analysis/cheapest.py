"""Times at equal certified gap: for each problem and target the cheapest run of each solver.

A configuration is a solver with its settings; its time is the median over the repetitions, its gap the
largest of theirs. Configurations that differ only in what trades time for accuracy (`tol`, `gap`,
`epochs`) are one solver, and the cheapest of them that reaches the target stands for it: nominal
tolerances are not comparable between solvers.

The gap is the relative one of the certificate, from the solver's own dual point. A solver that returns
only w (LIBLINEAR, SGD) is measured against the best dual bound that any run of the same problem proved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from experiments.analysis.noise import (
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
    without_twins,
)
from experiments.output.tables import solver_labels
from solvers import all_solvers

TARGETS = (1e-3, 1e-6, 1e-9)
FLOOR = "KernelFloor"
ACCURACY = ("tol", "gap", "epochs")
_LIMIT = "max_iter"  # of two limits that were not reached neither tells a solver apart
_NEAR = 0.1  # share of the next best gap above which a smaller tolerance has bought next to nothing
Row = dict[str, Any]


def configurations(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and configuration of a solver.

    Columns: problem, solver, kind ("ours", "peer" or "floor"), setting (its accuracy in words), time
    (s), times (of each repetition), gap, suboptimality (relative, of the primal alone), runs, memory
    (bytes), status (the first that is not "finished"), claimed, n. The second runs of A/A pairs are
    left out.
    """
    results = without_twins(results)
    table = faces_joined(results).assign(
        label=solver_labels(results, leave_out=frozenset((*ACCURACY, _LIMIT))),
        setting=_settings_in_words(results),
        certified=_certified(results),
        distance=_suboptimality(results),
    )
    problems = table.groupby("problem_id", sort=False)
    faces = ", " + table["formulation"]
    table["setting"] += faces.where(problems["formulation"].transform("nunique") > 1, "")
    keys = ["problem_id", "label", "setting"]
    ordered = table.assign(place=problems.ngroup()).sort_values(["place", "repetition"])
    return pd.DataFrame([_configuration(runs) for _, runs in ordered.groupby(keys, sort=False)])


def faces_joined(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with one `problem_id` for all faces of a problem, that of the first.

    A solver may take the primal or the dual, whichever is cheaper for it.
    """
    known = results["family_hash"].astype(object)
    families = known.where(known.notna(), results["problem_id"])
    return results.assign(problem_id=results.groupby(families)["problem_id"].transform("first"))


def _configuration(runs: pd.DataFrame) -> Row:
    first = runs.iloc[0]
    ended = [str(s) for s in runs["status"] if s != "finished"]
    return {
        "problem": first["problem_id"],
        "solver": first["label"],
        "kind": kind_of(first["solver"]),
        "setting": first["setting"],
        "time": float(runs["time_solve"].median(skipna=False)),
        "gap": float(runs["certified"].max(skipna=False)),
        "suboptimality": float(runs["distance"].max(skipna=False)),
        "runs": len(runs),
        "times": tuple(runs["time_solve"]),
        "memory": float(runs["peak_rss"].max()),
        "status": ended[0] if ended else "finished",
        "claimed": str(first["claimed"]),
        "n": float(first["n"]),
    }


def kind_of(solver: str) -> str:
    """Return whether a solver, by its name in the table, is "ours", a "peer", or the "floor"."""
    if solver.endswith(f":{FLOOR}"):
        return "floor"
    cls = all_solvers().get(solver)
    ours = cls is not None and not cls.__module__.startswith("solvers.external")
    return "ours" if ours else "peer"


def _certified(results: pd.DataFrame) -> pd.Series:
    """Return the relative gap; of a solver without a dual point that to the best known bound."""
    without_dual = results["bound_source"].str.endswith("recovered from w")
    return results["relative_gap"].mask(without_dual, _suboptimality(results))


def _suboptimality(results: pd.DataFrame) -> pd.Series:
    """Return (primal − best dual bound) / |primal|, 0 where the primal is the bound."""
    scale = results["primal_objective"].abs()
    return results["suboptimality"].clip(lower=0.0) / scale.where(scale > 0, 1.0)


def _settings_in_words(results: pd.DataFrame) -> list[str]:
    """Return each run's accuracy, `tol 1e-06`: those settings that its solver's runs differ in."""
    settings = [json.loads(text) for text in results["params"]]
    solvers = [str(solver) for solver in results["solver"]]
    varied = {
        (solver, key)
        for solver in set(solvers)
        for key in ACCURACY
        if len({s.get(key) for s, own in zip(settings, solvers, strict=True) if own == solver}) > 1
    }
    return [_in_words(s, solver, varied) for s, solver in zip(settings, solvers, strict=True)]


def _in_words(settings: Row, solver: str, varied: set[tuple[str, str]]) -> str:
    known = [key for key in ACCURACY if settings.get(key) is not None]
    chosen = [key for key in known if (solver, key) in varied] or known[:1]
    return ", ".join(f"{key} {_short(settings[key])}" for key in chosen)


def _short(value: float) -> str:
    return f"{value:.0e}" if isinstance(value, float) and value < 0.1 else f"{value:g}"


def targets_of(results: pd.DataFrame) -> list[float]:
    """Return the usual targets down to the experiment's `target_gap`, and that one."""
    least = float(results["target_gap"].min())
    return [target for target in TARGETS if target > least] + [least]


def cheapest(results: pd.DataFrame, targets: Iterable[float] | None = None) -> pd.DataFrame:
    """Return one row for each target (those of `targets_of`, if not given), problem and solver.

    Columns: target, problem, solver, kind, setting, time, times, gap, ratio (its time over that of the
    fastest of ours), low, high, within_noise (see `noise.Comparison`), floors (its time over the
    floor), memory, outcome, n. Of a solver that did not reach the target the time is NaN, `gap` its
    best one, and `outcome` says how it ended; "reached" otherwise. `reference` has the times of the
    fastest of ours, none of them for that one itself and where ours did not reach the target.
    """
    known = configurations(results)
    solvers = known[known["kind"] != "floor"]
    groups = solvers.groupby(["problem", "solver"], sort=False)
    wanted = targets_of(results) if targets is None else targets
    rows = [_cheapest(target, group) for target in wanted for _, group in groups]
    noise = noise_of_problems(aa_pairs(faces_joined(results)))
    problems = pd.DataFrame(rows).groupby(["target", "problem"], sort=False)
    table = pd.concat([_compared(group, noise) for _, group in problems]).sort_index()
    floor = floors(results).set_index("problem")["time"]
    table["floors"] = table["time"] / table["problem"].map(floor)
    return table


def _compared(rows: pd.DataFrame, noise: Mapping[str, float]) -> pd.DataFrame:
    """Return the rows of one target and problem with their ratios to the fastest of ours."""
    fastest = rows[rows["kind"] == "ours"].dropna(subset=["time"]).nsmallest(1, "time")
    reference = fastest["times"].iloc[0] if len(fastest) else ()
    factor = noise.get(str(rows["problem"].iloc[0]), 1.0)
    known = [
        {"reference": ()} | vars(Comparison(1.0))
        if place in fastest.index
        else {"reference": reference} | vars(compare([(times, reference)], factor))
        for place, times in zip(rows.index, rows["times"], strict=True)
    ]
    return rows.join(pd.DataFrame(known, index=rows.index))


def _cheapest(target: float, runs: pd.DataFrame) -> Row:
    reached = runs[runs["gap"] <= target].dropna(subset=["time"])
    if len(reached):
        chosen = reached.sort_values("time", kind="stable").iloc[0]
        return _row(target, chosen, "reached", float(chosen["time"]))
    finite = runs.dropna(subset=["gap"])
    best = (finite if len(finite) else runs).sort_values("gap", kind="stable").iloc[0]
    ended = [status for status in runs["status"] if status != "finished"]
    return _row(target, best, ended[0] if ended else _ending(finite), float("nan"))


def _ending(runs: pd.DataFrame) -> str:
    """Return "stalled" if the best answer is hardly better than the next one, else "short".

    A solver that was asked for more and claims to have given it has stalled; one whose gap still falls
    with its tolerance might get there with a smaller one.
    """
    best = runs.sort_values("gap", kind="stable").head(2)
    claimed = bool((best["claimed"] == "optimal").all())
    gaps = best["gap"].tolist()
    return "stalled" if claimed and len(gaps) == 2 and gaps[0] >= _NEAR * gaps[1] else "short"


def _row(target: float, chosen: pd.Series, outcome: str, time: float) -> Row:
    kept = ("problem", "solver", "kind", "setting", "gap", "memory", "n")
    return {
        "target": target,
        **{key: chosen[key] for key in kept},
        "time": time,
        "times": chosen["times"] if outcome == "reached" else (),
        "outcome": outcome,
    }


def floors(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem: n, d, support, values, nanoseconds (each), time (s, the floor).

    The kernel values that must be computed are E = n·nSV − nSV²/2, with nSV of the answer with the
    least certified gap; times the median time of one value as the floor's own runs measured it. The
    last two are NaN without such runs.
    """
    groups = faces_joined(results).groupby("problem_id", sort=False)
    return pd.DataFrame([_floor(str(problem), runs) for problem, runs in groups])


def _floor(problem: str, runs: pd.DataFrame) -> Row:
    is_floor = runs["solver"].map(kind_of) == "floor"
    answers = runs[~is_floor].dropna(subset=["relative_gap", "n_support"])
    n = float(runs["n"].iloc[0])
    best = answers.sort_values("relative_gap", kind="stable")["n_support"]
    support = float(best.iloc[0]) if len(best) else float("nan")
    measured = runs[is_floor]
    each = float((measured["time_solve"] / measured["n_kernel_evals"]).median())
    values = n * support - support**2 / 2
    known = {"problem": problem, "n": n, "d": float(runs["d"].iloc[0]), "support": support}
    return known | {"values": values, "nanoseconds": 1e9 * each, "time": each * values}
