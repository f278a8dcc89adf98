"""`dualgap plot`: draw the figures of a results folder."""

from pathlib import Path

import click

from dualgap.experiments.operations.options import FOLDER
from dualgap.experiments.operations.terminal import refusing, say, writing


@click.command("plot")
@click.argument("folder", type=FOLDER)
@click.option(
    "--figure", "names", metavar="NAME|FILE:CLASS", multiple=True, help="Draw only this one [all]."
)
def command(folder: Path, names: tuple[str, ...]) -> None:
    """Draw the figures of a results FOLDER."""
    from dualgap.experiments.plots import plot_all  # noqa: PLC0415

    with refusing(ValueError), writing(folder):
        paths = plot_all(folder, names)
    for path in paths:
        if path.suffix != ".svg":
            say(f"{path} (and .svg)" if path.with_suffix(".svg") in paths else path)
