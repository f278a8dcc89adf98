"""The command line: `dualgap run`, `verify`, `plot`, `report`, `compare`, `list`, `selftest`, ...

Each command is a file of `commands`; what `run` returns is shown by `operations.conclusion`. Exit
codes: 0 when everything succeeded; 1 when a row is wrong, crashed, diverged or out of memory, or a
check failed; 2 for bad input; 130 when interrupted.
"""

import io
import os
import signal
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pkgutil import iter_modules
from typing import Any

import click

from dualgap.experiments import commands
from dualgap.experiments.operations.terminal import (
    INTERRUPTED,
    OUTPUT_ERRORS,
    defaults_file,
    say,
)
from dualgap.experiments.records import Refusal

_DEFAULT_SIGINT = signal.default_int_handler


def _interrupt(number: int) -> None:
    """End the command cleanly at the first interrupt, and immediately at the third."""
    if number == 1:
        raise KeyboardInterrupt
    if number > 2:
        os._exit(130)
    os.write(2, b"The command is ending. Interrupt it again to end it immediately.\n")


@contextmanager
def _reporting() -> Generator[None]:
    """End the process with a sentence and an exit code at a refusal, a failure or an interrupt."""
    try:
        yield
        return
    except Refusal as error:
        lines, code = error.lines, 2
    except KeyboardInterrupt:
        lines, code = [INTERRUPTED], 130
    except OSError as error:
        with suppress(OSError, ValueError):  # flushing buffered output at exit would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        lines, code, cause = [str(error)], 1, OUTPUT_ERRORS.get(error.errno or 0)
        if error.filename is not None:
            lines = [f"{error.filename}: {error.strerror}"]
        elif cause is not None:
            lines = [f"Cannot write the output: {cause}."]
    with suppress(OSError):
        say(*lines, err=True)
    sys.exit(code)


class Commands(click.Group):
    """Commands that report refusals, failures and interrupts in one sentence and by exit code."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line of this process, or a list of arguments."""
        if not (arguments or options) and signal.getsignal(signal.SIGINT) == _DEFAULT_SIGINT:
            numbers = count(1)

            def interrupt(*_: object) -> None:
                _interrupt(next(numbers))

            signal.signal(signal.SIGINT, interrupt)
        return super().main(*arguments, **options)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the arguments, which prints what --help and --version ask for."""
        with _reporting():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _reporting():
            return super().invoke(ctx)


def prepare() -> None:
    """Make printing safe for any output; Refusal if the current folder is gone."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - open until the process ends
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal has a ×
    try:
        os.getcwd()
    except OSError:
        raise Refusal("The current folder has been removed. Change to another one.") from None


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
    """Show what a command has recorded, if it returns that, and exit."""
    if experiments is not None:
        from dualgap.experiments.operations.conclusion import conclude_all  # noqa: PLC0415

        sys.exit(conclude_all(experiments))


for _module in iter_modules(commands.__path__):
    main.add_command(import_module(f"{commands.__name__}.{_module.name}").command)


if __name__ == "__main__":
    main()
