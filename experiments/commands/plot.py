"""`dualgap plot`: draw the figures of a results folder."""

from itertools import groupby
from pathlib import Path

import click

from dualgap.experiments.commands import FOLDER
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
    help="Of svg, png, pdf and pgf, such as pdf,pgf [svg,png].",
)
def command(folder: Path, names: tuple[str, ...], formats: str) -> None:
    """Draw the figures of a results FOLDER.

    `dualgap list figures` describes them.
    """
    from dualgap.experiments.plots import plot_all  # noqa: PLC0415

    with refusing(ValueError), writing(folder):
        paths = plot_all(folder, names, formats=formats.split(","))
        if names and not paths:
            raise ValueError(
                f"Results folder {folder} has no runs for {', '.join(names)}; `dualgap list figures` "
                "says what each figure needs"
            )
    for _, group in groupby(paths, lambda path: path.with_suffix("")):
        *siblings, path = group
        say(f"{path} (and {', '.join(other.suffix for other in siblings)})" if siblings else path)
