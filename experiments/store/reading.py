"""The folder of a run, read back: which runs it has, and the tables made from their records."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from experiments.cases.columns import (
    COLUMNS,
    DESCRIBED,
    FULL_TRACE_COLUMNS,
    NUMBER_COLUMNS,
    PATH_COLUMNS,
    TRACE_COLUMNS,
)
from experiments.cases.search import is_searched, next_of, search_of
from experiments.files.specs import build_kernel
from experiments.store.manifest import read_manifest
from problems import Vector

ANSWERS = "answers"
_OF_THE_PROBLEM = ["problem_hash", "family_hash", "n", "d"]


def recorded(folder: Path, retry: Collection[str] = ()) -> set[str]:
    """Return the ids of a folder's runs, without those whose status or verdict is in `retry`."""
    return set(records(folder, retry))


def records(folder: Path, retry: Collection[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the records of those runs, by their ids."""
    found = {run_id: line["record"] for run_id, line in _latest(folder).items()}
    ends = ("status", "verdict")
    return {key: r for key, r in found.items() if not any(r.get(end) in retry for end in ends)}


def planned(folder: Path) -> list[str]:
    """Return the ids of the runs that a folder's plan has, in order.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    return read_manifest(folder)["run_ids"]


def missing(folder: Path) -> int:
    """Return how many runs of a folder's plan are missing, and searches of a tolerance not at their end.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    known = records(folder)
    return sum(
        next_of(run_id, known) is not None if is_searched(run_id) else run_id not in known
        for run_id in planned(folder)
    )


def load_results(folder: Path | str) -> pd.DataFrame:
    """Return the runs of a folder in the order of the plan, one row each; missing values are NaN.

    `suboptimality` is the primal objective less the best dual bound that any run on the same problem
    reached, in any of its views.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return load_tables(folder)[0]


def load_traces(folder: Path | str) -> pd.DataFrame:
    """Return the evaluations of the running solvers, one row each.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return read_traces(folder)[TRACE_COLUMNS]


def read_traces(folder: Path | str) -> pd.DataFrame:
    """Return `load_traces` with three more columns: n_support, objective, relative_gap."""
    return load_tables(folder)[1]


def load_tables(folder: Path | str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what `load_results` and `read_traces` do, reading the folder once."""
    places = {search_of(run_id): i for i, run_id in enumerate(planned(Path(folder)))}
    latest = _latest(Path(folder))
    known = [run_id for run_id in latest if search_of(run_id) in places]
    run_ids = sorted(known, key=lambda run_id: (places[search_of(run_id)], run_id))
    results = _results([latest[run_id]["record"] for run_id in run_ids])
    evaluated = [row for run_id in known for row in latest[run_id]["trace"]]
    traces = pd.DataFrame(evaluated, columns=FULL_TRACE_COLUMNS)
    traces = traces.astype(dict.fromkeys(FULL_TRACE_COLUMNS[1:], np.float64))
    return results, traces.assign(relative_gap=_relative_gap(traces))


def _relative_gap(traces: pd.DataFrame) -> Vector:
    """Return gap / max(|primal|, |dual|) of each evaluation, 0 where the gap is 0."""
    gap = traces["gap"].to_numpy()
    size = np.abs(traces[["primal_objective", "dual_objective"]].to_numpy()).max(
        axis=1, initial=0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / size)


def _results(records: list[dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(records, columns=[*COLUMNS, *DESCRIBED]).astype(object)
    # a run that was killed could not record the problem's size; others on the same problem have it
    table[_OF_THE_PROBLEM] = table[_OF_THE_PROBLEM].fillna(
        table.groupby("problem_id")[_OF_THE_PROBLEM].transform("first")
    )
    table = table.astype(dict.fromkeys(NUMBER_COLUMNS, np.float64))
    table = without_empty(table)
    best = table.groupby("family_hash")["dual_objective"].transform("max")
    table["suboptimality"] = table["primal_objective"] - best
    return table


def without_empty(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of runs without those columns of descriptions that no run has."""
    return table.drop(columns=[name for name in DESCRIBED if table[name].isna().all()])


def load_diagnoses(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the fields of the `Diagnosis` of a folder's runs by run id, of those that have one."""
    found = {run_id: line.get("diagnosis") for run_id, line in _latest(folder).items()}
    return {run_id: diagnosis for run_id, diagnosis in found.items() if diagnosis}


def load_paths(folder: Path | str) -> pd.DataFrame:
    """Return the answers on the paths of a folder, one row each; `columns.PATHS` names the columns."""
    rows = [row for line in _latest(Path(folder)).values() for row in line.get("path", ())]
    return pd.DataFrame(rows, columns=PATH_COLUMNS)


def load_answer(folder: Path, run_id: str) -> Vector | None:
    """Return the dual variables that a run has left for another to begin at; None if it left none."""
    try:
        return np.load(folder / ANSWERS / f"{run_id}.npy")
    except (OSError, ValueError, EOFError):  # damaged: another run then begins at 0
        return None


def load_model(folder: Path | str, run_id: str) -> dict[str, Any] | None:
    """Return X, y, alpha, w (None with a kernel), b and kernel of an answer; None if none was kept.

    Of K binary subproblems alpha is (n, K), w (2, K) and b (K,).
    """
    path = Path(folder) / "models" / f"{run_id}.npz"
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = dict(stored)
    except (ValueError, EOFError, OSError, BadZipFile):  # damaged: it is only for a picture
        return None
    w = arrays["w"]
    return arrays | {
        "w": None if np.isnan(w).any() else w,
        "b": arrays["b"] if arrays["b"].ndim else float(arrays["b"]),
        "kernel": build_kernel(json.loads(str(arrays["kernel"]))),
    }


def _latest(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the last line of each run in `runs.jsonl`, skipping torn and damaged ones."""
    path, latest = folder / "runs.jsonl", dict[str, dict[str, Any]]()
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            content = json.loads(line)
            _check_numbers(content["record"], NUMBER_COLUMNS)
            for row in content["trace"]:
                _check_numbers(row, FULL_TRACE_COLUMNS[1:])
            latest[content["record"]["run_id"]] = content
    return latest


def _check_numbers(row: dict[str, Any], columns: Iterable[str]) -> None:
    """Raise ValueError, TypeError, KeyError or AttributeError for what a table cannot hold."""
    hash(row["run_id"])
    for name in columns:
        if row.get(name) is not None:
            float(row[name])
