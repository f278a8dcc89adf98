"""`dualgap archive`: archive a results folder as one file."""

from pathlib import Path

import click

from dualgap.experiments.commands import FILE, FOLDER
from dualgap.experiments.operations.terminal import refusing, say, writing


@click.command("archive")
@click.argument("folder", type=FOLDER)
@click.option("--out", type=FILE, help="Output file [FOLDER.zip].")
def command(folder: Path, out: Path | None) -> None:
    """Archive a results FOLDER as one zip file for a paper.

    `dualgap run ARCHIVE.zip --check` reruns it.
    """
    from dualgap.experiments.operations.archive import write_archive  # noqa: PLC0415

    target = out or folder.resolve().with_name(f"{folder.resolve().name}.zip")
    with refusing(ValueError), writing(target):
        write_archive(folder, target)
    say(target)
