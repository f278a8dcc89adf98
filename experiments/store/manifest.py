"""The manifest of a results folder: its plan, the code, the libraries, the machine.

The experiment file is stored next to it, and read with it. Runs with other code or other libraries are
not comparable with existing ones: resuming a folder after such a change is refused, unless it is
forced, and then the manifest records the change.

`inputs` describes the entries on data files, `log` those on sessions.
"""

import hashlib
import json
import platform
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from ruamel.yaml import YAML

from dualgap.experiments.cases.records import versions
from dualgap.experiments.cases.run_key import RunKey
from dualgap.experiments.files.experiment import COPY
from dualgap.experiments.files.models import as_seconds
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.schema import Manifest, OtherManifest, fault_text
from dualgap.experiments.workers.machine import machine

SCHEMA = 2
NAME = "manifest.json"
EXPERIMENT = COPY
_ROOT = Path(__file__).parents[2]
_PACKAGES = ("problems", "solvers", "experiments")
CREATION_KEYS = ("experiment", "code", "versions", "host", "date")
_PLAN = ("name", "kind", "time_limit", "experiment", "options", "plans", "problems", "run_ids")


class StoreError(Refusal):
    """A folder that cannot be written to or read; the message says what to do."""


def new_manifest(
    text: str,
    run_ids: Sequence[str],
    inputs: Mapping[str, InputFile],
    problems: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    command_info: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a plan on this machine at this time.

    Parameters
    ----------
    text : the experiment file. run_ids : the ids of its plan, in order. inputs : its input files.
    problems : the specifications of its problems, by their names.
    old : an earlier manifest, with checksums of data files.
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
        "run_ids": list(run_ids),
        "code": code_version(code),
        "data": data,
        "versions": versions(),
        "host": platform.node(),
        "platform": platform.platform(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "earlier": [],
        "sessions": [],
        **(command_info or {}),
    }


def code_version(files: Iterable[Path] = ()) -> dict[str, str]:
    """Return a hash of the source of each of the three packages, and of each of `files`, by name."""
    packages = {name: sorted((_ROOT / name).rglob("*.py")) for name in _PACKAGES}
    for path in sorted(files):
        packages.setdefault(path.name, []).append(path)
    digests = {name: hashlib.sha256() for name in packages}
    for name, paths in packages.items():
        for path in paths:
            content = path.read_bytes() if path.is_file() else b""
            digests[name].update(f"{path.name} {len(content)}\n".encode() + content)
    return {name: digest.hexdigest()[:16] for name, digest in digests.items()}


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the experiment file of a manifest, then the manifest itself.

    Before, the text of an earlier experiment file is added to the `plans` of the earlier manifest, so
    that a kill in between does not lose it.
    """
    text, path = str(manifest["experiment"]).encode(), folder / EXPERIMENT
    if not path.is_file() or path.read_bytes() != text:
        with suppress(StoreError):  # a new folder has no manifest
            earlier = read_manifest(folder)
            plans = [*earlier.get("plans", []), earlier["experiment"]]
            _write(folder, earlier | {"plans": plans})
        disk.replace(path, text)
    _write(folder, manifest)


def _write(folder: Path, manifest: Mapping[str, Any]) -> None:
    entries = {key: value for key, value in manifest.items() if key != "experiment"}
    disk.replace(folder / NAME, to_json(entries, indent=1))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, with the text of its experiment file as `experiment`.

    Raises
    ------
    StoreError
        If the folder holds no results, or results of another version.
    """
    path = folder / NAME
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        other = OtherManifest.model_validate(manifest)
        if other.schema_ == SCHEMA:
            Manifest.model_validate(manifest)
            text = (folder / EXPERIMENT).read_bytes()
            manifest["experiment"] = text.decode(errors="replace")
    except FileNotFoundError as error:
        raise StoreError(f"{folder}: holds no results ({error.filename} is missing)") from None
    except ValidationError as error:
        raise StoreError(f"{path}: cannot be read: {fault_text(error)}") from None
    except (OSError, RecursionError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if other.schema_ != SCHEMA:
        release = other.versions.get("dualgap", "") or "of that time"
        # several states of the code may have the same release number
        packages = other.code
        code = ", ".join(f"{name} {packages[name]}" for name in _PACKAGES if name in packages)
        raise StoreError(
            f"{folder}: holds results of schema {other.schema_}, but this release reads only schema "
            f"{SCHEMA}; use the release that wrote it, dualgap {release}"
            f"{f' (code of {code})' if code else ''}: nothing in it was changed"
        )
    return manifest


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
    code, libraries, data = (_changed(old, new, key) for key in ("code", "versions", "data"))
    if code:
        phrases.append(f"other code ({', '.join(code)})")
    if libraries:
        changes = (
            f"{name} {was or 'missing'}, now {now or 'missing'}"
            for name, (was, now) in libraries.items()
        )
        phrases.append(f"other libraries ({'; '.join(changes)})")
    return phrases + [f"other content of {name}" for name in data]


def _changed(
    old: Mapping[str, Any], new: Mapping[str, Any], key: str
) -> dict[str, tuple[Any, Any]]:
    """Return the (old, new) values of code, versions or data that differ in two manifests, by name.

    Data files are compared if both plans use them; otherwise a missing value is "".
    """
    before, now = old.get(key, {}), new.get(key, {})
    both = {name: (before.get(name, ""), now.get(name, "")) for name in [*before, *now]}
    changed = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
    return {k: pair for k, pair in changed.items() if key != "data" or all(pair)}


@dataclass(frozen=True)
class ResumePolicy:
    """How the plan of a resumed folder may differ from its original one.

    Attributes
    ----------
    force : in everything; the new plan replaces the original one, and earlier lines of runs that use a
        changed file do not count any more. If not forced, there may be additional runs.
    rerun : keys of rounds to restart; files that only they use may differ.
    """

    force: bool = False
    rerun: Collection[RunKey] = ()


def _common_folder(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the base folder of relative paths; raise StoreError if that of the plans differs."""
    before, now = str(old.get("folder", "")), str(new.get("folder", ""))
    if now and before not in ("", now) and Path(before).is_dir():
        raise StoreError(
            f"{folder}: relative paths of its runs begin in {before}, those of the new runs in {now}; "
            "choose another --out"
        )
    return now or before


def _with_resumed_plan(
    folder: Path, old: Mapping[str, Any], new: Mapping[str, Any], added: Sequence[str]
) -> dict[str, Any]:
    """Return the new manifest with the runs of the old one, and then those that are `added` to them."""
    files = {key: {**old.get(key, {}), **new[key]} for key in ("code", "data")}
    if not added:
        return {**new, **files, **{key: old[key] for key in _PLAN if key in old}}
    return {
        **new,
        **files,
        "problems": {**old.get("problems", {}), **new["problems"]},
        "run_ids": [*old["run_ids"], *added],
        "folder": _common_folder(folder, old, new),
        "plans": [*dict.fromkeys([*old.get("plans", []), old["experiment"]])],
    }


def update_manifest_for_resume(
    folder: Path,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    inputs: Mapping[str, InputFile],
    policy: ResumePolicy,
) -> tuple[dict[str, Any], list[RunKey]]:
    """Return the manifest of a resumed folder, and the keys of the rounds to restart.

    The manifest is the old one, or a new one with an entry on the old one and the differences.
    The rounds are those that use a changed file, and `rerun`.

    Raises
    ------
    StoreError
        If the changes are more than `policy` allows.
    """
    data, code = _changed(old, new, "data"), _changed(old, new, "code")
    # a file that no earlier plan used has not changed for any existing run
    new_code = {file.path.name for file in inputs.values() if file.is_code} - {*old["code"]}
    code = {name: pair for name, pair in code.items() if name not in new_code}
    users = {
        name: [RunKey.parse(run_id).round for run_id in file.run_ids]
        for name, file in inputs.items()
        if name in data or (file.is_code and file.path.name in code)
    }
    restarted = list(dict.fromkeys(run for runs in users.values() for run in runs))
    planned = {*old["run_ids"]}
    added = [run_id for run_id in new["run_ids"] if run_id not in planned]
    if not policy.force or {*new["run_ids"]} == planned:
        new = _with_resumed_plan(folder, old, new, added)
    exclusive = {name for name, runs in users.items() if {*runs} <= {*policy.rerun}}
    exempt = {"data": exclusive, "code": new_code | {inputs[name].path.name for name in exclusive}}
    before, now = (
        each
        | {
            part: {name: value for name, value in each.get(part, {}).items() if name not in names}
            for part, names in exempt.items()
        }
        for each in (dict(old), dict(new))
    )
    if (refused := provenance_differences(before, now)) and not policy.force:
        restart = f" and restart the {len(restarted)} of {len(new['run_ids'])} runs that use it"
        remedy = f"add --force to resume it anyway{restart * bool(restarted)}, or"
        if added:
            remedy = "new runs would not be comparable with its own:"
        raise StoreError(
            f"{folder}: was created with {', '.join(refused)}; {remedy} choose another --out"
        )
    shorter = f"a plan without the last {len(added)} of these runs"
    changes = differences(old, new) if policy.force else provenance_differences(old, new)
    changes = [shorter] * bool(added and not policy.force) + changes
    restarted = list(dict.fromkeys([*restarted, *policy.rerun]))
    if not changes:
        return dict(old), restarted
    entry = {key: old[key] for key in CREATION_KEYS if key in old} | {"differs": changes}
    earlier = [*old.get("earlier", []), entry]
    return dict(new) | {"earlier": earlier, "sessions": old.get("sessions", [])}, restarted
