"""`dualgap plot`: draw the figures of a results folder."""

from itertools import groupby
from pathlib import Path

import click

from dualgap.experiments.operations.options import FOLDER
from dualgap.experiments.operations.terminal import refusing, say, writing


@click.command("plot")
@click.argument("folder", type=FOLDER)
@click.option(
    "--figure", "names", metavar="NAME|FILE:CLASS", multiple=True, help="Draw only this one [all]."
)
@click.option(
    "--format",
    "formats",
    metavar="LIST",
    default="svg,png",
    help="Formats, such as pdf,svg,png [svg,png].",
)
def command(folder: Path, names: tuple[str, ...], formats: str) -> None:
    """Draw the figures of a results FOLDER."""
    from dualgap.experiments.plots import plot_all  # noqa: PLC0415

    with refusing(ValueError), writing(folder):
        paths = plot_all(folder, names, formats=formats.split(","))
    for _, group in groupby(paths, lambda path: path.with_suffix("")):
        *siblings, path = group
        say(f"{path} (and {', '.join(other.suffix for other in siblings)})" if siblings else path)
