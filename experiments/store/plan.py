"""The plan of a results folder: rebuilding it from its experiment files, and changes by a session."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualgap.experiments.cases.plan import Case, RunKey, keep_existing_names, plan
from dualgap.experiments.files.experiment import COPY, Experiment, checked_experiment
from dualgap.experiments.files.yaml import parse
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.inputs import InputFile
from dualgap.experiments.store.manifest import (
    StoreError,
    changed,
    provenance_differences,
    read_manifest,
)


def planned_cases(folder: Path) -> list[Case]:
    """Return the cases of a results folder, planned from its own experiment files.

    An extended or merged folder has several of them.

    Raises
    ------
    Refusal
        If some of its runs are no longer planned by any of these files.
    """
    manifest = read_manifest(folder)
    run_ids, cases = dict.fromkeys(manifest["run_ids"]), dict[str, Case]()
    for text in [manifest["experiment"], *manifest.get("plans", [])]:
        replanned = plan(_experiment(folder, manifest, text))
        cases = {case.run_id: case for case in replanned if case.run_id in run_ids} | cases
    if missing := len(run_ids) - len(cases):
        raise Refusal(
            f"{missing} runs of {folder} are not planned by its experiment files and cannot be rerun."
        )
    return keep_existing_names([cases[run_id] for run_id in run_ids], manifest)


def recorded_experiment(folder: Path, options: Sequence[tuple[str, str]] = ()) -> Experiment:
    """Return the experiment of a results folder as its manifest has it, see `read_experiment`.

    A command that was killed as it began has left no other file than its session's.
    """
    manifest = read_manifest(folder)
    return _experiment(folder, manifest, manifest["experiment"], options)


def _experiment(
    folder: Path, manifest: Mapping[str, Any], text: str, options: Sequence[tuple[str, str]] = ()
) -> Experiment:
    base = folder / manifest.get("folder", "")  # relative in a published folder
    base = base.resolve() if base.is_dir() else folder.absolute()
    return checked_experiment(parse(text.encode(), folder / COPY), str(base), options)


@dataclass(frozen=True)
class ResumePolicy:
    """How the plan of a resumed folder may differ from its original one.

    Attributes
    ----------
    force : accept any difference; the new plan replaces the original one, and earlier lines of runs that
        use a changed file do not count any more. If not forced, there may be additional runs.
    rerun : keys of rounds to restart; files that only they use may differ.
    """

    force: bool = False
    rerun: Collection[RunKey] = ()


def check_resume(
    folder: Path,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    inputs: Mapping[str, InputFile],
    policy: ResumePolicy,
) -> tuple[list[RunKey], bool]:
    """Return the rounds that a session restarts, and whether its plan replaces that of the folder.

    The rounds are those that use a changed file, and `rerun`.

    Raises
    ------
    StoreError
        If the manifest of the session differs from that of the folder by more than `policy` allows.
    """
    data, code = changed(old, new, "data"), changed(old, new, "code")
    users = {
        name: [RunKey.parse(run_id).round for run_id in file.run_ids]
        for name, file in inputs.items()
        if name in data or (file.is_code and file.path.name in code)
    }
    restarted = list(dict.fromkeys(run for runs in users.values() for run in runs))
    planned = {*old["run_ids"]}
    added = [run_id for run_id in new["run_ids"] if run_id not in planned]
    if not policy.force:
        exclusive = {name for name, runs in users.items() if {*runs} <= {*policy.rerun}}
        exempt = exclusive | {inputs[name].path.name for name in exclusive}
        if refused := provenance_differences(old, _without_files(new, exempt)):
            _refuse(folder, refused, added, f"{len(restarted)} of {len(new['run_ids'])}", restarted)
    replaces_plan = policy.force and {*new["run_ids"]} != planned
    if added and not replaces_plan:
        _check_base_folder(folder, old, new)
    return list(dict.fromkeys([*restarted, *policy.rerun])), replaces_plan


def _without_files(manifest: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a manifest without some of its files of code and data."""
    files = {
        key: {name: value for name, value in manifest.get(key, {}).items() if name not in names}
        for key in ("code", "data")
    }
    return {**manifest, **files}


def _refuse(
    folder: Path,
    changes: Sequence[str],
    added: Sequence[str],
    fraction: str,
    restarted: Sequence[RunKey],
) -> None:
    restart = f" and restart the {fraction} runs that use it"
    remedy = f"add --force to resume it anyway{restart * bool(restarted)}, or"
    if added:
        remedy = "new runs would not be comparable with its own:"
    raise StoreError(
        f"{folder}: was created with {', '.join(changes)}; {remedy} choose another --out"
    )


def _check_base_folder(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise StoreError if the relative paths of two plans begin in different folders."""
    before, now = str(old.get("folder", "")), str(new.get("folder", ""))
    if now and before not in ("", now) and Path(before).is_dir():
        raise StoreError(
            f"{folder}: relative paths of its runs begin in {before}, those of the new runs in {now}; "
            "choose another --out"
        )
