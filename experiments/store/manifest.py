"""What a folder of runs was begun with: the plan, the code, the libraries, the machine.

The experiment file stands beside it, and is read with it. Runs with other code or other libraries do not
compare with those that are there: resuming a folder is refused if any of them has changed, unless it is
forced, and then the manifest records the change.

What it keeps of files of data is said in `inputs`, of the sessions that wrote lines in `log`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from experiments.cases.plan import search_of
from experiments.cases.records import versions
from experiments.store import disk
from experiments.store.inputs import InputFile
from experiments.store.log import Seals
from experiments.workers.machine import machine

SCHEMA = 2
NAME, EXPERIMENT = "manifest.json", "experiment.yaml"
_ROOT = Path(__file__).parents[2]
_PACKAGES = ("problems", "solvers", "experiments")
_KINDS = {
    "run_ids": list,
    "name": str,
    "problems": dict,
    "code": dict,
    "versions": dict,
    "data": dict,
    "sessions": list,
}
_OPTIONAL = ("data", "sessions")  # a published folder has no sessions
_BEGUN_WITH = ("experiment", "code", "versions", "host", "date")


class StoreError(Exception):
    """A folder that cannot be written to or read, with what to do."""


def new_manifest(
    text: str,
    run_ids: Sequence[str],
    inputs: Mapping[str, InputFile],
    problems: Mapping[str, Any],
    data: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a plan, made here and now.

    Parameters
    ----------
    text : the experiment file. run_ids : of its plan, in order. inputs : the files that it names.
    problems : the specifications of its problems, by their names.
    data : what an earlier manifest has of the files of data.
    """
    head = YAML(typ="safe").load(text) or {}
    code = {file.path for file in inputs.values() if file.is_code}
    others = {name: file for name, file in inputs.items() if not file.is_code}
    return {
        "schema": SCHEMA,
        "name": str(head.get("name", "")),
        "kind": str(head.get("kind", "")),
        "time_limit": head.get("time_limit"),
        "experiment": text,
        "problems": dict(problems),
        "run_ids": list(run_ids),
        "code": code_version(code),
        "data": {name: file.checksums((data or {}).get(name)) for name, file in others.items()},
        "versions": versions(),
        "host": platform.node(),
        "platform": platform.platform(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "earlier": [],
        "sessions": [],
    }


def code_version(files: Iterable[Path] = ()) -> dict[str, str]:
    """Return a hash of the source of each of the three packages, and of each file besides."""
    packages = {name: sorted((_ROOT / name).rglob("*.py")) for name in _PACKAGES}
    for path in sorted(files):
        packages.setdefault(path.name, []).append(path)
    return {name: _hash(paths) for name, paths in packages.items()}


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the experiment file of a manifest, then the manifest itself."""
    text, path = str(manifest["experiment"]).encode(), folder / EXPERIMENT
    if not path.is_file() or path.read_bytes() != text:
        disk.replace(path, text)
    kept = {key: value for key, value in manifest.items() if key != "experiment"}
    disk.replace(folder / NAME, json.dumps(kept, indent=1).encode())


def read_manifest(folder: Path, prefix: str = "") -> dict[str, Any]:
    """Return the manifest of a folder, with the text of its experiment file as `experiment`.

    Of several experiments that were published together each has files of its own, whose names begin with
    a `prefix`.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    path = folder / f"{prefix}{NAME}"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        schema = manifest["schema"]
        if schema == SCHEMA:
            _check_kinds(manifest)
            text = (folder / f"{prefix}{EXPERIMENT}").read_bytes()
            manifest["experiment"] = text.decode(errors="replace")
    except FileNotFoundError as error:
        raise StoreError(f"{folder}: holds no results (there is no {error.filename})") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if schema != SCHEMA:
        release = manifest.get("versions", {}).get("dualgap", "")
        raise StoreError(
            f"{folder}: holds results of schema {schema}, and this release reads schema {SCHEMA} alone; "
            f"read it with the one that wrote it, dualgap {release or 'of that time'}"
            f"{_code(manifest)}: nothing in it was changed"
        )
    return manifest


def _code(manifest: Mapping[str, Any]) -> str:
    """Return which code wrote a manifest, as several states of it may have one release's number."""
    packages = manifest.get("code", {})
    code = ", ".join(f"{name} {packages[name]}" for name in _PACKAGES if name in packages)
    return f" (code of {code})" if code else ""


def _check_kinds(manifest: Mapping[str, Any]) -> None:
    """Raise KeyError or ValueError if what is read later is missing or of another kind."""
    run_ids = manifest["run_ids"]
    for name, kind in _KINDS.items():
        if not isinstance(
            manifest.get(name, kind()) if name in _OPTIONAL else manifest[name], kind
        ):
            raise ValueError(f"{name!r} is not a {kind.__name__}")
    if not all(isinstance(run_id, str) for run_id in run_ids):
        raise ValueError("'run_ids' are not all text")
    Seals(manifest.get("sessions", []))


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return phrases on how the plan, the code and the libraries of two manifests differ."""
    found: list[str] = []
    if old["run_ids"] != new["run_ids"]:
        before, now = set(old["run_ids"]), set(new["run_ids"])
        found.append(
            f"another plan ({len(before)} runs, of which {len(before - now)} are not planned now, "
            f"and {len(now - before)} are new)"
        )
    code, libraries = (_changed(old.get(key, {}), new[key]) for key in ("code", "versions"))
    if code:
        found.append(f"other code ({', '.join(name for name, *_ in code)})")
    if libraries:
        changes = (
            f"{name} {was or 'missing'}, now {now or 'missing'}" for name, was, now in libraries
        )
        found.append(f"other libraries ({'; '.join(changes)})")
    found += [f"another content of {name}" for name in changed_data(old, new)]
    return found


def changed_data(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the files of data that two manifests have with different checksums."""
    before, now = old.get("data", {}), new.get("data", {})
    return [name for name in before if now.get(name, before[name]) != before[name]]


def restarted(
    old: Mapping[str, Any], new: Mapping[str, Any], inputs: Mapping[str, InputFile]
) -> list[str]:
    """Return the runs (of a search, what their ids begin with) that use a file which has changed."""
    data, code = changed_data(old, new), _changed(old.get("code", {}), new["code"])
    changed = {name for name, *_ in code}
    found = [
        search_of(run_id)
        for name, file in inputs.items()
        if name in data or (file.is_code and file.path.name in changed)
        for run_id in file.run_ids
    ]
    return list(dict.fromkeys(found))


def _changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str, str]]:
    names = [*old, *(name for name in new if name not in old)]
    both = [(name, old.get(name, ""), new.get(name, "")) for name in names]
    return [entry for entry in both if entry[1] != entry[2]]


def succeeding(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return `new` with an entry on `old` and how it differed."""
    begun = {key: old[key] for key in _BEGUN_WITH if key in old}
    earlier = begun | {"differs": differences(old, new)}
    sessions = old.get("sessions", [])
    return dict(new) | {"earlier": [*old.get("earlier", []), earlier], "sessions": sessions}
