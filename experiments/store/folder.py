"""A results folder: records that are appended as runs complete, and the tables made from them.

    experiment.yaml   the experiment file; written first
    manifest.json     the planned run ids and problems, versions; written before anything is run
    runs.jsonl        one line per run: its record, its trace, the end of its output; lines are only
                      appended, and the last line of a run counts; see `log`
    models/*.npz      answers to small problems in the plane, for figures
    answers/*.npy     dual variables from which other runs start
    runs.parquet, runs.csv, traces.parquet, summary.md    made from runs.jsonl at the end; runs.csv
                      omits values that the manifest has for all runs
    paths.csv         one row per answer on a path, if the experiment has any
    datapackage.json  descriptions of the columns of the CSV files

A line is on disk before the next run is recorded, so that a crash loses nothing that was reported.
Readers skip damaged lines, and incomplete ones left by a full disk or a killed process.
"""

from __future__ import annotations

import fcntl
import io
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.run_key import RunKey
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.log import LOG, Session
from dualgap.experiments.store.manifest import (
    EXPERIMENT,
    NAME,
    ResumePolicy,
    StoreError,
    common_columns,
    new_manifest,
    read_manifest,
    update_manifest_for_resume,
    write_manifest,
)
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.workers.provenance import frequency, provenance

# files that a command may have left if it was killed while it created a folder
_INITIAL_FILES = re.compile(rf"{LOG}|{EXPERIMENT}|\.({EXPERIMENT}|{NAME})\.[0-9a-f]+\.new")
_IN_USE = "another process is writing to it, merging or archiving it; wait until it has finished"
# attributes of an outcome in a line of the log
RECORDED = ("record", "trace", "output", "diagnosis", "path")


@dataclass(frozen=True)
class Store:
    """The results folder of one plan, open for appending."""

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
        policy: ResumePolicy | None = None,
        inputs: Mapping[str, InputFile] | None = None,
        problems: Mapping[str, Any] | None = None,
        command_info: Mapping[str, Any] | None = None,
    ) -> Store:
        """Open a folder for the plan of an experiment file, and write the manifest first.

        Parameters
        ----------
        folder : created if missing.
        text : the experiment file. run_ids : the ids of its plan, in order.
        resume : continue an existing folder.
        policy : permitted changes of the plan, the code, the libraries or data, which the manifest then
            records.
        inputs : the input files of the plan. problems : the specifications of its problems, by name.
        command_info : see `new_manifest`.

        Raises
        ------
        StoreError
            If it is not a folder, is not empty (without `resume`), was created under conditions that
            `policy` does not allow, is in use by another process, or cannot be written to.
        OSError
            If the disk is full.
        """

        def plan(old: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[RunKey]]:
            manifest = new_manifest(text, run_ids, inputs or {}, problems or {}, old, command_info)
            if not old:
                return manifest, []
            return update_manifest_for_resume(
                folder, old, manifest, inputs or {}, policy or ResumePolicy()
            )

        return cls._lock(folder, resume, plan)

    @classmethod
    def reopen(cls, folder: Path) -> Store:
        """Open an existing folder unchanged, to record runs made elsewhere; StoreError as `open`."""
        manifest = read_manifest(folder)
        return cls._lock(folder, True, lambda old: (dict(old or manifest), []))

    @classmethod
    def _lock(
        cls,
        folder: Path,
        resume: bool,
        plan: Callable[[Mapping[str, Any] | None], tuple[dict[str, Any], list[RunKey]]],
    ) -> Store:
        """Open a folder for exclusive writing.

        `plan` returns, for the existing manifest, the one to write and the rounds to restart.
        """
        try:
            disk.make_folder(folder)
            _existing_manifest(folder, resume)  # before a file is created in a foreign folder
            file = disk.open_to_append(folder / LOG)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                old = _existing_manifest(folder, resume, opened=True)  # may have been created since
                manifest, restarted = plan(old)
                session = Session(restarted=restarted)
                manifest.setdefault("sessions", []).append(session.entry())
                manifest["provenance"] = [*(old or {}).get("provenance", []), provenance()]
                write_manifest(folder, manifest)
            except BaseException:
                os.close(file)
                raise
        except BlockingIOError:
            raise StoreError(f"{folder}: {_IN_USE}") from None
        except (FileExistsError, NotADirectoryError):
            raise StoreError(f"{folder}: is not a folder; choose another --out") from None
        except OSError as error:
            if error.errno in disk.FULL:  # not a fault of the input
                raise OSError(error.errno, error.strerror, str(folder)) from None
            raise StoreError(f"{folder}: cannot be written to: {error.strerror}") from None
        return cls(folder, file, manifest, session)

    def append(self, outcome: Outcome) -> None:
        """Record one run; it is on disk when this returns.

        Raises
        ------
        OSError
            If the disk is full; earlier records are not lost.
        """
        key, model, answer = outcome.run_id, io.BytesIO(), io.BytesIO()
        if outcome.model:
            np.savez_compressed(model, **outcome.model)
        if outcome.answer is not None:
            np.save(answer, outcome.answer)
        for name, file in ((f"models/{key}.npz", model), (f"answers/{key}.npy", answer)):
            path = self.folder / name
            if file.tell():
                disk.make_folder(path.parent)
                disk.replace(path, file.getvalue())
            else:
                disk.remove(path)  # written by the run that this one repeats
        content = {name: getattr(outcome, name) for name in RECORDED}
        common = common_columns(self.manifest, outcome.record["problem_id"])
        record = {k: v for k, v in outcome.record.items() if v is None or v != common.get(k)}
        size = os.fstat(self.file).st_size
        is_incomplete = size > 0 and os.pread(self.file, 1, size - 1) != b"\n"
        line = self.session.sealed(content | {"record": record})
        disk.append(self.file, b"\n" * is_incomplete + line)
        self.session.lines += 1

    def close(self) -> None:
        """End the session, and close the folder, so that others may write to it."""
        self.manifest["sessions"][-1] = self.session.entry(has_ended=True)
        if self.session.lines or len(self.manifest["provenance"]) == 1:
            self.manifest["provenance"][-1]["frequency_after"] = frequency()
        else:  # nothing was measured
            del self.manifest["provenance"][-1]
        try:
            # if this fails, the session looks like that of a killed command
            with suppress(OSError):
                write_manifest(self.folder, self.manifest)
        finally:
            os.close(self.file)


@contextmanager
def unchanged(folder: Path) -> Generator[None]:
    """Prevent other commands from recording runs in a folder while it is copied.

    Raises
    ------
    StoreError
        If another command is recording runs in it.
    """
    if not (folder / LOG).is_file():  # a published folder, in which no runs are recorded
        yield
        return
    with (folder / LOG).open("rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{folder}: {_IN_USE}") from None
        yield


def write_tables(folder: RunFolder, texts: Mapping[str, str]) -> list[Path]:
    """Write the tables of a folder's runs, and `texts` by file name; return all paths.

    Each file is replaced atomically.
    """
    files = {name: text.encode() for name, text in texts.items()} | {
        **folder.csv_files(leave_out=["traces.csv"]),
        "runs.parquet": folder.results.to_parquet(index=False),
        "traces.parquet": folder.traces.to_parquet(index=False),
    }
    for name, content in files.items():
        disk.replace(folder.path / name, content)
    return [folder.path / name for name in files]


def _existing_manifest(folder: Path, resume: bool, opened: bool = False) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if it is new, or its command was killed before writing one.

    If `opened`, this process has created the log, which is then no reason to refuse without `resume`.
    """
    sizes = {path.name: path.lstat().st_size for path in folder.iterdir()}
    # without a log, an experiment file was put there by the user
    only_initial = all(map(_INITIAL_FILES.fullmatch, sizes))
    is_new = only_initial and not sizes.get(LOG, len(sizes))
    if not resume and (not is_new if opened else sizes):
        raise StoreError(
            f"Output folder {folder} is not empty. Use --resume to continue it, or choose another --out."
        )
    if is_new:
        return None
    manifest = read_manifest(folder)
    if "runs.csv" in sizes and LOG not in sizes:  # a new, empty log would hide its runs
        raise StoreError(f"{folder}: is published and has no log to continue; choose another --out")
    return manifest
