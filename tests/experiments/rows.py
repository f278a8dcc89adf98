"""Rows of results, and folders of them: the one factory of all tests."""

import json

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.records.columns import FILES, RESULTS
from dualgap.experiments.records.names import SolverEntry, labels_and_series, problem_names
from dualgap.experiments.store.manifest import SCHEMA
from dualgap.experiments.store.session import Session

NAN = float("nan")
_EMPTY = {record.name: NAN if record.kind in ("number", "whole") else None for record in RESULTS}
_GONE = ("relative_gap", "gap", "primal_objective", "dual_objective", "time_solve", "iterations")


def problem_spec(dataset="moons", formulation="soft_margin_dual", /, *, params=None, **options):
    """Return the specification of a problem on a data set with these options."""
    fields = {"formulation": formulation, "dataset": {"name": dataset} | options}
    return fields | {"parameters": params or {}, "path": {}}


def tail(solver):
    return solver.rsplit("/", 1)[-1]


def run(problem="p", solver="smo", *, tol=1e-6, **changes):
    """Return a row of a run that solved a problem in half a second; `changes` replace columns.

    The problem is an id, or a specification as of `posed`.
    """
    fields = {"problem_id": problem}
    if not isinstance(problem, str):
        data_options = dict.fromkeys(problem["dataset"])  # so that all options are named
        plain = problem | {"dataset": data_options | {"name": problem["dataset"]["name"]}}
        name = problem_names([problem, plain])[0]
        fields = {"problem_id": name, "problem": json.dumps(problem)}
        fields["formulation"] = problem["formulation"]
    fields = {
        "problem_hash": f"hash of {fields['problem_id']}",
        "family_hash": f"family of {fields['problem_id']}",
        "formulation": "soft_margin_dual",
        "n": 100.0,
        "d": 5.0,
        "n_support": 40.0,
        "solver": solver,
        "label": tail(solver),
        "series": tail(solver),
        "params": json.dumps({"tol": tol}),
        "aa_repeat": False,
        "repetition": 0,
        "target_gap": 1e-6,
        "status": "finished",
        "claimed": "optimal",
        "verdict": "solved",
        "reason": "",
        "bound_source": "alpha",
        "objective": -244.99551,
        "primal_objective": 10.0,
        "dual_objective": 10.0,
        "gap": 0.0,
        "relative_gap": 1e-8,
        "suboptimality": 0.0,
        "time_solve": 0.5,
        "time_setup": 0.0,
        "iterations": 7.0,
        "threads": 2,
        "host": "here",
    } | fields
    return _EMPTY | fields | changes


def crashed(problem="p", solver="smo", **changes):
    """Return a row of a run that gave no answer."""
    fields = {"status": "crashed", "claimed": "none", "verdict": "uncertified", "reason": "boom"}
    return run(problem, solver, **(fields | dict.fromkeys(_GONE, NAN) | changes))


def timed(solver="smo", tol=1e-3, time=1.0, gap=1e-4, problem="p", **changes):
    """Return a row of a benchmark that goes down to a gap of 1e-9."""
    fields = {"time_solve": time, "relative_gap": gap, "target_gap": 1e-9, "primal_objective": 2.0}
    return run(problem, solver, tol=tol, **(fields | {"time_setup": NAN} | changes))


def repeated(solver, times, problem="p", **changes):
    """Return the rows of a solver's repetitions, which took these times, to a gap of 1e-3."""
    fields = {"tol": 1e-3, "target_gap": 1e-3, "relative_gap": 1e-4, "time_setup": NAN} | changes
    rows = [run(problem, solver, **({"time_solve": time} | fields)) for time in times]
    return [record | {"repetition": i} for i, record in enumerate(rows)]


def scattered(rng, factor=1.0, count=5, scatter=0.05):
    """Return times whose median is `factor`, scattered by so much of it."""
    return (factor * rng.lognormal(0.0, scatter, count)).tolist()


def results_of_folds(folds=3):
    """Return runs of two values of C on three folds, and of a third that one fold did not solve."""
    scores = {0.1: [0.5, 0.6, 0.7], 1.0: [0.7, 0.8, 0.9], 10.0: [1.0, 1.0, 1.0]}
    kernel = {"name": "rbf", "gamma": 1.0}
    rows = [
        run(
            problem_spec(fold=fold, folds=folds, params={"kernel": kernel, "C": C}),
            run_id=f"{C}-{fold}",
            dataset="moons",
            kernel="rbf(gamma=1)",
            C=C,
            verdict="inaccurate" if C == 10 and fold == 2 else "solved",
            test_accuracy=score,
        )
        for C, of_folds in scores.items()
        for fold, score in enumerate(of_folds[:folds])
    ]
    return pd.DataFrame(labelled(rows))


def trace_of_gaps(record, gaps, times=None):
    """Return the evaluations of a run with these relative gaps, evenly in time if not said otherwise."""
    times = times or np.linspace(0.1, 1.0, len(gaps)) * record["time_solve"]
    fields = {"iteration": 1, "primal_objective": 10.0, "kkt_violation": 0.1}
    return [
        dict.fromkeys(each.name for each in FILES["traces.csv"] if each.name != "relative_gap")
        | {"time": float(t), "gap": 10 * g, "dual_objective": 10 * (1 - g)}
        | fields
        for t, g in zip(times, gaps, strict=True)
    ]


def recorded(folder, outcomes, text="", **options):
    """Record the outcomes of runs as a folder of results; return the folder."""
    session = Session.begin(folder, text, [outcome.run_id for outcome in outcomes], **options)
    for outcome in outcomes:
        session.append(outcome)
    session.close()
    return folder


def stored(folder, rows, traces=None, name="small", more=""):
    """Record rows, and the evaluations of some of them by their places, as a folder of results."""
    outcomes = []
    for i, row in enumerate(labelled(rows)):
        record = {"run_id": f"run{i}"}
        evaluations = [evaluation | record for evaluation in (traces or {}).get(i, [])]
        outcomes.append(Outcome(row | record, evaluations))
    return recorded(folder, outcomes, f"name: {name}\ntime_limit: 20\n{more}")


def published(folder, rows, traces=None, paths=(), **changes):
    """Write rows as a published folder has them, and the evaluations of some; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = [column.name for column in FILES["runs.csv"]]
    table = pd.DataFrame(labelled(rows), columns=columns)
    table["run_id"] = table["run_id"].fillna(pd.Series([f"r{i}" for i in range(len(rows))]))
    table.to_csv(folder / "runs.csv", index=False)
    evaluated = [
        pd.DataFrame(trace).assign(
            run_id=f"r{i}", relative_gap=[each["gap"] / 10 for each in trace]
        )
        for i, trace in (traces or {}).items()
    ]
    for name, parts in (("traces.csv", evaluated), ("paths.csv", paths)):
        if parts:
            pd.concat(parts).to_csv(folder / name, index=False)
    manifest = {
        "schema": SCHEMA,
        "run_ids": [],
        **{"name": folder.name, "kind": "", "time_limit": 20.0, "code": {}},
        **{"problems": {}, "solvers": {}},
        "versions": {"python": "3.12"},
        "host": "here",
        "platform": "Linux",
        "machine": {"processor": "A & B_1", "cores": 2, "memory": 2**34},
        "date": "2026-01-02T03:04",
    }
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))
    (folder / "experiment.yaml").write_text(f"name: {folder.name}")
    return folder


def labelled(rows):
    """Return rows with the labels that their solvers have if all are planned together."""
    entries, seeds = [], {}
    for row in rows:
        settings = json.loads(row["params"])
        seed = settings.pop("seed", None)
        label = row["label"] if row["label"] != tail(row["solver"]) else ""
        entries.append(SolverEntry(row["solver"], settings, label))
        run_again = repr((entries[-1], row["problem_id"], row["repetition"]))
        seeds.setdefault(repr(entries[-1]), {}).setdefault(run_again, set()).add(seed)
    counts = {entry: max(map(len, each.values())) for entry, each in seeds.items()}
    entries = [entry._replace(seeds=counts[repr(entry)]) for entry in entries]
    pairs = zip(rows, labels_and_series(entries), strict=True)
    return [row | {"label": label, "series": series} for row, (label, series) in pairs]


def results_from(*rows):
    return Results(pd.DataFrame(labelled(rows)))
