"""`dualgap merge`: merge several results folders."""

import sys
from pathlib import Path

import click

from dualgap.experiments.commands import FOLDER, PATH
from dualgap.experiments.operations.options import CommandOptions
from dualgap.experiments.operations.terminal import writing


@click.command("merge")
@click.argument("folders", metavar="DIR...", type=FOLDER, nargs=-1, required=True)
@click.option("--out", type=PATH, required=True, help="The new results folder.")
@click.option("--force", is_flag=True, help="Merge even if code, libraries or data differ.")
def command(folders: tuple[Path, ...], out: Path, force: bool) -> None:
    """Merge several results folders into a new one.

    A run that is in several of them is kept once; if its results differ, the merge is refused.
    """
    from dualgap.experiments.analysis.results import Results  # noqa: PLC0415
    from dualgap.experiments.operations.conclusion import write_all  # noqa: PLC0415
    from dualgap.experiments.store.reading import RunFolder  # noqa: PLC0415
    from dualgap.experiments.tables.summary import summarise  # noqa: PLC0415

    with writing(out):
        merged = RunFolder.merge(folders, out, force)
    summary = summarise(Results(merged.results))
    sys.exit(0 if write_all(merged, summary, CommandOptions()) else 1)
