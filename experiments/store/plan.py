"""The plan of a results folder, made again from its own experiment files."""

from pathlib import Path

from dualgap.experiments.cases.plan import Case, keep_existing_names, plan
from dualgap.experiments.files.experiment import COPY, checked_experiment
from dualgap.experiments.files.yaml import parse
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.manifest import read_manifest


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
        document = parse(text.encode(), folder / COPY)
        replanned = plan(checked_experiment(folder / COPY, document))
        cases = {case.run_id: case for case in replanned if case.run_id in run_ids} | cases
    if missing := len(run_ids) - len(cases):
        raise Refusal(
            f"{missing} runs of {folder} are not planned by its experiment files and cannot be rerun."
        )
    return keep_existing_names([cases[run_id] for run_id in run_ids], manifest["problems"])
