"""The tables of a results folder, made from the records of its sessions."""

from collections.abc import Mapping
from pathlib import Path

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
        **folder.csv_files(leave_out=["traces.csv"]),
        "runs.parquet": folder.results.to_parquet(index=False),
        "traces.parquet": folder.traces.to_parquet(index=False),
    }
    for name, content in files.items():
        disk.replace(folder.path / name, content)
    return [folder.path / name for name in files]
