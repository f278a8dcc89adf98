"""Folders of runs put together, as `dualgap merge` does.

A run that several folders have is kept once, and refused where they say different things of it. Problems
are named anew, as one plan would name them all; each run keeps its host, and tables keep hosts apart.
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
    BEGUN_WITH,
    StoreError,
    common_columns,
    other_makers,
    write_manifest,
)
from dualgap.experiments.store.reading import RunFolder

_Run = tuple[RunFolder, dict[str, Any], Mapping[str, Any]]  # where it is, its record, its line


def merge(sources: Sequence[Path], out: Path, force: bool = False) -> RunFolder:
    """Put the runs of several folders into a new one, which is there as a whole or not at all.

    Parameters
    ----------
    force : also if code, libraries or data differ, which the manifest then records.

    Raises
    ------
    StoreError
        If a folder holds no log of runs or is written to, a run differs between two, or `out` is not
        empty or was made by another command meanwhile.
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
        raise StoreError(f"{out}: is there already; choose another --out")
    manifest = _manifest(folders, force)
    names = {digest(spec): name for name, spec in manifest["problems"].items()}
    runs: dict[str, _Run] = {}
    for folder in folders:
        for line in folder.planned:
            run_id = line["record"]["run_id"]
            record = common_columns(folder.manifest, line["record"]["problem_id"]) | line["record"]
            record["problem_id"] = names[digest(json.loads(record["problem"]))]
            known = runs.setdefault(run_id, (folder, record, line))
            if _content(known[1], known[2]) != _content(record, line):
                raise StoreError(
                    f"{folder.path}: has {record['label'] or record['solver']} on "
                    f"{record['problem_id']} (run {run_id}), of which {known[0].path} says "
                    "something else; compare the two with `dualgap compare`, and merge one of them"
                )
    disk.make_folder(out.absolute().parent)
    try:
        with TemporaryDirectory(
            prefix=f".{out.name}.", suffix=".new", dir=out.absolute().parent
        ) as scratch:
            _write(Path(scratch) / "merged", manifest, runs)
            os.replace(Path(scratch) / "merged", out)  # fails where a folder with files is
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise StoreError(f"{out}: another command has made it meanwhile") from None
        raise
    return RunFolder(out)


def _write(folder: Path, manifest: Mapping[str, Any], runs: Mapping[str, _Run]) -> None:
    """Write runs to a new folder as one session that has ended."""
    disk.make_folder(folder)
    session, lines = Session(), list[bytes]()
    for run_id, (source, record, line) in runs.items():
        common = common_columns(manifest, record["problem_id"])
        own = {k: v for k, v in record.items() if v is None or v != common.get(k)}
        lines.append(session.sealed(_content(own, line)))
        session.lines += 1
        for name in (f"models/{run_id}.npz", f"answers/{run_id}.npy"):
            if (source.path / name).is_file():
                disk.make_folder((folder / name).parent)
                shutil.copyfile(source.path / name, folder / name)
    disk.replace(folder / LOG, b"".join(lines))
    write_manifest(folder, {**manifest, "sessions": [session.entry(ended=True)]})


def _manifest(folders: Sequence[RunFolder], force: bool) -> dict[str, Any]:
    """Return the manifest of the first folder with the runs, problems and data of all."""
    first = folders[0].manifest
    runs, specs, data, earlier = dict[str, None](), dict[str, Any](), dict[str, Any](), list[Any]()
    plans, sessions = dict[str, None](), list[Any]()
    for folder in folders:
        if not (folder.path / LOG).is_file():
            raise StoreError(f"{folder.path}: has no log of runs; merge folders that were run")
        own = folder.manifest
        if (differing := other_makers(first, own)) and not force:
            raise StoreError(
                f"{folder.path}: unlike {folders[0].path} was run with {', '.join(differing)}; times "
                "may not compare: add --force to merge them nevertheless"
            )
        runs |= dict.fromkeys(own["run_ids"])
        specs |= {digest(spec): spec for spec in own["problems"].values()}
        data |= own.get("data", {})
        sessions += own.get("provenance", [])
        plans |= dict.fromkeys([own["experiment"], *own.get("plans", [])])
        earlier += own.get("earlier", [])
        if own is not first:
            kept = {key: own[key] for key in BEGUN_WITH if key in own}
            earlier.append(kept | {"differs": ["merged", *differing]})
    problems = dict(zip(problem_names(specs.values()), specs.values(), strict=True))
    del plans[first["experiment"]]
    known = {"run_ids": [*runs], "problems": problems, "data": data, "plans": [*plans]}
    known |= {"folder": next(filter(None, (each.manifest.get("folder") for each in folders)), "")}
    return first | known | {"earlier": earlier, "provenance": sessions}


def _content(record: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line says of a run whose record is `record`."""
    return {name: line[name] for name in RECORDED if name in line} | {"record": record}
