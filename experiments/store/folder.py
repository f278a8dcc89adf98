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
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.log import LOG, Session
from dualgap.experiments.store.manifest import (
    EXPERIMENT,
    NAME,
    Growth,
    StoreError,
    common_columns,
    new_manifest,
    read_manifest,
    succeeding,
    write_manifest,
)
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.workers.provenance import frequency, provenance

# what a command that was killed while it began a folder may have left there
_BEGINNING = re.compile(rf"{LOG}|{EXPERIMENT}|\.({EXPERIMENT}|{NAME})\.[0-9a-f]+\.new")
_IN_USE = "another process is writing to it, merging or archiving it; wait for it"
# of an outcome, in one line of the log
RECORDED = ("record", "trace", "output", "diagnosis", "path")


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
        growth: Growth | None = None,
        inputs: Mapping[str, InputFile] | None = None,
        problems: Mapping[str, Any] | None = None,
        begun_by: Mapping[str, Any] | None = None,
    ) -> Store:
        """Open a folder for the plan of an experiment file, and write the manifest first.

        Parameters
        ----------
        folder : created if it is missing.
        text : the experiment file. run_ids : of its plan, in order.
        resume : continue where the folder's runs end.
        growth : how the plan, the code, the libraries or data may have changed, which the manifest then
            records.
        inputs : the files that the plan names. problems : the specifications of its problems, by name.
        begun_by : see `new_manifest`.

        Raises
        ------
        StoreError
            If it is no folder, is not empty (without `resume`), was begun with something else (than
            `growth` allows), is written to by another process, or cannot be written to.
        OSError
            If the disk is full.
        """

        def planned(old: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[str]]:
            manifest = new_manifest(text, run_ids, inputs or {}, problems or {}, old, begun_by)
            if not old:
                return manifest, []
            return succeeding(folder, old, manifest, inputs or {}, growth or Growth())

        return cls._locked(folder, resume, planned)

    @classmethod
    def reopen(cls, folder: Path) -> Store:
        """Open a folder as it was begun, to record runs made elsewhere; StoreError as `open`."""
        begun = read_manifest(folder)
        return cls._locked(folder, True, lambda old: (dict(old or begun), []))

    @classmethod
    def _locked(
        cls,
        folder: Path,
        resume: bool,
        planned: Callable[[Mapping[str, Any] | None], tuple[dict[str, Any], list[str]]],
    ) -> Store:
        """Open a folder that no other process writes to.

        `planned` returns, from the manifest that is there, the one to write and the runs to begin anew.
        """
        try:
            disk.make_folder(folder)
            _earlier(folder, resume)  # before a file is created in a folder of others
            file = disk.open_to_append(folder / LOG)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                old = _earlier(folder, resume, opened=True)  # others may have begun
                manifest, again = planned(old)
                session = Session(restarted=again)
                manifest.setdefault("sessions", []).append(session.entry())
                manifest["provenance"] = [*(old or {}).get("provenance", []), provenance()]
                write_manifest(folder, manifest)
            except BaseException:
                os.close(file)
                raise
        except BlockingIOError:
            raise StoreError(f"{folder}: {_IN_USE}") from None
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
                disk.remove(path)  # of the run that this one repeats
        content = {name: getattr(outcome, name) for name in RECORDED}
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
        if self.session.lines or len(self.manifest["provenance"]) == 1:
            self.manifest["provenance"][-1]["frequency_after"] = frequency()
        else:  # it has measured nothing
            del self.manifest["provenance"][-1]
        try:
            with suppress(
                OSError
            ):  # without its end the session reads like that of a killed command
                write_manifest(self.folder, self.manifest)
        finally:
            os.close(self.file)


@contextmanager
def unchanged(folder: Path) -> Generator[None]:
    """Keep other commands from recording runs in a folder while it is copied.

    Raises
    ------
    StoreError
        If one is recording runs in it now.
    """
    if not (folder / LOG).is_file():  # a published folder, in which nobody records
        yield
        return
    with (folder / LOG).open("rb") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{folder}: {_IN_USE}") from None
        yield


def write_tables(folder: RunFolder, texts: Mapping[str, str]) -> list[Path]:
    """Write the tables made from a folder's runs, and texts by file name; return all paths.

    Each file is replaced as a whole.
    """
    files = {name: text.encode() for name, text in texts.items()} | {
        **folder.csv_files(leave_out=["traces.csv"]),
        "runs.parquet": folder.results.to_parquet(index=False),
        "traces.parquet": folder.traces.to_parquet(index=False),
    }
    for name, content in files.items():
        disk.replace(folder.path / name, content)
    return [folder.path / name for name in files]


def _earlier(folder: Path, resume: bool, opened: bool = False) -> dict[str, Any] | None:
    """Return the manifest of a folder; None if it is empty, or of a run killed before it had one.

    Once the folder is `opened`, its log is there, and is no reason to refuse it without `resume`.
    """
    sizes = {path.name: path.lstat().st_size for path in folder.iterdir()}
    # without a log, an experiment file is one that somebody has put there
    begun = all(map(_BEGINNING.fullmatch, sizes))
    beginning = begun and not sizes.get(LOG, len(sizes))
    if not resume and (not beginning if opened else sizes):
        raise StoreError(
            f"{folder}: is not empty; choose another --out, or continue what `run` began with --resume"
        )
    if beginning:
        return None
    manifest = read_manifest(folder)
    if "runs.csv" in sizes and LOG not in sizes:  # beside an empty log its runs would not be seen
        raise StoreError(
            f"{folder}: is published, without a log to go on with; choose another --out"
        )
    return manifest
