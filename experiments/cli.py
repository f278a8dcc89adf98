"""The command line: `dualgap run`, `verify`, `plot`, `report`, `compare`, `list`, `selftest`, ...

Each command is a file of `commands`; what `run` returns is shown by `operations.conclusion`. Exit
codes: 0 when everything succeeded; 1 when a row is wrong, crashed, diverged or out of memory, or a
check failed; 2 for bad input; 130 when interrupted.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import click

from dualgap.experiments import commands
from dualgap.experiments.operations.terminal import Commands, defaults_file, prepare


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dualgap", prog_name="dualgap")
@click.pass_context
def main(context: click.Context) -> None:
    """Compare SVM solvers. Trust none of them."""
    prepare()
    if defaults_file().is_file():
        from dualgap.experiments.operations.defaults import load_defaults  # noqa: PLC0415

        context.default_map = load_defaults().by_command()


@main.result_callback()
def conclude(experiments: Iterable[Any] | None) -> None:
    """Show what a command has planned or recorded, if it returns that, and exit."""
    if experiments is not None:
        from dualgap.experiments.operations.conclusion import conclude_all  # noqa: PLC0415

        sys.exit(conclude_all(experiments))


for _module in iter_modules(commands.__path__):
    main.add_command(import_module(f"{commands.__name__}.{_module.name}").command)


if __name__ == "__main__":
    main()
