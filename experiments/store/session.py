"""A results folder is a folder of sessions, each of which one command writes, and no other.

    sessions/00001-HOST-3f2a9c1b/session.json   the plan, the code, the libraries, the machine
                                runs.jsonl      one line per run: its record, its trace, the end of its
                                                output; lines are only appended
                                models/*.npz    answers to small problems in the plane, for figures
                                answers/*.npy   dual variables from which other runs start
                                starts          ids of the runs that a shard has started
                                .artifacts/     those of the runs that it executes now
    artifacts/RUN/*                             files that the solver of a recorded run has kept
    manifest.json, experiment.yaml              of all sessions together
    runs.parquet, runs.csv, traces.parquet, summary.md    made from the lines at the end; runs.csv omits
                                                values that the manifest has for all runs
    paths.csv         one row per answer on a path, if the experiment has any
    datapackage.json  descriptions of the columns of the CSV files

A line is on disk before the next run is recorded, so that a crash loses nothing that was reported.
Readers skip damaged lines, and incomplete ones left by a full disk or a killed process. As no file has
two writers, commands may record runs in a folder at the same time, sessions may be copied from one
folder to another, and a folder can be read at any time. Of several records of a run, that of the last
session counts. When a session ends, the number of its lines and their SHA-256 are recorded.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import to_json

from dualgap.experiments.cases.plan import Case, RunKey
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.logs import load_answer, read_log, valid_lines
from dualgap.experiments.store.manifest import (
    ARTIFACTS,
    LOG,
    SESSION_FILE,
    SESSIONS,
    STARTS,
    StoreError,
    combined,
    common_columns,
    followed,
    new_manifest,
    read_manifest,
    read_sessions,
    session_folders,
    write_manifest,
)
from dualgap.experiments.store.plan import ResumePolicy, check_resume
from dualgap.experiments.workers.machine import frequency
from dualgap.problems import Vector


class Session:
    """The session of one command, open for recording runs.

    Attributes
    ----------
    folder : the results folder. path : the folder of the session in it.
    manifest : of the results folder, with this session.
    recorded : ids of the runs that it has recorded.
    file : descriptor of its log.
    changes_plan : whether it plans or restarts runs, or differs in code, libraries or data.
    """

    def __init__(
        self, folder: Path, path: Path, entries: dict[str, Any], old: dict[str, Any] | None
    ) -> None:
        self.folder, self.path, self._entries = folder, path, entries
        self.manifest = combined([entries]) if old is None else followed(old, entries)
        self.recorded, self._digest = list[str](), hashlib.sha256()
        # an unchanged folder keeps its manifest
        self.changes_plan = self.manifest is not old or bool(entries["restarted"])
        disk.make_folder(path)
        disk.replace(path / SESSION_FILE, to_json(entries, indent=1))
        self.file = disk.open_to_append(path / LOG)

    @classmethod
    def begin(
        cls,
        folder: Path,
        text: str,
        run_ids: Sequence[str],
        resume: bool = False,
        policy: ResumePolicy | None = None,
        inputs: Mapping[str, InputFile] | None = None,
        problems: Mapping[str, Any] | None = None,
        solvers: Mapping[str, Any] | None = None,
        command_info: Mapping[str, Any] | None = None,
    ) -> Session:
        """Begin a session in a folder, for the plan of an experiment file.

        Parameters
        ----------
        folder : created if missing.
        text : the experiment file. run_ids : the ids of its plan, in order.
        resume : continue an existing folder.
        policy : permitted changes of the plan, the code, the libraries or data, which the manifest then
            records.
        inputs : the input files of the plan. problems : the specifications of its problems, by name.
        solvers : its solvers, by label.
        command_info : see `new_manifest`.

        Raises
        ------
        StoreError
            If it is not a folder, is not empty (without `resume`), was created under conditions that
            `policy` does not allow, or cannot be written to.
        OSError
            If the disk is full.
        """
        try:
            disk.make_folder(folder)
            _check_unused(folder, resume)
            existing = read_sessions(folder)
            previous = [path.name for path, _ in existing]
            old = combined([manifest for _, manifest in existing]) if existing else None
            new = new_manifest(
                text, run_ids, inputs or {}, problems or {}, solvers or {}, old, command_info
            )
            restarted, replaces_plan = list[RunKey](), False
            if old:
                policy = policy or ResumePolicy()
                restarted, replaces_plan = check_resume(folder, old, new, inputs or {}, policy)
            entries = new | {
                "restarted": list(map(str, restarted)),
                "replaces_plan": replaces_plan,
                "previous": previous,
            }
            disk.make_folder(folder / SESSIONS)
            path = folder / SESSIONS / _session_name(previous)
            session = cls(folder, path, entries, old)
            if session.changes_plan:
                write_manifest(folder, session.manifest)
        except (FileExistsError, NotADirectoryError):
            raise StoreError(f"{folder}: is not a folder; choose another --out") from None
        except OSError as error:
            if error.errno in disk.FULL:  # not a fault of the input
                raise OSError(error.errno, error.strerror, str(folder)) from None
            raise StoreError(f"{folder}: cannot be written to: {error.strerror}") from None
        return session

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
            path = self.path / name
            if file.tell():
                disk.make_folder(path.parent)
                disk.replace(path, file.getvalue())
            else:
                disk.remove(path)  # written by the run that this one repeats
        disk.replace_folder(self.folder / ARTIFACTS / key, self._artifacts / key)
        common = common_columns(self._entries, outcome.record["problem_id"])
        record = {k: v for k, v in outcome.record.items() if v is None or v != common.get(k)}
        names = ("trace", "output", "diagnosis", "path")
        content = {"record": record} | {name: getattr(outcome, name) for name in names}
        line = json.dumps(content, default=str).encode() + b"\n"
        disk.append(self.file, line)
        self._digest.update(line)
        self.recorded.append(key)

    def answer(self, run_id: str) -> Vector | None:
        """Return the dual variables that a run of this session stored for others, or None."""
        return load_answer(self.path / "answers" / f"{run_id}.npy")

    @property
    def _artifacts(self) -> Path:
        """The folder of the artifacts of runs that are not recorded yet."""
        return self.path.absolute() / f".{ARTIFACTS}"

    def with_artifacts(self, case: Case) -> Case:
        """Return a case whose solver may keep files."""
        return replace(case, artifacts=str(self._artifacts / case.run_id))

    def log_start(self, case: Case) -> Case:
        """Note that a run starts, and return it."""
        with (self.path / STARTS).open("a") as starts:
            starts.write(f"{case.run_id}\n")
        return case

    def lost(self) -> int:
        """Return how many of the lines that it has recorded are missing from its log."""
        log = read_log(self.path) if self.recorded else b""
        if hashlib.sha256(log).digest() == self._digest.digest():
            return 0
        return max(0, len(self.recorded) - sum(1 for _ in valid_lines(log)))

    def close(self) -> None:
        """End the session; one that recorded nothing and planned nothing new leaves no trace."""
        os.close(self.file)
        shutil.rmtree(self._artifacts, ignore_errors=True)  # of runs that were interrupted
        with suppress(OSError):  # if this fails, the session looks like that of a killed command
            if not self.recorded and not self.changes_plan:
                disk.remove_folder(self.path, [SESSION_FILE, LOG, STARTS])
                return
            conditions = self._entries["provenance"] | {"frequency_after": frequency()}
            ending = {"lines": len(self.recorded), "sha256": self._digest.hexdigest()}
            entries = self._entries | {"provenance": conditions} | ending
            disk.replace(self.path / SESSION_FILE, to_json(entries, indent=1))


def _session_name(previous: Sequence[str]) -> str:
    """Return the name of a session after others: the next number, the host, and a random part."""
    numbers = [int(name[:5]) for name in previous if name[:5].isdecimal()]
    host = re.sub(r"[^A-Za-z0-9]+", "", platform.node())[:20] or "host"
    return f"{max(numbers, default=0) + 1:05}-{host}-{secrets.token_hex(4)}"


def _check_unused(folder: Path, resume: bool) -> None:
    """Raise StoreError if a folder holds anything but sessions, which only `resume` continues."""
    names = {path.name for path in folder.iterdir()} - {ARTIFACTS}  # those of a profile
    if names and not resume:
        raise StoreError(
            f"Output folder {folder} is not empty. Use --resume to continue it, or choose another --out."
        )
    if names <= {SESSIONS} or session_folders(folder):  # a command may have been killed as it began
        return
    read_manifest(folder)  # refuses folders without results, or with those of another release
    raise StoreError(
        f"{folder}: is published and has no sessions to continue; choose another --out"
    )
