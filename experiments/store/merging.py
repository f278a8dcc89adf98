"""Merging of results folders: `dualgap merge` and `RunFolder.merge`.

A merged folder has copies of the sessions of all folders. First it is checked that no run differs
between the folders, and that all were run with the same code and libraries.
"""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dualgap.experiments.store import disk
from dualgap.experiments.store.logs import RecordedRuns
from dualgap.experiments.store.manifest import (
    ARTIFACTS,
    SESSIONS,
    StoreError,
    provenance_differences,
)


def merge_sessions(
    folders: Sequence[RecordedRuns], out: Path, force: bool, write_tables: Callable[[Path], object]
) -> None:
    """Merge folders into a new one, to which `write_tables` adds its tables; see `RunFolder.merge`."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise StoreError(f"{out}: exists already; choose another --out")
    for folder in folders:
        _check_provenance(folders[0], folder, force)
    _check_runs(folders)
    parent = out.absolute().parent
    disk.make_folder(parent)
    try:
        with TemporaryDirectory(prefix=f".{out.name}.", suffix=".new", dir=parent) as scratch:
            merged = Path(scratch) / "merged"
            for folder in folders:
                names = [Path(SESSIONS, path.name) for path, _ in folder.sessions]
                names += [Path(ARTIFACTS, line["record"]["run_id"]) for line in folder.planned]
                for name in filter(lambda name: (folder.path / name).is_dir(), names):
                    _copy(folder.path / name, merged / name)
            write_tables(merged)
            os.replace(merged, out)  # fails if `out` is a folder with files
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise StoreError(f"{out}: was created by another command in the meantime") from None
        raise


def _check_provenance(first: RecordedRuns, folder: RecordedRuns, force: bool) -> None:
    """Raise StoreError if a folder has no sessions, or was run with other code than the first."""
    manifest = folder.manifest
    if not folder.sessions:
        raise StoreError(f"{folder.path}: has no log of runs; merge folders that were run")
    if (changes := provenance_differences(first.manifest, manifest)) and not force:
        raise StoreError(
            f"{folder.path}: was run with {', '.join(changes)} than {first.path}; times may not be "
            "comparable: add --force to merge them anyway"
        )


def _check_runs(folders: Sequence[RecordedRuns]) -> None:
    """Raise StoreError if two folders have different records of a run."""
    runs = dict[str, tuple[RecordedRuns, dict[str, Any]]]()
    for folder in folders:
        for line in folder.planned:
            record = line["record"]
            earlier, other = runs.setdefault(record["run_id"], (folder, line))
            if _without_name(other) != _without_name(line):
                raise StoreError(
                    f"{folder.path}: the run of {record['label']} on "
                    f"{record['problem_id']} ({record['run_id']}) differs from that in {earlier.path}; "
                    "compare the two folders with `dualgap compare`, and merge only one of them"
                )


def _without_name(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line without the names of its problem and solver, which depend on the folder."""
    names = dict.fromkeys(("problem_id", "label", "series"))
    return line | {"record": line["record"] | names}


def _copy(source: Path, target: Path) -> None:
    """Copy a folder without links, hidden files and pipes."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        copied = {p.name for p in paths if (p.is_dir() or p.is_file()) and not p.is_symlink()}
        return {*names} - copied

    shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True)
