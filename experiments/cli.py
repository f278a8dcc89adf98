"""The command line: `dualgap run`, `verify`, `plot`, `report`, `compare`, `list`, `selftest`, ...

Each command is a file of `commands`. Exit codes: 0 when everything succeeded; 1 when a row is wrong,
crashed, diverged or out of memory, or a check failed; 2 for bad input; 130 when interrupted.
"""

from importlib import import_module
from pkgutil import iter_modules

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


for _module in iter_modules(commands.__path__):
    main.add_command(import_module(f"{commands.__name__}.{_module.name}").command)


if __name__ == "__main__":
    main()
