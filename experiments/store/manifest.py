"""Manifest of a results folder: its plan, the code, the libraries, the machine.

Each session states its own in `session.json` when it begins; the manifest of the folder follows from
those of all its sessions. A published folder, which has no sessions, has it as `manifest.json`.

`inputs` describes the entries on data files.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, reduce
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from ruamel.yaml import YAML

from dualgap.experiments.cases.plan import digest
from dualgap.experiments.cases.records import versions
from dualgap.experiments.files.experiment import COPY
from dualgap.experiments.files.models import as_seconds
from dualgap.experiments.records import Refusal
from dualgap.experiments.records.names import joined_solvers, problem_names
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.schema import Manifest, OtherManifest, SessionManifest, fault_text
from dualgap.experiments.workers.machine import machine, provenance

SCHEMA = 3
NAME = "manifest.json"
EXPERIMENT = COPY
SESSIONS = "sessions"
ARTIFACTS = "artifacts"
SESSION_FILE = "session.json"
LOG = "runs.jsonl"  # of a session; earlier releases had one in the folder itself
STARTS = "starts"  # of a session
_ROOT = Path(__file__).parents[2]
_PACKAGES = ("problems", "solvers", "experiments")
_SESSION_KEYS = ("restarted", "previous", "replaces_plan", "provenance", "lines", "sha256")


class StoreError(Refusal):
    """A folder that cannot be written to or read; the message says what to do."""


def new_manifest(
    text: str,
    run_ids: Sequence[str],
    inputs: Mapping[str, InputFile],
    problems: Mapping[str, Any],
    solvers: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    command_info: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a session with a plan, on this machine at this time.

    Parameters
    ----------
    text : the experiment file. run_ids : the ids of its plan, in order. inputs : its input files.
    problems : the specifications of its problems, by their names. solvers : its solvers, by label.
    old : the manifest of the folder so far, with checksums of data files.
    command_info : further entries on the command: its options, the base folder of relative paths, and
        as `plans` the texts of other experiment files to which some of the runs belong.
    """
    head = YAML(typ="safe").load(text) or {}
    code = {file.path for file in inputs.values() if file.is_code}
    previous = (old or {}).get("data", {})
    data = {k: file.checksums(previous.get(k)) for k, file in inputs.items() if not file.is_code}
    return {
        "schema": SCHEMA,
        "name": str(head.get("name", "")),
        "kind": str(head.get("kind", "")),
        "time_limit": as_seconds(head.get("time_limit")),
        "experiment": text,
        "problems": dict(problems),
        "solvers": dict(solvers),
        "run_ids": list(run_ids),
        "code": code_version(code),
        "data": data,
        "versions": versions(),
        "host": platform.node(),
        "platform": platform.platform(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "provenance": provenance(),
        **(command_info or {}),
    }


def code_version(files: Iterable[Path] = ()) -> dict[str, str]:
    """Return a hash of the source of each of the three packages, and of each of `files`, by name."""
    named: dict[str, list[Path]] = {}
    for path in sorted(files):
        named.setdefault(path.name, []).append(path)
    return _package_hashes() | {name: _source_hash(paths) for name, paths in named.items()}


@cache
def _package_hashes() -> dict[str, str]:
    """Return the hash of each package by its name; its code stays the same while a process runs."""
    return {name: _source_hash(sorted((_ROOT / name).rglob("*.py"))) for name in _PACKAGES}


def _source_hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a folder, and its experiment file."""
    entries = {key: value for key, value in manifest.items() if key != "experiment"}
    disk.replace(folder / EXPERIMENT, str(manifest["experiment"]).encode())
    disk.replace(folder / NAME, to_json(entries, indent=1))


def is_results_folder(folder: Path) -> bool:
    """Whether a folder holds results."""
    return (folder / NAME).is_file() or bool(session_folders(folder))


def session_folders(folder: Path) -> list[Path]:
    """Return the sessions of a folder in their order; a command killed as it began has left none."""
    return sorted(path.parent for path in folder.glob(f"{SESSIONS}/*/{SESSION_FILE}"))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, with the text of its experiment file as `experiment`.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    if sessions := read_sessions(folder):
        return combined([manifest for _, manifest in sessions])
    manifest = _read(folder / NAME, Manifest)
    if (folder / LOG).is_file():
        raise _of_another_release(folder, manifest)
    try:
        manifest["experiment"] = (folder / EXPERIMENT).read_bytes().decode(errors="replace")
    except OSError as error:
        raise StoreError(f"{folder}: holds no results ({error.filename} is missing)") from None
    return manifest


def read_sessions(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the sessions of a folder with their manifests, in their order; StoreError as above."""
    sessions = list[tuple[Path, dict[str, Any]]]()
    for path in session_folders(folder):
        try:
            sessions.append((path, _read(path / SESSION_FILE, SessionManifest)))
        except StoreError:
            if (path / SESSION_FILE).exists():  # one that recorded nothing is removed when it ends
                raise
    return sessions


def _read(path: Path, model: type[BaseModel]) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        other = OtherManifest.model_validate(manifest)
        if other.schema_ == SCHEMA:
            model.model_validate(manifest)
    except FileNotFoundError:
        raise StoreError(f"{path.parent}: holds no results ({path} is missing)") from None
    except ValidationError as error:
        raise StoreError(f"{path}: cannot be read: {fault_text(error)}") from None
    except (OSError, RecursionError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if other.schema_ != SCHEMA:
        raise _of_another_release(path.parent, manifest)
    return manifest


def _of_another_release(folder: Path, manifest: Mapping[str, Any]) -> StoreError:
    """Return the refusal of a folder whose layout or schema this release does not read."""
    other = OtherManifest.model_validate(manifest)
    release = other.versions.get("dualgap", "") or "of that time"
    # several states of the code may have the same release number
    code = ", ".join(f"{name} {other.code[name]}" for name in _PACKAGES if name in other.code)
    schema = f"schema {other.schema_}" * (other.schema_ != SCHEMA) or "an earlier layout"
    return StoreError(
        f"{folder}: holds results of {schema}, but this release reads only sessions of schema {SCHEMA}; "
        f"use the release that wrote it, dualgap {release}{f' (code of {code})' if code else ''}: "
        "nothing in it was changed"
    )


def combined(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest of a folder from those of its sessions, in their order.

    It has the plan, code, libraries and machine of the last session that differs in one of them from
    those before, which have an entry in `earlier`, and the `provenance` of all that recorded runs.
    """
    first = {key: value for key, value in sessions[0].items() if key not in _SESSION_KEYS}
    measured = [each for i, each in enumerate(sessions) if i == 0 or each.get("lines") != 0]
    conditions = [each["provenance"] for each in measured]
    first |= {"earlier": [], "plans": first.get("plans", []), "provenance": conditions}
    return reduce(followed, sessions[1:], first)


def followed(old: dict[str, Any], session: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a folder after one more session: `old` itself if nothing changes."""
    new = {key: value for key, value in session.items() if key not in _SESSION_KEYS}
    planned = {*old["run_ids"]}
    added = [run_id for run_id in new["run_ids"] if run_id not in planned]
    changes = provenance_differences(old, new)
    if session["replaces_plan"]:
        changes = differences(old, new)
    else:
        changes = [f"a plan without the last {len(added)} of these runs"] * bool(added) + changes
        plans = [*dict.fromkeys([*old["plans"], old["experiment"], *new.get("plans", [])])]
        if not added:
            plan = ("name", "kind", "time_limit", "experiment", "options", "plans")
            new |= {key: old[key] for key in plan if key in old}
        else:
            new |= {"plans": [text for text in plans if text != new["experiment"]]}
        new["run_ids"] = [*old["run_ids"], *added]
        new |= {key: {**old.get(key, {}), **new.get(key, {})} for key in ("code", "data")}
        new["problems"] = joined_problems(old["problems"], new["problems"])
        new["solvers"] = joined_solvers(old["solvers"], new["solvers"])
        new["folder"] = new.get("folder") or old.get("folder", "")
    if not changes:
        return old
    created = [key for key in ("experiment", "code", "versions", "host", "date") if key in old]
    entry = {key: old[key] for key in created} | {"differs": changes}
    earlier = [*old["earlier"], entry]
    return new | {"earlier": earlier, "provenance": old["provenance"]}


def joined_problems(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the specifications of the problems of two manifests, by name.

    Those of `old` keep their names, unless `new` has the name of one for another problem.
    """
    specs = {digest(spec): spec for spec in [*old.values(), *new.values()]}
    if any(name in old and digest(old[name]) != digest(spec) for name, spec in new.items()):
        return dict(zip(problem_names(specs.values()), specs.values(), strict=True))
    digests = {digest(spec) for spec in old.values()}
    return {**old, **{name: spec for name, spec in new.items() if digest(spec) not in digests}}


def common_columns(manifest: Mapping[str, Any], problem: str) -> dict[str, str | None]:
    """Return the columns that the manifest has for all runs on a problem, which records omit.

    The versions are those with which the folder was created: records made with others contain them.
    """
    original = [*manifest.get("earlier", []), manifest][0]
    spec = manifest["problems"].get(problem)
    return {
        "versions": json.dumps(original["versions"]),
        "problem": None if spec is None else json.dumps(spec),
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return phrases on the differences in plan, code, libraries and data of two manifests."""
    changes: list[str] = []
    before, now = set(old["run_ids"]), set(new["run_ids"])
    if before != now:
        removed, added = len(before - now), len(now - before)
        changes.append(f"another plan ({removed} of {len(before)} runs removed, {added} added)")
    return changes + provenance_differences(old, new)


def provenance_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return phrases on the differences in code, libraries and data of two manifests."""
    phrases: list[str] = []
    code, libraries, data = (changed(old, new, key) for key in ("code", "versions", "data"))
    if code:
        phrases.append(f"other code ({', '.join(code)})")
    if libraries:
        changes = (
            f"{name} {was or 'missing'}, now {now or 'missing'}"
            for name, (was, now) in libraries.items()
        )
        phrases.append(f"other libraries ({'; '.join(changes)})")
    return phrases + [f"other content of {name}" for name in data]


def changed(old: Mapping[str, Any], new: Mapping[str, Any], key: str) -> dict[str, tuple[Any, Any]]:
    """Return the (old, new) values of code, versions or data that differ in two manifests, by name.

    Files are compared if both plans use them; a package or library that one lacks is "".
    """
    before, now = old.get(key, {}), new.get(key, {})
    names = [*dict.fromkeys([*before, *now])]
    if key == "data":
        names = [name for name in names if name in before and name in now]
    if key == "code":  # those of a file of which one plan has no user
        names = [name for name in names if name in _PACKAGES or (name in before and name in now)]
    both = {name: (before.get(name, ""), now.get(name, "")) for name in names}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}
