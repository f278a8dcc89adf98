"""The folder of a run: what is appended as runs complete, and the tables made from it.

    manifest.json     the experiment file, the planned run ids, versions; written first
    runs.jsonl        one line a run: its record, its trace, the end of its output; lines are only
                      ever appended, and of two lines of one run the later counts
    models/*.npz      answers to small problems in the plane, for pictures
    answers/*.npy     dual variables at which other runs begin
    runs.parquet, runs.csv, traces.parquet, summary.md    made from runs.jsonl at the end
    paths.csv         one row for each answer on a path, if the experiment has any

A line is on the disk before the next run is recorded, so that a crash loses nothing that was
reported. A torn line, left by a full disk or a killed process, and a damaged one are skipped when
reading.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from experiments.cases.records import Outcome
from experiments.cases.search import is_searched, next_of, search_of
from experiments.files.specs import build_kernel
from experiments.store import disk
from experiments.store.manifest import (
    NAME,
    StoreError,
    differences,
    new_manifest,
    read_manifest,
    succeeding,
)
from problems import Vector

_BEGINNINGS = {"runs.jsonl", f".{NAME}.new"}
# of an outcome, in one line of the log
_RECORDED = ("record", "trace", "output", "diagnosis", "path")
_ANSWERS = "answers"
_OF_THE_PROBLEM = ["problem_hash", "family_hash", "n", "d"]


@dataclass(frozen=True)
class Store:
    """The folder of one run of one plan, open for appending."""

    folder: Path
    file: int

    @classmethod
    def open(
        cls,
        folder: Path,
        text: str,
        run_ids: Sequence[str],
        resume: bool = False,
        force: bool = False,
        files: Iterable[Path] = (),
    ) -> Store:
        """Open a folder for the plan of an experiment file, and write the manifest first.

        Parameters
        ----------
        folder : created if it is missing.
        text : the experiment file. run_ids : of its plan, in order.
        resume : continue where the folder's runs end.
        force : continue even if the plan, the code or the libraries have changed, which the manifest
            then records.
        files : those of classes from outside, which are part of the code.

        Raises
        ------
        StoreError
            If it is no folder, is not empty (without `resume`), was begun with something else (without
            `force`), is written to by another process, or cannot be written to.
        OSError
            If the disk is full.
        """
        manifest = new_manifest(text, run_ids, files)
        try:
            disk.make_folder(folder)
            _refuse_used(folder, any(folder.iterdir()), resume)
            file = disk.open_to_append(folder / "runs.jsonl")
            try:
                _lock(file, folder)
                _refuse_used(folder, not _is_beginning(folder), resume)  # others may have begun
                _check_manifest(folder, manifest, force)
                _end_line(file)
            except BaseException:
                os.close(file)
                raise
        except (FileExistsError, NotADirectoryError):
            raise StoreError(f"{folder}: is no folder; choose another --out") from None
        except OSError as error:
            if error.errno in disk.FULL:  # no fault of the input
                raise OSError(error.errno, error.strerror, str(folder)) from None
            raise StoreError(f"{folder}: cannot be written to: {error.strerror}") from None
        return cls(folder, file)

    def append(self, outcome: Outcome) -> None:
        """Record one run; it is on the disk when this returns.

        Raises
        ------
        OSError
            If the disk is full; what was recorded before is not lost.
        """
        model = self.folder / "models" / f"{outcome.run_id}.npz"
        if outcome.model:
            disk.make_folder(model.parent)
            content = io.BytesIO()
            np.savez_compressed(content, **outcome.model)
            disk.replace(model, content.getvalue())
        else:
            disk.remove(model)  # of the run that this one repeats
        if outcome.answer is not None:
            answer, content = self.folder / _ANSWERS / f"{outcome.run_id}.npy", io.BytesIO()
            disk.make_folder(answer.parent)
            np.save(content, outcome.answer)
            disk.replace(answer, content.getvalue())
        content = {name: getattr(outcome, name) for name in _RECORDED}
        disk.append(self.file, json.dumps(content, default=str).encode() + b"\n")

    def close(self) -> None:
        """Close the folder, so that others may write to it."""
        os.close(self.file)


def write_tables(
    folder: Path, results: pd.DataFrame, traces: pd.DataFrame, texts: Mapping[str, str]
) -> list[Path]:
    """Write the tables made from a folder's runs, and texts by file name; return all paths.

    Each file is replaced as a whole.
    """
    tables = {name: text.encode() for name, text in texts.items()} | {
        "runs.csv": results.to_csv(index=False).encode(),
        "runs.parquet": results.to_parquet(index=False),
        "traces.parquet": traces.to_parquet(index=False),
    }
    if len(paths := load_paths(folder)):
        tables["paths.csv"] = paths.to_csv(index=False).encode()
    for name, content in tables.items():
        disk.replace(folder / name, content)
    return [folder / name for name in tables]


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
        return np.load(folder / _ANSWERS / f"{run_id}.npy")
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


def _refuse_used(folder: Path, used: bool, resume: bool) -> None:
    if used and not resume:
        raise StoreError(
            f"{folder}: is not empty; add --resume to continue its runs, or choose another --out"
        )
    if not _is_beginning(folder):
        planned(folder)


def _is_beginning(folder: Path) -> bool:
    """Whether a folder is empty, or of a run that was killed before it had a manifest."""
    return {path.name for path in folder.iterdir()} <= _BEGINNINGS and not recorded(folder)


def _check_manifest(folder: Path, manifest: dict[str, Any], force: bool) -> None:
    """Write the manifest, or find that the folder's own is the same."""
    if not _is_beginning(folder):
        old = read_manifest(folder)
        changed = differences(old, manifest)
        if not changed:
            return
        if not force:
            raise StoreError(
                f"{folder}: was begun with {', '.join(changed)}; add --force to resume it nevertheless, "
                "or choose another --out"
            )
        manifest = succeeding(old, manifest)
    disk.replace(folder / NAME, json.dumps(manifest, indent=1).encode())


def _lock(file: int, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(f"{folder}: another process is writing to it; wait for it") from None


def _end_line(file: int) -> None:
    """End a torn last line, so that the next record begins on its own."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        disk.append(file, b"\n")
