"""`dualgap compare`: compare two results folders run by run."""

import sys
from pathlib import Path

import click

from dualgap.experiments.commands import FOLDER, option
from dualgap.experiments.operations.terminal import console, print_json


@click.command("compare")
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@option("quiet")
@option("as_json")
def command(first: Path, second: Path, quiet: bool, as_json: bool) -> None:
    """Compare two results folders run by run.

    List the runs that became faster, slower, right or wrong. Exit 1 if something became wrong, unsolved
    or broken in the SECOND, or bounds contradict each other.
    """
    from dualgap.experiments.analysis.compare import compare_results, regressed  # noqa: PLC0415
    from dualgap.experiments.store.reading import RunFolder  # noqa: PLC0415
    from dualgap.experiments.tables.comparison import to_json, to_terminal  # noqa: PLC0415

    old, new = RunFolder(first), RunFolder(second)
    changes = compare_results(old.results, new.results)
    if as_json:
        print_json(to_json(changes, old.manifest, new.manifest))
    elif not quiet:
        console().print(to_terminal(changes, old.manifest, new.manifest))
    sys.exit(1 if regressed(changes) else 0)
