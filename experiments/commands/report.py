"""`dualgap report`: write a report on a results folder."""

from pathlib import Path

import click

from dualgap.experiments.commands import FILE, FOLDER
from dualgap.experiments.operations.terminal import say, writing


@click.command("report")
@click.argument("folder", type=FOLDER)
@click.option("--out", type=FILE, help="Output file [FOLDER/report.html].")
def command(folder: Path, out: Path | None) -> None:
    """Write a report on a results FOLDER as one HTML file."""
    from dualgap.experiments.report import write_report  # noqa: PLC0415

    target = out or folder / "report.html"
    with writing(target):
        written = write_report(folder, target)
    say(written)
