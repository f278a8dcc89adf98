"""`dualgap submit`: run an experiment in SLURM jobs in the background."""

from dataclasses import replace

import click

from dualgap.experiments.commands import change_options, run_options
from dualgap.experiments.operations.options import RunOptions
from dualgap.experiments.operations.terminal import say


@click.command("submit")
@click.argument("experiment", metavar="FILE|NAME|DIR")
@change_options
@run_options(
    *("out", "resume", "rerun", "force", "workers"),
    out={"help": "Results folder, visible to all nodes [runs/<name>]."},
    resume={"help": "Keep recorded runs, submit only what is missing or new."},
    workers={"help": "Jobs per kind of resources [16]."},
)
def command(experiment: str, options: RunOptions, changes: list[tuple[str, str]]) -> None:
    """Submit an experiment to SLURM and return at once.

    Its jobs record runs in the results folder, which can be read at any time. Submitting it again
    replaces jobs that wait or run. A solver's entry may request resources for its jobs: slurm: {cpus: 4,
    mem: 8GiB, time: 1h}.
    """
    from dualgap.experiments.executors.slurm import SlurmExecutor  # noqa: PLC0415
    from dualgap.experiments.operations.defaults import load_defaults  # noqa: PLC0415
    from dualgap.experiments.operations.run import (  # noqa: PLC0415
        load_experiment,
        open_run,
        results_folder,
    )

    parent = load_defaults().out
    loaded = load_experiment(experiment, changes)
    folder = results_folder(experiment, loaded.name, options, parent)
    _, executor, session = open_run(loaded, folder, replace(options, executor="slurm"))
    session.close()
    assert isinstance(executor, SlurmExecutor)
    missing, jobs = executor.submit()
    say(
        f"Submitted {missing} runs in {jobs} jobs. See what is recorded with: dualgap report {folder}"
    )
