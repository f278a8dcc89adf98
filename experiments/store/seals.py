"""The folders of `results/`: is all as it was published?

The records are `runs.csv`, `traces.csv` and `paths.csv` with their manifest. What was made from them is
held to the digests in `digests.json`, written last when a folder
is published: figures of answers in the plane cannot be derived again from the records alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from experiments.store import disk
from experiments.store.manifest import EXPERIMENT, NAME

DIGESTS = "digests.json"
_RECORDS = ("runs.csv", "traces.csv", "paths.csv", NAME, EXPERIMENT)


def folders_in(results: Path) -> list[Path]:
    """Return the folders that hold something published, in order."""
    return sorted({path.parent for path in results.rglob(f"*{NAME}")})


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
