"""The folder of a run: what is appended as runs complete, and the tables made from it.

    experiment.yaml   the experiment file; written first
    manifest.json     the planned run ids and problems, versions; written before anything is run
    runs.jsonl        one line a run: its record, its trace, the end of its output; lines are only
                      ever appended, and of two lines of one run the later counts; see `log`
    models/*.npz      answers to small problems in the plane, for pictures
    answers/*.npy     dual variables at which other runs begin
    runs.parquet, runs.csv, traces.parquet, summary.md    made from runs.jsonl at the end; what the
                      manifest says of all runs is not repeated in runs.csv
    paths.csv         one row for each answer on a path, if the experiment has any
    datapackage.json  what the columns of the CSV files hold and mean

A line is on the disk before the next run is recorded, so that a crash loses nothing that was
reported. A torn line, left by a full disk or a killed process, and a damaged one are skipped when
reading.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cases.records import Outcome
from experiments.records.columns import csv_of, datapackage
from experiments.store import disk
from experiments.store.inputs import InputFile
from experiments.store.log import LOG, Session
from experiments.store.manifest import (
    EXPERIMENT,
    NAME,
    StoreError,
    common_columns,
    new_manifest,
    read_manifest,
    restarted,
    succeeding,
    write_manifest,
)
from experiments.store.reading import ANSWERS, RunFolder

_BEGINNINGS = {LOG, EXPERIMENT, f".{EXPERIMENT}.new", f".{NAME}.new"}
# of an outcome, in one line of the log
_RECORDED = ("record", "trace", "output", "diagnosis", "path")


@dataclass(frozen=True)
class Store:
    """The folder of one run of one plan, open for appending."""

    folder: Path
    file: int
    manifest: dict[str, Any]
    session: Session

    @classmethod
    def open(
        cls,
        folder: Path,
        text: str,
        run_ids: Sequence[str],
        resume: bool = False,
        force: bool = False,
        inputs: Mapping[str, InputFile] | None = None,
        problems: Mapping[str, Any] | None = None,
    ) -> Store:
        """Open a folder for the plan of an experiment file, and write the manifest first.

        Parameters
        ----------
        folder : created if it is missing.
        text : the experiment file. run_ids : of its plan, in order.
        resume : continue where the folder's runs end.
        force : continue even if the plan, the code, the libraries or data have changed, which the
            manifest then records; of runs that use a changed file no earlier line counts any more.
        inputs : the files that the plan names. problems : the specifications of its problems, by name.

        Raises
        ------
        StoreError
            If it is no folder, is not empty (without `resume`), was begun with something else (without
            `force`), is written to by another process, or cannot be written to.
        OSError
            If the disk is full.
        """
        try:
            disk.make_folder(folder)
            _refuse_used(folder, any(folder.iterdir()), resume)
            file = disk.open_to_append(folder / LOG)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _refuse_used(folder, not _is_beginning(folder), resume)  # others may have begun
                old = None if _is_beginning(folder) else read_manifest(folder)
                data = old.get("data") if old else None
                manifest = new_manifest(text, run_ids, inputs or {}, problems or {}, data)
                restart = restarted(old, manifest, inputs or {}) if old else []
                if old:
                    manifest = succeeding(folder, old, manifest, restart, force)
                session = Session(restarted=restart)
                manifest.setdefault("sessions", []).append(session.entry())
                write_manifest(folder, manifest)
            except BaseException:
                os.close(file)
                raise
        except BlockingIOError:
            raise StoreError(f"{folder}: another process is writing to it; wait for it") from None
        except (FileExistsError, NotADirectoryError):
            raise StoreError(f"{folder}: is no folder; choose another --out") from None
        except OSError as error:
            if error.errno in disk.FULL:  # no fault of the input
                raise OSError(error.errno, error.strerror, str(folder)) from None
            raise StoreError(f"{folder}: cannot be written to: {error.strerror}") from None
        return cls(folder, file, manifest, session)

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
            answer, content = self.folder / ANSWERS / f"{outcome.run_id}.npy", io.BytesIO()
            disk.make_folder(answer.parent)
            np.save(content, outcome.answer)
            disk.replace(answer, content.getvalue())
        content = {name: getattr(outcome, name) for name in _RECORDED}
        common = common_columns(self.manifest, outcome.record["problem_id"])
        own = {k: v for k, v in outcome.record.items() if v is None or v != common.get(k)}
        size = os.fstat(self.file).st_size
        torn = size > 0 and os.pread(self.file, 1, size - 1) != b"\n"
        line = self.session.sealed(content | {"record": own})
        disk.append(self.file, b"\n" * torn + line)  # on a line of its own
        self.session.lines += 1

    def close(self) -> None:
        """End the session, and close the folder, so that others may write to it."""
        self.manifest["sessions"][-1] = self.session.entry(ended=True)
        try:
            with suppress(
                OSError
            ):  # without its end the session reads like that of a killed command
                write_manifest(self.folder, self.manifest)
        finally:
            os.close(self.file)


def write_tables(folder: RunFolder, texts: Mapping[str, str]) -> list[Path]:
    """Write the tables made from a folder's runs, and texts by file name; return all paths.

    Each file is replaced as a whole.
    """
    written = {name: table for name, table in folder.tables.items() if name != "traces.csv"}
    package = datapackage(folder.manifest["name"], written)
    files = {name: text.encode() for name, text in texts.items()} | {
        **{name: csv_of(table, name) for name, table in written.items()},
        "runs.parquet": folder.results.to_parquet(index=False),
        "traces.parquet": folder.traces.to_parquet(index=False),
        "datapackage.json": json.dumps(package, indent=1, ensure_ascii=False).encode(),
    }
    for name, content in files.items():
        disk.replace(folder.path / name, content)
    return [folder.path / name for name in files]


def _refuse_used(folder: Path, used: bool, resume: bool) -> None:
    if used and not resume:
        raise StoreError(
            f"{folder}: is not empty; add --resume to continue its runs, or choose another --out"
        )
    if not _is_beginning(folder):
        read_manifest(folder)


def _is_beginning(folder: Path) -> bool:
    """Whether a folder is empty, or of a run that was killed before it had a manifest."""
    sizes = {path.name: path.lstat().st_size for path in folder.iterdir()}
    # without a log, an experiment file is one that somebody has put there
    return sizes.keys() <= _BEGINNINGS and not sizes.get(LOG, len(sizes))
