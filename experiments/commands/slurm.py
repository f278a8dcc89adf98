"""What `dualgap submit` and `dualgap collect` do: runs by jobs of SLURM that nobody waits for."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from dualgap.experiments.cases.search import Waiting
from dualgap.experiments.commands.run import RunOptions, begin, conclude, experiment_of, place_of
from dualgap.experiments.commands.terminal import say
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.slurm import SLOTS, queue
from dualgap.experiments.executors.slurm.slots import Slots
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.reading import RunFolder, load_answer


def submit_all(
    experiment: str,
    out: Path | None,
    options: RunOptions,
    changes: Sequence[tuple[str, str]],
    again: int,
) -> int:
    """Submit the runs of an experiment that its folder lacks; return the exit code."""
    described, repeated = experiment_of(experiment, changes)
    folder = out or place_of(described.name)
    cases, _, store = begin(described, folder, options, repeated)
    with closing(store):
        slots = Slots(folder)
        slots.end()
        for outcome in slots.arrived():
            store.append(outcome)
        waiting = Waiting(cases, RunFolder(folder).records(), partial(load_answer, folder))
        count = len(waiting)
        slots.submit(waiting, options.workers or SLOTS, again)
    say(
        f"{count} runs are submitted in {len(slots.jobs)} jobs; "
        f"bring what is there, at any time, with: dualgap collect {folder}"
    )
    return 0


def collect_into(folder: Path) -> int:
    """Bring what slots have recorded, and submit again what was lost; return the exit code."""
    states, wrong = dict[str, str](), list[str]()
    with closing(Store.reopen(folder)) as store:
        slots = Slots(folder)
        if not slots.jobs:
            raise Refusal(
                f"{folder}: has no jobs of SLURM; begin with: dualgap submit FILE --out {folder}"
            )
        try:
            states = queue.states()
        except ExecutorError as error:  # what is there is brought all the same
            wrong.append(str(error))
        for outcome in slots.arrived():
            store.append(outcome)
        recorded = RunFolder(folder)
        failed = conclude(recorded)
        go_on = recorded.missing and not wrong
        alive, given_up = slots.go_on(states) if go_on else ([], [])
    wrong += given_up
    for told in wrong:
        say(told, err=True)
    if recorded.missing:
        jobs = "; ".join(f"{count} {state}" for state, count in Counter(alive).items())
        say(f"{recorded.missing} runs are missing; jobs: {jobs or 'none'}", err=True)
    return int(failed or bool(wrong))
