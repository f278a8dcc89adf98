"""Merging of results folders: `dualgap merge`.

A merged folder has copies of the sessions of all folders. The command first checks that no run differs
between the folders, and that all were run with the same code and libraries.
"""

import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import (
    SESSION_FILE,
    SESSIONS,
    StoreError,
    provenance_differences,
    write_manifest,
)
from dualgap.experiments.store.reading import RunFolder


def merge(sources: Sequence[Path], out: Path, force: bool = False) -> RunFolder:
    """Merge the runs of several folders into a new one, which is created completely or not at all.

    Parameters
    ----------
    force : merge even if code, libraries or data differ, which the manifest then records.

    Raises
    ------
    StoreError
        If a folder has no sessions, a run differs between two folders, or `out` is not empty or was
        created by another command in the meantime.
    OSError
        If it cannot be written.
    """
    folders = list(map(RunFolder, dict.fromkeys(sources)))
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
                for path, _ in folder.sessions:
                    _copy_session(path, merged / SESSIONS / path.name)
            write_manifest(merged, RunFolder(merged).manifest)
            os.replace(merged, out)  # fails if `out` is a folder with files
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise StoreError(f"{out}: was created by another command in the meantime") from None
        raise
    return RunFolder(out)


def _check_provenance(first: RunFolder, folder: RunFolder, force: bool) -> None:
    """Raise StoreError if a folder has no sessions, or was run with other code than the first."""
    manifest = folder.manifest
    if not folder.sessions:
        raise StoreError(f"{folder.path}: has no log of runs; merge folders that were run")
    if (changes := provenance_differences(first.manifest, manifest)) and not force:
        raise StoreError(
            f"{folder.path}: was run with {', '.join(changes)} than {first.path}; times may not be "
            "comparable: add --force to merge them anyway"
        )


def _check_runs(folders: Sequence[RunFolder]) -> None:
    """Raise StoreError if two folders have different records of a run."""
    runs = dict[str, tuple[RunFolder, dict[str, Any]]]()
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


def _copy_session(source: Path, target: Path) -> None:
    """Copy a session, its manifest last: a session without one does not count."""
    names = [p for p in source.rglob("*") if p.is_file() and not p.name.startswith(".")]
    for path in sorted(names, key=lambda path: path.name == SESSION_FILE):
        copy = target / path.relative_to(source)
        disk.make_folder(copy.parent)
        shutil.copyfile(path, copy)
