"""`dualgap table`: make a table for a paper."""

from pathlib import Path
from typing import Literal

import click

from dualgap.experiments.commands import FILE, FOLDER
from dualgap.experiments.operations.terminal import refusing, write


@click.command("table")
@click.argument("folder", type=FOLDER)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["latex", "markdown", "csv"]),
    default="markdown",
    show_default=True,
)
@click.option("--rows", metavar="PATTERN,...", multiple=True, help="Rows to show, in order [all].")
@click.option(
    "--columns", metavar="PATTERN,...", multiple=True, help="Columns to show, in order [all]."
)
@click.option(
    "--values",
    metavar="NAME[:DIGITS],...",
    default="time",
    help="Of time, ratio, gap, objective, suboptimality, kkt, support, memory, ... [time]",
)
@click.option(
    "--by",
    type=click.Choice(["problem", "solver"]),
    default="problem",
    help="One row per problem or per solver [problem].",
)
@click.option(
    "--target",
    type=float,
    metavar="GAP",
    help="Show each solver at its cheapest setting that reaches GAP.",
)
@click.option("--out", type=FILE, help="Output file [the terminal].")
def command(
    folder: Path,
    kind: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: str,
    by: Literal["problem", "solver"],
    target: float | None,
    out: Path | None,
) -> None:
    """Make a table for a paper from a results FOLDER.

    The fastest is in bold if the timing noise permits. A PATTERN is a name, a part of one, or has
    wildcards * and ?.
    """
    from dualgap.experiments.tables.chosen import paper_table  # noqa: PLC0415

    with refusing(ValueError):
        result = paper_table(folder, rows, columns, values.split(","), by, target)
    write(result.to(kind, folder.name), out)
