"""The tables of a results folder, made from the records of its sessions."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from dualgap.experiments.records.tables import datapackage, to_csv_bytes
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import write_manifest
from dualgap.experiments.store.reading import RunFolder


def write_tables(folder: RunFolder, texts: Mapping[str, str]) -> list[Path]:
    """Write the tables of a folder's runs, and `texts` by file name; return all paths.

    Each file is replaced atomically; the manifest of all sessions is written as well.
    """
    if folder.sessions:
        write_manifest(folder.path, folder.manifest)
    files = {name: text.encode() for name, text in texts.items()} | {
        **csv_files(folder, leave_out=["traces.csv"]),
        "runs.parquet": folder.results.to_parquet(index=False),
        "traces.parquet": folder.traces.to_parquet(index=False),
    }
    for name, content in files.items():
        disk.replace(folder.path / name, content)
    return [folder.path / name for name in files]


def csv_files(folder: RunFolder, leave_out: Collection[str] = ()) -> dict[str, bytes]:
    """Return the contents of a folder's CSV files and of their description, by file name.

    Values that the manifest has for all runs are omitted; `leave_out` names CSV files to omit.
    """
    runs = folder.results
    common = folder.common(runs)
    reduced, shared = runs.copy(), common.columns
    reduced[shared] = runs[shared].mask(runs[shared] == common)
    reduced = reduced.drop(columns=[name for name in shared if reduced[name].isna().all()])
    optional = {"traces.csv": folder.traces, "paths.csv": folder.paths}
    tables = {"runs.csv": reduced} | {k: v for k, v in optional.items() if len(v)}
    tables = {name: table for name, table in tables.items() if name not in leave_out}
    package = datapackage(folder.manifest["name"], tables)
    return {name: to_csv_bytes(table, name) for name, table in tables.items()} | {
        "datapackage.json": json.dumps(package, indent=1, ensure_ascii=False).encode()
    }
