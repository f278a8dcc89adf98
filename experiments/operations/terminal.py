"""Shared by all commands: refusing bad input, printing."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dualgap.experiments.records import Refusal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

WIDTH = 100  # columns, if the output is not a terminal
INTERRUPTED = "interrupted"
_OUTPUT_ERRORS = {  # errors after which nothing more can be printed
    errno.EPIPE: "its reader has closed it",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
    errno.EFBIG: "the file has become too large",
    errno.EIO: "the device has failed",
    errno.EBADF: "it is closed",
}
_DEFAULT_SIGINT = signal.default_int_handler


def _interrupt(number: int) -> None:
    """End the command cleanly at the first interrupt, and immediately at the third."""
    if number == 1:
        raise KeyboardInterrupt
    if number > 2:
        os._exit(130)
    os.write(2, b"The command is ending. Interrupt it again to end it immediately.\n")


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

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Refusal as error:
            lines, code = error.lines, 2
        except KeyboardInterrupt:
            lines, code = [INTERRUPTED], 130
        except OSError as error:
            with suppress(OSError, ValueError):  # flushing buffered output at exit would fail again
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            lines, code, cause = [str(error)], 1, _OUTPUT_ERRORS.get(error.errno or 0)
            if error.filename is not None:
                lines = [f"{error.filename}: {error.strerror}"]
            elif cause is not None:
                lines = [f"Cannot write the output: {cause}."]
        with suppress(OSError):
            say(*lines, err=True)
        sys.exit(code)


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


def defaults_file() -> Path:
    """Return the path of the user's defaults, which may not exist; see `operations.defaults`."""
    from platformdirs import user_config_path  # noqa: PLC0415

    return user_config_path() / "dualgap.yaml"


@contextmanager
def refusing(*errors: type[Exception]) -> Generator[None]:
    """Turn errors of these classes into a `Refusal` with the same message."""
    try:
        yield
    except errors as error:
        raise Refusal(str(error)) from None


def say(*lines: object, err: bool = False) -> None:
    """Print each as one line, to standard error if `err`; terminal escapes are neutralised."""
    for line in lines:
        text = str(line)
        if not text.isprintable():
            from dualgap.problems.texts import printable  # noqa: PLC0415 - slow to import, and rarely needed

            text = printable(text)
        click.echo(text, err=err)


@contextmanager
def writing(target: Path) -> Generator[None]:
    """Report that a file or folder cannot be written; exit 1 if the disk is full, else 2."""
    try:
        yield
    except OSError as error:
        say(f"Cannot write {target}: {error.strerror or error}", err=True)
        sys.exit(1 if error.errno in _OUTPUT_ERRORS else 2)


def write(text: str, out: Path | None) -> None:
    """Write text to a file, or print it if `out` is None."""
    from dualgap.problems.texts import printable  # noqa: PLC0415 - already imported by the caller

    if out is None:
        click.echo(printable(text, keep="\n\t"), nl=False)
        return
    with writing(out):
        out.write_text(text, encoding="utf-8")
    say(out)


def print_json(content: Mapping[str, Any]) -> None:
    """Print a command's result as JSON, with null for numbers that are not finite.

    Unprintable characters are written as JSON escapes.
    """
    from pydantic_core import to_json  # noqa: PLC0415

    lines = to_json(content, indent=1, inf_nan_mode="null").decode().split("\n")
    for line in lines:
        click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line))


def console() -> Console:
    """Return the terminal, or for other output a plain one of `COLUMNS` or else 100 columns."""
    from rich.console import Console  # noqa: PLC0415
    from rich.segment import Segment  # noqa: PLC0415

    from dualgap.problems.texts import printable  # noqa: PLC0415

    class Terminal(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text, keep="\n"), style, control)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "") from None  # rich would exit silently

    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Terminal(width=None if has_width else WIDTH, highlight=False)
