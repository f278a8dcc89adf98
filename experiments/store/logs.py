"""The recorded runs of a results folder: the last valid line of each in the logs of its sessions.

This is what running needs of a folder; `reading` makes tables of it.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dualgap.experiments.cases.plan import RunKey, digest
from dualgap.experiments.records.names import solver_key
from dualgap.experiments.store.manifest import (
    LOG,
    SESSIONS,
    STARTS,
    combined,
    common_columns,
    read_manifest,
    read_sessions,
)
from dualgap.experiments.store.schema import check_line
from dualgap.problems import Vector
from dualgap.problems.validation import CORRUPT_FILE_ERRORS

_log = logging.getLogger("dualgap")
_LINE_ERRORS = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)


class RecordedRuns:
    """The runs that the sessions of a folder have recorded; their logs are parsed once, on first use.

    Raises
    ------
    StoreError
        From each attribute, if the folder holds no results, or results of another version.

    Attributes
    ----------
    path : the folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._log_sizes = self._current_log_sizes()

    def _current_log_sizes(self) -> dict[Path, int]:
        sizes = dict[Path, int]()
        for log in self.path.glob(f"{SESSIONS}/*/{LOG}"):
            with suppress(FileNotFoundError):  # a session that leaves no trace has just ended
                sizes[log] = log.stat().st_size
        return {log: size for log, size in sizes.items() if size}

    @property
    def is_current(self) -> bool:
        """Whether the logs have the same sizes as when this object was created."""
        return self._current_log_sizes() == self._log_sizes

    @cached_property
    def sessions(self) -> list[tuple[Path, dict[str, Any]]]:
        """The sessions with their manifests, in their order; none if the folder is published."""
        return read_sessions(self.path)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest, see `store.manifest`."""
        if self.sessions:
            return combined([manifest for _, manifest in self.sessions])
        return read_manifest(self.path)

    @property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The last valid line of each run; incomplete and damaged lines are skipped."""
        return self._valid_lines[0]

    @cached_property
    def _valid_lines(self) -> tuple[dict[str, dict[str, Any]], dict[str, Path]]:
        """The lines and their sessions, by run id."""
        lines, folders = dict[str, dict[str, Any]](), dict[str, Path]()
        restarts = self._restarts
        for path, manifest in self.sessions:
            for content in recorded_lines(path, manifest, self.manifest):
                run_id = content["record"]["run_id"]
                key = RunKey.parse(run_id) if path.name in restarts else None
                if key is None or not key.is_in(restarts[path.name]):
                    lines[run_id], folders[run_id] = content, path
        return lines, folders

    @cached_property
    def _restarts(self) -> dict[str, set[RunKey]]:
        """The runs and rounds whose records in a session do not count, by the name of the session."""
        restarts = dict[str, set[RunKey]]()
        for _, manifest in self.sessions:
            keys = set(map(RunKey.parse, manifest["restarted"]))
            for name in manifest["previous"] if keys else ():
                restarts.setdefault(name, set()).update(keys)
        return restarts

    @cached_property
    def planned(self) -> list[dict[str, Any]]:
        """The lines of the plan's runs, in its order."""
        rounds = [RunKey.parse(run_id).round for run_id in self.manifest["run_ids"]]
        order = {key: i for i, key in enumerate(rounds)}
        positions = {run_id: order.get(RunKey.parse(run_id).round) for run_id in self.lines}
        planned = sorted((i, run_id) for run_id, i in positions.items() if i is not None)
        return [self.lines[run_id] for _, run_id in planned]

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the records by run id."""
        return {run_id: line["record"] for run_id, line in self.lines.items()}

    @cached_property
    def killed_starts(self) -> Counter[str]:
        """How often each run was started by a session that was killed before it recorded the run."""
        killed, sessions = Counter[str](), self._valid_lines[1]
        for path, manifest in self.sessions:
            if manifest.get("lines") is None and (path / STARTS).is_file():
                recorded = Counter(run_id for run_id, folder in sessions.items() if folder == path)
                started = Counter((path / STARTS).read_text(errors="replace").split())
                killed += started - recorded
        return killed

    def _array_path(self, kind: str, run_id: str, suffix: str) -> Path | None:
        """Return the file of an array that the session of a run stored; None if there is none."""
        session = self._valid_lines[1].get(run_id)
        path = session / kind / f"{run_id}.{suffix}" if session else None
        return path if path and path.is_file() else None

    def answer(self, run_id: str) -> Vector | None:
        """Return the dual variables that a run stored as a starting point for others, or None."""
        path = self._array_path("answers", run_id, "npy")
        return None if path is None else load_answer(path)


def recorded_lines(
    path: Path, manifest: Mapping[str, Any], folder: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the valid lines of a session, with all columns of their records.

    Parameters
    ----------
    manifest : of the session. folder : manifest of the folder, from which problems and solvers have
        their names.
    """
    content = read_log(path)
    if manifest.get("sha256") and hashlib.sha256(content).hexdigest() != manifest["sha256"]:
        _log.warning(f"{path / LOG}: is not as its session left it; each valid line in it counts")
    common = {name: common_columns(manifest, name) for name in manifest["problems"]}
    names = {digest(spec): name for name, spec in folder["problems"].items()}
    renamed = {name: names.get(digest(spec), name) for name, spec in manifest["problems"].items()}
    labels = {
        solver_key(solver): {"label": label, "series": solver["series"]}
        for label, solver in folder["solvers"].items()
    }
    relabelled = {
        label: labels.get(solver_key(solver), {}) for label, solver in manifest["solvers"].items()
    }
    for fields in valid_lines(content):
        record = fields["record"]
        problem = record["problem_id"]
        record = common.get(problem, {}) | record | relabelled.get(record.get("label"), {})
        yield fields | {"record": record | {"problem_id": renamed.get(problem, problem)}}


def read_log(session: Path) -> bytes:
    """Return the log of a session, empty if it is missing."""
    with suppress(FileNotFoundError):
        return (session / LOG).read_bytes()
    return b""


def valid_lines(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the valid lines of a log, as they were written."""
    for line in content.splitlines():
        with suppress(*_LINE_ERRORS):
            fields = json.loads(line)
            check_line(fields)
            yield fields


def load_answer(path: Path) -> Vector | None:
    """Return the dual variables in a file; None if it is missing or damaged: runs then start from 0."""
    try:
        return np.load(path)
    except (*CORRUPT_FILE_ERRORS, MemoryError, ValueError):
        return None
