"""`dualgap gallery`: draw the figures of the lecture notes."""

from pathlib import Path

import click

from dualgap.experiments.commands import option
from dualgap.experiments.operations.terminal import refusing, say, writing
from dualgap.experiments.records import Refusal


@click.command("gallery")
@click.argument("names", metavar="[NAME|FILE]...", nargs=-1)
@option("out", help="Folder of the figures [build/gallery].")
@click.option("--show", is_flag=True, help="Open each figure once it is drawn.")
def command(names: tuple[str, ...], out: Path | None, show: bool) -> None:
    """Draw the figures of the lecture notes.

    Draw all of them, those given by NAME, or one from your own script. Like those in
    experiments/gallery, it defines compute() -> numbers and draw(numbers) -> figure.
    """
    from dualgap.experiments.gallery import FOLDER, draw_figures  # noqa: PLC0415

    with refusing(ValueError), writing(out or FOLDER):
        for paths in draw_figures(out or FOLDER, names):
            say(f"{paths[-1]} (and .svg)")
            if show and click.launch(str(paths[-1])) != 0:
                raise Refusal("No program on this machine opens the figure. Leave out --show.")
