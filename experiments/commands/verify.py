"""`dualgap verify`: compare every run of an experiment with the QP optimum."""

import sys

import click

from dualgap.experiments.commands import run_options
from dualgap.experiments.operations.options import CommandOptions


@click.command("verify")
@click.argument("experiment", metavar="[FILE|NAME]", default="verify")
@click.option("--solver", "more", metavar="NAME|FILE:CLASS", multiple=True, help="Also check it.")
@click.option("--rigorous", is_flag=True, help="Prove every bound in ball arithmetic.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Largest relative difference that passes [the experiment's target_gap].",
)
@run_options(
    *("out", "workers", "quiet", "as_json"),
    out={"help": "Keep runs and tables in this folder."},
    workers={"help": "Processes.", "default": 2, "show_default": True},
)
def command(
    experiment: str,
    more: tuple[str, ...],
    options: CommandOptions,
    rigorous: bool,
    tolerance: float | None,
) -> None:
    """Check every solver against the optimum of two QP solvers.

    Exit 1 if any differs by more than the tolerance or, with --rigorous, contradicts another. Each such
    solver is listed once, with a diagnosis that names the step of SMO at fault.
    """
    from dualgap.experiments.operations.verify import verify_experiment  # noqa: PLC0415

    sys.exit(verify_experiment(experiment, more, options, rigorous, tolerance))
