"""Merging of results folders: `dualgap merge`.

A run that several folders contain is kept once; if its records differ, the merge is refused. Problems
are renamed as in one plan of all of them; each run keeps its host, and tables keep hosts apart.
"""

import errno
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dualgap.experiments.cases.plan import digest
from dualgap.experiments.records.names import problem_names
from dualgap.experiments.store import disk
from dualgap.experiments.store.folder import RECORDED, unchanged
from dualgap.experiments.store.log import LOG, Session
from dualgap.experiments.store.manifest import (
    CREATION_KEYS,
    StoreError,
    common_columns,
    provenance_differences,
    write_manifest,
)
from dualgap.experiments.store.reading import RunFolder

_Run = tuple[RunFolder, dict[str, Any], Mapping[str, Any]]  # its folder, record and line


def merge(sources: Sequence[Path], out: Path, force: bool = False) -> RunFolder:
    """Merge the runs of several folders into a new one, which is created completely or not at all.

    Parameters
    ----------
    force : merge even if code, libraries or data differ, which the manifest then records.

    Raises
    ------
    StoreError
        If a folder has no log of runs or is in use, a run differs between two folders, or `out` is not
        empty or was created by another command in the meantime.
    OSError
        If it cannot be written.
    """
    with ExitStack() as sources_unchanged:
        for source in dict.fromkeys(sources):
            sources_unchanged.enter_context(unchanged(source))
        return _merge(sources, out, force)


def _merge(sources: Sequence[Path], out: Path, force: bool) -> RunFolder:
    folders = list(map(RunFolder, dict.fromkeys(sources)))
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise StoreError(f"{out}: exists already; choose another --out")
    manifest = _manifest(folders, force)
    names = {digest(spec): name for name, spec in manifest["problems"].items()}
    runs: dict[str, _Run] = {}
    for folder in folders:
        for line in folder.planned:
            run_id = line["record"]["run_id"]
            record = common_columns(folder.manifest, line["record"]["problem_id"]) | line["record"]
            record["problem_id"] = names[digest(json.loads(record["problem"]))]
            previous = runs.setdefault(run_id, (folder, record, line))
            if _content(previous[1], previous[2]) != _content(record, line):
                raise StoreError(
                    f"{folder.path}: the run of {record['label'] or record['solver']} on "
                    f"{record['problem_id']} ({run_id}) differs from that in {previous[0].path}; "
                    "compare the two folders with `dualgap compare`, and merge only one of them"
                )
    disk.make_folder(out.absolute().parent)
    try:
        with TemporaryDirectory(
            prefix=f".{out.name}.", suffix=".new", dir=out.absolute().parent
        ) as scratch:
            _write(Path(scratch) / "merged", manifest, runs)
            os.replace(Path(scratch) / "merged", out)  # fails if `out` is a folder with files
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise StoreError(f"{out}: was created by another command in the meantime") from None
        raise
    return RunFolder(out)


def _write(folder: Path, manifest: Mapping[str, Any], runs: Mapping[str, _Run]) -> None:
    """Write runs to a new folder as one session that has ended."""
    disk.make_folder(folder)
    session, lines = Session(), list[bytes]()
    for run_id, (source, record, line) in runs.items():
        common = common_columns(manifest, record["problem_id"])
        specific = {k: v for k, v in record.items() if v is None or v != common.get(k)}
        lines.append(session.sealed(_content(specific, line)))
        session.lines += 1
        for name in (f"models/{run_id}.npz", f"answers/{run_id}.npy"):
            if (source.path / name).is_file():
                disk.make_folder((folder / name).parent)
                shutil.copyfile(source.path / name, folder / name)
    disk.replace(folder / LOG, b"".join(lines))
    write_manifest(folder, {**manifest, "sessions": [session.entry(has_ended=True)]})


def _manifest(folders: Sequence[RunFolder], force: bool) -> dict[str, Any]:
    """Return the manifest of the first folder with the runs, problems and data of all."""
    first = folders[0].manifest
    runs, specs, data, earlier = dict[str, None](), dict[str, Any](), dict[str, Any](), list[Any]()
    plans, sessions = dict[str, None](), list[Any]()
    for folder in folders:
        if not (folder.path / LOG).is_file():
            raise StoreError(f"{folder.path}: has no log of runs; merge folders that were run")
        manifest = folder.manifest
        if (changes := provenance_differences(first, manifest)) and not force:
            raise StoreError(
                f"{folder.path}: was run with {', '.join(changes)} than {folders[0].path}; times may "
                "not be comparable: add --force to merge them anyway"
            )
        runs |= dict.fromkeys(manifest["run_ids"])
        specs |= {digest(spec): spec for spec in manifest["problems"].values()}
        data |= manifest.get("data", {})
        sessions += manifest.get("provenance", [])
        plans |= dict.fromkeys([manifest["experiment"], *manifest.get("plans", [])])
        earlier += manifest.get("earlier", [])
        if manifest is not first:
            entry = {key: manifest[key] for key in CREATION_KEYS if key in manifest}
            earlier.append(entry | {"differs": ["merged", *changes]})
    problems = dict(zip(problem_names(specs.values()), specs.values(), strict=True))
    del plans[first["experiment"]]
    merged = {"run_ids": [*runs], "problems": problems, "data": data, "plans": [*plans]}
    merged |= {"folder": next(filter(None, (each.manifest.get("folder") for each in folders)), "")}
    return first | merged | {"earlier": earlier, "provenance": sessions}


def _content(record: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a line, with `record` as its record."""
    return {name: line[name] for name in RECORDED if name in line} | {"record": record}
