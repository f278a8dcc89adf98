"""The folders of `results/`: their records read back, and whether all is as it was published.

The records are `runs.csv`, `traces.csv` and `paths.csv` (or several `<name>-runs.csv`) with their
manifests. What was made from them is held to the digests in `digests.json`, written last when a folder
is published: figures of answers in the plane cannot be derived again from the records alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from ruamel.yaml import YAML

from experiments.cases.columns import (
    COLUMNS,
    DESCRIBED,
    FULL_TRACE_COLUMNS,
    NUMBER_COLUMNS,
    PATH_COLUMNS,
)
from experiments.store import disk
from experiments.store.manifest import NAME, StoreError
from experiments.store.reading import load_results, without_empty

BENCHMARK = "bench_"  # how the names of benchmarks begin
DIGESTS = "digests.json"
TRACES, PATHS = "traces.csv", "paths.csv"
_RECORDS = ("runs.csv", TRACES, PATHS, NAME)


class Published(NamedTuple):
    """One experiment of a published folder; `prefix` is what its files' names begin with."""

    prefix: str
    manifest: dict[str, Any]
    results: pd.DataFrame
    traces: pd.DataFrame
    paths: pd.DataFrame


def folders_in(results: Path) -> list[Path]:
    """Return the folders that hold something published, in order."""
    return sorted({path.parent for path in results.rglob(f"*{NAME}")})


def manifests_of(folder: Path) -> list[dict[str, Any]]:
    """Return the manifests of a folder of results; benchmarks that were published as one have one each.

    Raises
    ------
    StoreError
        If there is none, or one cannot be read.
    """
    try:
        found = [json.loads(path.read_text()) for path in sorted(folder.glob(f"*{NAME}"))]
        return sorted(found, key=experiment_name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder}: its manifest cannot be read: {error}") from None


def read_published(folder: Path) -> Iterator[Published]:
    """Yield the experiments that were published into a folder, in order.

    Raises
    ------
    StoreError
        If one cannot be read.
    """
    for path in sorted(folder.glob(f"*{NAME}")):
        prefix = path.name.removesuffix(NAME)
        runs, traces, paths = (folder / f"{prefix}{name}" for name in ("runs.csv", TRACES, PATHS))
        try:
            yield Published(
                prefix,
                json.loads(path.read_text()),
                _read(runs),
                _read_rows(traces, [*FULL_TRACE_COLUMNS, "relative_gap"]),
                _read_rows(paths, PATH_COLUMNS),
            )
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(f"{path}: its experiment cannot be read: {error}") from None


def experiment_name(manifest: Mapping[str, Any]) -> str:
    """Return the name of the experiment that a manifest is of."""
    return str(YAML(typ="safe").load(manifest["experiment"])["name"])


def read_records(folder: Path) -> pd.DataFrame:
    """Return the runs of a folder, as `load_results` does, also of a published one.

    Raises
    ------
    StoreError
        If the folder holds no results.
    """
    files = sorted(folder.glob("*runs.csv"))
    if (folder / "runs.jsonl").is_file() or not files:
        return load_results(folder)
    try:
        return pd.concat([_read(file) for file in files], ignore_index=True)
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{folder}: its runs cannot be read: {error}") from None


def _read(file: Path) -> pd.DataFrame:
    """Return a table of runs as it was written: every digit, and the text "NA" as text."""
    table = pd.read_csv(file, dtype=object, keep_default_na=False, na_values=[""])
    if "run_id" not in table:
        raise ValueError("it has no column run_id")
    # a column that is newer than the file is empty
    table = table.reindex(columns=[*COLUMNS, *DESCRIBED])
    return without_empty(table.astype(dict.fromkeys(NUMBER_COLUMNS, np.float64)))


def _read_rows(file: Path, columns: list[str]) -> pd.DataFrame:
    """Return published rows of evaluations or answers; none where runs had none to keep."""
    table = pd.read_csv(file, dtype={"run_id": str}) if file.is_file() else pd.DataFrame()
    table = table.reindex(columns=columns)
    numbers = [name for name in columns if name not in ("run_id", "parameter")]
    return table.astype(dict.fromkeys(numbers, np.float64))


def seal(folder: Path) -> None:
    """Note the digests of all files of a published folder."""
    disk.replace(folder / DIGESTS, (json.dumps(_digests(folder), indent=1) + "\n").encode())


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != DIGESTS)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def broken_seals(folder: Path) -> Iterator[str]:
    """Yield what is not as it was published, a sentence each."""
    try:
        sealed: dict[str, str] = json.loads((folder / DIGESTS).read_text())
    except (OSError, ValueError) as error:
        yield f"{folder.name}: {DIGESTS} cannot be read ({error})"
        return
    found = _digests(folder)
    changed = [name for name in sealed if found.get(name, sealed[name]) != sealed[name]]
    records = [name for name in changed if name.endswith(_RECORDS)]
    if records:
        names = " and ".join(records)
        yield f"{folder.name}: {names} changed after tables and figures were made from it"
    for name in changed:
        if name not in records:
            yield f"{folder.name}: {name} is not the one that was made of the records"
    for name in sorted(sealed.keys() ^ found.keys()):
        yield f"{folder.name}: {name} is {'missing' if name in sealed else 'of no publication'}"
