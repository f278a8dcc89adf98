"""`dualgap collect`: collect what SLURM jobs have recorded."""

import sys
from pathlib import Path

import click

from dualgap.experiments.operations.options import FOLDER


@click.command("collect")
@click.argument("folder", type=FOLDER)
def command(folder: Path) -> None:
    """Collect what SLURM jobs have recorded into a results FOLDER.

    This may be done at any time. Jobs that ended before all their runs are submitted again. Exit 1 if a
    row is wrong or crashed, or a job makes no progress.
    """
    from dualgap.experiments.operations.slurm import collect_into  # noqa: PLC0415

    sys.exit(collect_into(folder))
