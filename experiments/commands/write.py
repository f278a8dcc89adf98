"""Commands that write a text: `dualgap init`, `schema` and `table`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from experiments.output.terminal import refuse, refusing, write, writing

_FORMATS = ("latex", "markdown", "csv")
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--format", "kind", type=click.Choice(_FORMATS), default="markdown", show_default=True
)
@click.option("--rows", metavar="PATTERN", multiple=True, help="Rows to show, in order [all].")
@click.option(
    "--columns", metavar="PATTERN", multiple=True, help="Columns to show, in order [all]."
)
@click.option(
    "--values",
    metavar="NAME[:DIGITS],...",
    default="time",
    help="time, ratio, gap, objective, suboptimality, kkt, support, memory, ... [time]",
)
@click.option("--digits", type=click.IntRange(1, 17), help="Significant digits.")
@click.option(
    "--by", type=click.Choice(["problem", "solver"]), default="problem", help="Rows [problem]."
)
@click.option(
    "--target",
    type=float,
    metavar="GAP",
    help="The cheapest setting of each solver that reaches it.",
)
@click.option("--out", type=_FILE, help="A file [the terminal].")
def table(
    folder: Path,
    kind: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: str,
    digits: int | None,
    by: Literal["problem", "solver"],
    target: float | None,
    out: Path | None,
) -> None:
    """Make a table for a paper from a results FOLDER, with the fastest in bold where noise allows it.

    A PATTERN is a name or a piece of one, or has the wildcards * and ?.
    """
    from experiments.paper import paper_table  # noqa: PLC0415
    from experiments.store.manifest import StoreError  # noqa: PLC0415

    with refusing(StoreError, ValueError):
        made = paper_table(
            folder,
            rows=rows,
            columns=columns,
            values=values.split(","),
            digits=digits,
            by=by,
            target=target,
        )
    write(made.to(kind), out)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("experiment.yaml"))
@click.option("--schema", is_flag=True, help="Also write the JSON schema beside it, for editors.")
def init(file: Path, schema: bool) -> None:
    """Write a commented experiment FILE [experiment.yaml] that runs as it is."""
    from experiments.files.template import write_template  # noqa: PLC0415

    with writing(file):
        try:
            written = write_template(file, schema)
        except FileExistsError:
            refuse(f"{file}: exists already; choose another name")
    for path in written:
        click.echo(path)


@click.command()
@click.option("--out", type=_FILE, help="A file [the terminal].")
def schema(out: Path | None) -> None:
    """Print the JSON schema of experiment files, with which editors complete and check them."""
    from experiments.files.schema import schema_text  # noqa: PLC0415

    write(schema_text(), out)
