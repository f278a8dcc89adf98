"""`dualgap submit` and `dualgap collect`: runs in SLURM jobs in the background."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from dualgap.experiments.cases.schedule import Schedule
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.slurm import SLOTS, queue
from dualgap.experiments.executors.slurm.slots import Slots
from dualgap.experiments.operations.options import CommandOptions, RunOptions
from dualgap.experiments.operations.run import (
    conclude,
    default_output_folder,
    load_experiment,
    open_run,
)
from dualgap.experiments.operations.terminal import say
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.reading import RunFolder, load_answer


def submit_all(
    experiment: str,
    options: RunOptions,
    changes: Sequence[tuple[str, str]],
    again: int,
) -> int:
    """Submit the missing runs of an experiment; return the exit code."""
    loaded, source = load_experiment(experiment, changes)
    folder = Path(options.out or default_output_folder(loaded.name))
    cases, _, store = open_run(loaded, folder, replace(options, executor="slurm"), source)
    with closing(store):
        slots = Slots(folder)
        slots.cancel()
        for outcome in slots.new_outcomes():
            store.append(outcome)
        schedule = Schedule(cases, RunFolder(folder).records(), partial(load_answer, folder))
        count = len(schedule)
        slots.submit(schedule, options.workers or SLOTS, again)
    say(
        f"Submitted {count} runs in {len(slots.jobs)} jobs. "
        f"Collect results at any time with: dualgap collect {folder}"
    )
    return 0


def collect_into(folder: Path) -> int:
    """Collect the records of slots, and submit lost runs again; return the exit code."""
    states, errors = dict[str, str](), list[str]()
    with closing(Store.reopen(folder)) as store:
        slots = Slots(folder)
        if not slots.jobs:
            raise Refusal(
                f"{folder} has no SLURM jobs. Submit some with: dualgap submit FILE --out {folder}"
            )
        try:
            states = queue.states()
        except ExecutorError as error:  # collect the available records anyway
            errors.append(str(error))
        for outcome in slots.new_outcomes():
            store.append(outcome)
        recorded = RunFolder(folder)
        failed = conclude(recorded, CommandOptions())
        can_submit = recorded.missing and not errors
        alive, failures = slots.resubmit(states) if can_submit else ([], [])
    errors += failures
    for message in errors:
        say(message, err=True)
    if recorded.missing:
        jobs = "; ".join(f"{count} {state}" for state, count in Counter(alive).items())
        say(f"{recorded.missing} runs are missing; jobs: {jobs or 'none'}", err=True)
    return int(failed or bool(errors))
