"""The folder of a run: what is appended as runs complete, and the tables made from it.

    manifest.json     the experiment file, the planned run ids, versions; written first
    runs.jsonl        one line a run: its record and its trace; the truth, only ever appended to
    models/*.npz      answers to small problems in the plane, for pictures
    runs.parquet, runs.csv, traces.parquet, summary.md    made from runs.jsonl at the end

A line is on the disk before the next run is recorded, so that a crash loses nothing that was
reported. A torn line, left by a full disk or a killed process, is passed over when reading.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.machine import machine
from experiments.records import COLUMNS, FULL_TRACE_COLUMNS, TEXT_COLUMNS, TRACE_COLUMNS, Outcome
from experiments.records import versions as package_versions
from experiments.specs import build_kernel

SCHEMA = 1
_BEGINNINGS = {"runs.jsonl", ".manifest.json.new"}
_OF_THE_PROBLEM = ["problem_hash", "family_hash", "n", "d"]


class StoreError(Exception):
    """A folder that cannot be written to or read, with what to do."""


@dataclass(frozen=True)
class Store:
    """The folder of one run of one plan, open for appending."""

    folder: Path
    file: int

    @classmethod
    def open(cls, folder: Path, text: str, run_ids: Sequence[str], resume: bool = False) -> Store:
        """Open a folder for the plan of an experiment file, and write the manifest first.

        Parameters
        ----------
        folder : created if it is missing.
        text : the experiment file. run_ids : of its plan, in order.
        resume : go on where the folder's runs end.

        Raises
        ------
        StoreError
            If the folder is not empty (without `resume`), is of another plan, is written to by
            another process, or cannot be written to.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_used(folder, list(run_ids), resume)
            file = os.open(folder / "runs.jsonl", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _lock(file, folder)
            if not (folder / "manifest.json").exists():
                _write(folder / "manifest.json", _manifest(text, run_ids).encode())
            _end_line(file)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written to: {error.strerror}") from None
        return cls(folder, file)

    def append(self, outcome: Outcome) -> None:
        """Record one run; it is on the disk when this returns.

        Raises
        ------
        OSError
            If the disk is full; what was recorded before is not lost.
        """
        if outcome.model:
            (self.folder / "models").mkdir(exist_ok=True)
            with (self.folder / "models" / f"{outcome.run_id}.npz").open("wb") as file:
                np.savez_compressed(file, **outcome.model)
        line = json.dumps({"record": outcome.record, "trace": outcome.trace}, default=str)
        data = line.encode() + b"\n"
        while data:
            data = data[os.write(self.file, data) :]
        os.fsync(self.file)

    def close(self) -> None:
        """Close the folder, so that others may write to it."""
        os.close(self.file)


def write_tables(folder: Path, summary: str) -> list[Path]:
    """Write the tables made from a folder's runs, each replaced as a whole; return their paths."""
    results, traces = load_results(folder), read_traces(folder)
    paths = [folder / name for name in ("summary.md", "runs.csv", "runs.parquet", "traces.parquet")]
    _write(paths[0], summary.encode())
    _write(paths[1], results.to_csv(index=False).encode())
    _write(paths[2], results.to_parquet(index=False))
    _write(paths[3], traces.to_parquet(index=False))
    return paths


def recorded(folder: Path) -> set[str]:
    """Return the ids of the runs that a folder has."""
    return {line["record"]["run_id"] for line in _lines(folder)}


def planned(folder: Path) -> list[str]:
    """Return the ids of the runs that a folder's plan has, in order.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text())
        schema, run_ids = manifest["schema"], manifest["run_ids"]
    except FileNotFoundError:
        raise StoreError(f"{folder}: holds no results (there is no {path})") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if schema != SCHEMA:
        raise StoreError(
            f"{folder}: holds results of schema {schema}, this version reads {SCHEMA}; "
            "run the experiment again"
        )
    return run_ids


def load_results(folder: Path | str) -> pd.DataFrame:
    """Return the runs of a folder in the order of the plan, one row each; NaN is what there is not.

    `suboptimality` is the primal objective less the best dual bound that any run on the same problem
    reached, in any of its faces.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    folder = Path(folder)
    order = {run_id: i for i, run_id in enumerate(planned(folder))}
    records = {line["record"]["run_id"]: line["record"] for line in _lines(folder)}
    ordered = sorted(records.values(), key=lambda record: order.get(record["run_id"], len(order)))
    table = pd.DataFrame(ordered, columns=COLUMNS).astype(object)
    # a run that was killed could not tell its size; others on the same problem can
    table[_OF_THE_PROBLEM] = table[_OF_THE_PROBLEM].fillna(
        table.groupby("problem_id")[_OF_THE_PROBLEM].transform("first")
    )
    for column in COLUMNS:
        if column not in TEXT_COLUMNS:
            table[column] = pd.to_numeric(table[column]).astype(np.float64)
    best = table.groupby("family_hash")["dual_objective"].transform("max")
    table["suboptimality"] = table["primal_objective"] - best
    return table


def load_traces(folder: Path | str) -> pd.DataFrame:
    """Return the looks at the running solvers, one row each.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    return read_traces(folder)[TRACE_COLUMNS]


def read_traces(folder: Path | str) -> pd.DataFrame:
    """Return `load_traces` with two columns more: n_support and objective."""
    planned(Path(folder))
    traces = {line["record"]["run_id"]: line["trace"] for line in _lines(Path(folder))}
    rows = [row for trace in traces.values() for row in trace]
    table = pd.DataFrame(rows, columns=FULL_TRACE_COLUMNS)
    return table.astype({name: np.float64 for name in FULL_TRACE_COLUMNS if name != "run_id"})


def load_model(folder: Path | str, run_id: str) -> dict[str, Any] | None:
    """Return X, y, alpha, w (None with a kernel), b and kernel of an answer; None if none was kept."""
    path = Path(folder) / "models" / f"{run_id}.npz"
    if not path.is_file():
        return None
    with np.load(path) as stored:
        arrays = dict(stored)
    w = arrays["w"]
    return arrays | {
        "w": None if np.isnan(w).any() else w,
        "b": float(arrays["b"]),
        "kernel": build_kernel(json.loads(str(arrays["kernel"]))),
    }


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what each line of `runs.jsonl` holds, passing over torn lines."""
    path = folder / "runs.jsonl"
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            content = json.loads(line)
            if isinstance(content, dict) and "run_id" in content.get("record", {}):
                yield content


def _refuse_used(folder: Path, run_ids: list[str], resume: bool) -> None:
    present = {path.name for path in folder.iterdir()}
    if not present:
        return
    if not resume:
        raise StoreError(
            f"{folder}: is not empty; add --resume to go on with its runs, or choose another --out"
        )
    if present <= _BEGINNINGS and not recorded(folder):
        return  # killed before it had a manifest
    if planned(folder) != run_ids:
        raise StoreError(
            f"{folder}: was begun with another plan (the experiment file, or a default, has changed "
            "since); choose another --out, or delete the folder"
        )


def _lock(file: int, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise StoreError(f"{folder}: another process is writing to it; wait for it") from None


def _end_line(file: int) -> None:
    """End a torn last line, so that the next record begins on its own."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")


def _manifest(text: str, run_ids: Sequence[str]) -> str:
    content = {
        "schema": SCHEMA,
        "experiment": text,
        "run_ids": list(run_ids),
        "versions": package_versions(),
        "host": platform.node(),
        "platform": platform.platform(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return json.dumps(content, indent=1)


def _write(path: Path, content: bytes) -> None:
    """Replace a file as a whole: a reader sees the old one or the new one."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    temporary.replace(path)
