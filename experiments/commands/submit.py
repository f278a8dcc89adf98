"""`dualgap submit`: run an experiment in SLURM jobs in the background."""

import sys

import click

from dualgap.experiments.operations.options import RunOptions, change_options, run_options


@click.command("submit")
@click.argument("experiment", metavar="FILE|NAME")
@change_options
@run_options(
    *("out", "resume", "workers"),
    out={"help": "Results folder, visible to all nodes [runs/<name>]."},
    resume={"help": "Keep recorded runs, submit only what is missing or new."},
    workers={"help": "Jobs per kind of resources [16]."},
)
@click.option(
    "--again",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="How many times to rerun a run whose job was killed.",
)
def command(
    experiment: str, options: RunOptions, changes: list[tuple[str, str]], again: int
) -> None:
    """Submit an experiment to SLURM and return at once.

    A solver's entry may request resources for its jobs: slurm: {cpus: 4, mem: 8GiB, time: 1h}.
    """
    from dualgap.experiments.operations.slurm import submit_all  # noqa: PLC0415

    sys.exit(submit_all(experiment, options, changes, again))
