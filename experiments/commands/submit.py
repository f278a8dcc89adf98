"""`dualgap submit`: run an experiment in SLURM jobs in the background."""

import sys

import click

from dualgap.experiments.operations.options import RunOptions, change_options, run_options


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
    from dualgap.experiments.operations.submit import submit  # noqa: PLC0415

    sys.exit(submit(experiment, options, changes))
