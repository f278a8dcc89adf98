"""`dualgap init`: write an experiment file to start from."""

from pathlib import Path

import click

from dualgap.experiments.commands import PATH
from dualgap.experiments.operations.terminal import say, writing
from dualgap.experiments.records import Refusal


@click.command("init")
@click.argument("file", type=PATH, default=Path("experiment.yaml"))
@click.option("--schema", is_flag=True, help="Also write the JSON schema next to it, for editors.")
def command(file: Path, schema: bool) -> None:
    """Write a commented FILE [experiment.yaml], ready to run."""
    from dualgap.experiments.files.template import write_template  # noqa: PLC0415

    with writing(file):
        try:
            written = write_template(file, schema)
        except FileExistsError:
            raise Refusal(f"File {file} already exists. Choose another name.") from None
    for path in written:
        say(path)
