"""What a folder of runs was begun with: the plan, the code, the libraries, the machine.

The experiment file stands beside it, and is read with it. Runs with other code or other libraries do not
compare with those that are there: resuming a folder is refused if any of them has changed, unless it is
forced, and then the manifest records the change.

What it keeps of files of data is said in `inputs`, of the sessions that wrote lines in `log`.
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

from dualgap.experiments.cases.plan import search_of
from dualgap.experiments.cases.records import versions
from dualgap.experiments.files.experiment import COPY
from dualgap.experiments.files.keys import as_seconds
from dualgap.experiments.records import Refusal
from dualgap.experiments.store import disk
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.schema import Manifest, OtherManifest, fault_text
from dualgap.experiments.workers.machine import machine

SCHEMA = 2
NAME, EXPERIMENT = "manifest.json", COPY
_ROOT = Path(__file__).parents[2]
_PACKAGES = ("problems", "solvers", "experiments")
BEGUN_WITH = ("experiment", "code", "versions", "host", "date")
_PLAN = ("name", "kind", "time_limit", "experiment", "options", "plans", "problems", "run_ids")


class StoreError(Refusal):
    """A folder that cannot be written to or read, with what to do."""


def new_manifest(
    text: str,
    run_ids: Sequence[str],
    inputs: Mapping[str, InputFile],
    problems: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    begun_by: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a plan, made here and now.

    Parameters
    ----------
    text : the experiment file. run_ids : of its plan, in order. inputs : the files that it names.
    problems : the specifications of its problems, by their names.
    old : an earlier manifest, which knows files of data by their bytes.
    begun_by : what else is kept of the command: its options, the folder where relative paths begin, and
        as `plans` the texts of further experiment files that some of the runs are of.
    """
    head = YAML(typ="safe").load(text) or {}
    code = {file.path for file in inputs.values() if file.is_code}
    known = (old or {}).get("data", {})
    data = {k: file.checksums(known.get(k)) for k, file in inputs.items() if not file.is_code}
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
        **(begun_by or {}),
    }


def code_version(files: Iterable[Path] = ()) -> dict[str, str]:
    """Return a hash of the source of each of the three packages, and of each file besides."""
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

    An earlier manifest is given the earlier file first: a kill between the two leaves its plan.
    """
    text, path = str(manifest["experiment"]).encode(), folder / EXPERIMENT
    if not path.is_file() or path.read_bytes() != text:
        with suppress(StoreError):  # of a new folder, which has none
            earlier = read_manifest(folder)
            plans = [*earlier.get("plans", []), earlier["experiment"]]
            _write(folder, earlier | {"plans": plans})
        disk.replace(path, text)
    _write(folder, manifest)


def _write(folder: Path, manifest: Mapping[str, Any]) -> None:
    kept = {key: value for key, value in manifest.items() if key != "experiment"}
    disk.replace(folder / NAME, to_json(kept, indent=1))


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
        raise StoreError(f"{folder}: holds no results (there is no {error.filename})") from None
    except ValidationError as error:
        raise StoreError(f"{path}: cannot be read: {fault_text(error)}") from None
    except (OSError, RecursionError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if other.schema_ != SCHEMA:
        release = other.versions.get("dualgap", "") or "of that time"
        # several states of the code may have one release's number
        packages = other.code
        code = ", ".join(f"{name} {packages[name]}" for name in _PACKAGES if name in packages)
        raise StoreError(
            f"{folder}: holds results of schema {other.schema_}, and this release reads schema "
            f"{SCHEMA} alone; read it with the one that wrote it, dualgap {release}"
            f"{f' (code of {code})' if code else ''}: nothing in it was changed"
        )
    return manifest


def common_columns(manifest: Mapping[str, Any], problem: str) -> dict[str, str | None]:
    """Return what the manifest has of all runs on a problem, and records do not repeat.

    The versions are those that the folder was begun with: others are in the records that have them.
    """
    begun = [*manifest.get("earlier", []), manifest][0]
    spec = manifest["problems"].get(problem)
    return {
        "versions": json.dumps(begun["versions"]),
        "problem": None if spec is None else json.dumps(spec),
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return phrases on how the plan, the code and the libraries of two manifests differ."""
    found: list[str] = []
    before, now = set(old["run_ids"]), set(new["run_ids"])
    if before != now:
        found.append(
            f"another plan ({len(before)} runs, of which {len(before - now)} are not planned now, "
            f"and {len(now - before)} are new)"
        )
    return found + other_makers(old, new)


def other_makers(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return phrases on how the code, the libraries and the data of two manifests differ."""
    found: list[str] = []
    code, libraries, data = (_changed(old, new, key) for key in ("code", "versions", "data"))
    if code:
        found.append(f"other code ({', '.join(code)})")
    if libraries:
        changes = (
            f"{name} {was or 'missing'}, now {now or 'missing'}"
            for name, (was, now) in libraries.items()
        )
        found.append(f"other libraries ({'; '.join(changes)})")
    return found + [f"another content of {name}" for name in data]


def _changed(
    old: Mapping[str, Any], new: Mapping[str, Any], key: str
) -> dict[str, tuple[Any, Any]]:
    """Return what two manifests have differently of code, versions or files of data, by their names.

    A file of data is compared where both plans name it; of the others "" stands for what one lacks.
    """
    before, now = old.get(key, {}), new.get(key, {})
    both = {name: (before.get(name, ""), now.get(name, "")) for name in [*before, *now]}
    differing = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
    return {k: pair for k, pair in differing.items() if key != "data" or all(pair)}


@dataclass(frozen=True)
class Growth:
    """How the plan of a folder that is resumed may differ from the one that it was begun with.

    Attributes
    ----------
    force : in everything; of runs that use a changed file no earlier line counts any more.
    extend : by more runs; those that are there stay.
    rerun : runs (of a search, what their ids begin with) that begin anew; files that they alone use may
        differ.
    """

    force: bool = False
    extend: bool = False
    rerun: Collection[str] = ()


def _one_folder(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return where the relative paths of both plans begin; StoreError if these are two places."""
    before, now = str(old.get("folder", "")), str(new.get("folder", ""))
    if now and before not in ("", now) and Path(before).is_dir():
        raise StoreError(
            f"{folder}: relative paths of its runs begin in {before}, those of what is new in {now}; "
            "choose another --out"
        )
    return now or before


def succeeding(
    folder: Path,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    inputs: Mapping[str, InputFile],
    growth: Growth,
) -> tuple[dict[str, Any], list[str]]:
    """Return the manifest of a folder that is resumed, and the runs that begin anew.

    The manifest is the old one, or a changed one, which has an entry on the old one and how it differed.
    The runs (of a search, what their ids begin with) are those that use a changed file, or `rerun`.

    Raises
    ------
    StoreError
        If it has changed in what `growth` does not allow.
    """
    data, code = _changed(old, new, "data"), _changed(old, new, "code")
    # a file that no earlier plan named has changed for none of its runs
    fresh = {file.path.name for file in inputs.values() if file.is_code} - {*old["code"]}
    code = {name: pair for name, pair in code.items() if name not in fresh}
    users = {
        name: list(map(search_of, file.run_ids))
        for name, file in inputs.items()
        if name in data or (file.is_code and file.path.name in code)
    }
    restarted = list(dict.fromkeys(run for used in users.values() for run in used))
    known = {*old["run_ids"]}
    added = [run_id for run_id in new["run_ids"] if run_id not in known]
    if growth.extend:
        both = {key: {**old.get(key, {}), **new[key]} for key in ("problems", "code", "data")}
        texts = {**dict.fromkeys(old.get("plans", [])), old["experiment"]: None}
        both |= {"run_ids": [*old["run_ids"], *added], "folder": _one_folder(folder, old, new)}
        new = {**new, **both, "plans": [*texts]} if added else {**old, **both}
    elif {*new["run_ids"]} == known:  # the texts of the folder plan these runs, in whatever order
        new = {**new, **{key: old[key] for key in _PLAN if key in old}}
    compared = other_makers if growth.extend else differences
    alone = {name for name, used in users.items() if {*used} <= {*growth.rerun}}
    exempt = {"data": alone, "code": fresh | {inputs[name].path.name for name in alone}}
    before, now = (
        each
        | {
            part: {name: value for name, value in each.get(part, {}).items() if name not in names}
            for part, names in exempt.items()
        }
        for each in (dict(old), dict(new))
    )
    if (refused := compared(before, now)) and not growth.force:
        anew = f", with the {len(restarted)} of {len(new['run_ids'])} runs that use it begun anew"
        remedy = f"add --force to resume it nevertheless{anew * bool(restarted)}, or"
        if growth.extend:
            remedy = "what is new would not compare with what it has:"
        elif not other_makers(before, now):
            remedy = remedy[:-2] + "--extend to keep what it has and run what is new, or"
        raise StoreError(
            f"{folder}: was begun with {', '.join(refused)}; {remedy} choose another --out"
        )
    fewer = f"a plan without the last {len(added)} of these runs"
    changed = [fewer] * bool(growth.extend and added) + compared(old, new)
    restarted = list(dict.fromkeys([*restarted, *growth.rerun]))
    if not changed:
        return dict(old), restarted
    begun = {key: old[key] for key in BEGUN_WITH if key in old} | {"differs": changed}
    earlier = [*old.get("earlier", []), begun]
    return dict(new) | {"earlier": earlier, "sessions": old.get("sessions", [])}, restarted
