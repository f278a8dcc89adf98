"""What all commands share: refusing bad input, printing."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dualgap.experiments.records import Refusal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

WIDTH = 100  # columns, where the output is not a terminal
INTERRUPTED = "interrupted"
_OUTPUT = {  # what ends printing, whatever is printed
    errno.EPIPE: "its reader has ended",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
    errno.EFBIG: "the file has become too large",
    errno.EIO: "the device has failed",
    errno.EBADF: "it is closed",
}
_DEFAULT_SIGINT = signal.default_int_handler


def _interrupt(number: int) -> None:
    """End the command in order at the first interrupt, and at once at the third."""
    if number == 1:
        raise KeyboardInterrupt
    if number > 2:
        os._exit(130)
    os.write(2, b"The command is ending; interrupt it again to end it at once.\n")


class Commands(click.Group):
    """Commands that say in a sentence, and by their exit code, what is refused, failed or ended."""

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
            told, code = str(error).split("\n") if error.has_lines else [str(error)], 2
        except KeyboardInterrupt:
            told, code = [INTERRUPTED], 130
        except OSError as error:
            with suppress(OSError, ValueError):  # what is left to print would fail again at the end
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            told, code, why = [str(error)], 1, _OUTPUT.get(error.errno or 0)
            if error.filename is not None:
                told = [f"{error.filename}: {error.strerror}"]
            elif why is not None:
                told = [f"the output cannot be written: {why}"]
        with suppress(OSError):
            say(*told, err=True)
        sys.exit(code)


def prepare() -> None:
    """Make printing safe, wherever it goes; Refusal where the current folder is gone."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal has a ×
    try:
        os.getcwd()
    except OSError:
        raise Refusal("the current folder has been removed; change to another one") from None


def defaults_file() -> Path:
    """Return where a user's defaults are, if there are any; see `commands.defaults`."""
    from platformdirs import user_config_path  # noqa: PLC0415

    return user_config_path() / "dualgap.yaml"


@contextmanager
def refusing(*errors: type[Exception]) -> Generator[None]:
    """Refuse the input with the message of such an error."""
    try:
        yield
    except errors as error:
        raise Refusal(str(error)) from None


def say(*lines: object, err: bool = False) -> None:
    """Print each as one line, to standard error if asked for; nothing in it steers a terminal."""
    for line in lines:
        text = str(line)
        if not text.isprintable():
            from dualgap.problems.texts import printable  # noqa: PLC0415 - takes a second, and is rare

            text = printable(text)
        click.echo(text, err=err)


@contextmanager
def writing(target: Path) -> Generator[None]:
    """Say that a file or folder cannot be written; exit with 1 if the disk is full, else with 2."""
    try:
        yield
    except OSError as error:
        say(f"{target}: cannot be written: {error.strerror or error}", err=True)
        sys.exit(1 if error.errno in _OUTPUT else 2)


def write(text: str, out: Path | None) -> None:
    """Write text to a file, or print it where there is none."""
    from dualgap.problems.texts import printable  # noqa: PLC0415 - whoever has made the text has loaded it

    if out is None:
        click.echo(printable(text, keep="\n\t"), nl=False)
        return
    with writing(out):
        out.write_text(text, encoding="utf-8")
    say(out)


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --set, --solver and --problem, as `changes`: pairs of an option and its value."""
    options = {
        "--set": (
            "KEY=VALUE[,VALUE...]",
            "For the file's, as C=1,10 or problems.0.kernel.gamma=0.1.",
        ),
        "--solver": ("NAME", "Only this one, by its name or as tables print it [all]."),
        "--problem": (
            "NAME|REGEX",
            "Only this one, as tables print it, or those that match [all].",
        ),
    }

    @wraps(command)
    def changing(**given: Any) -> Any:
        pairs = [(name, value) for name in options for value in given.pop(name[2:])]
        return command(**given, changes=pairs)

    changed: Callable[..., Any] = changing
    for name, (metavar, told) in reversed(options.items()):
        changed = click.option(name, name[2:], metavar=metavar, multiple=True, help=told)(changed)
    return changed


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options --quiet and --json."""
    quiet = click.option("--quiet", is_flag=True, help="Print nothing but what has gone wrong.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
    return quiet(as_json(command))


def print_json(content: Mapping[str, Any]) -> None:
    """Print what a command found as JSON, which has null for a number that is not finite.

    What would steer a terminal is written as the escapes that JSON has for characters.
    """
    from pydantic_core import to_json  # noqa: PLC0415

    lines = to_json(content, indent=1, inf_nan_mode="null").decode().split("\n")
    for line in lines:
        click.echo("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line))


def console() -> Console:
    """Return the terminal, or where the output goes elsewhere a plain one of `COLUMNS`, else 100."""
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
            raise BrokenPipeError(errno.EPIPE, "") from None  # rich would end without a word

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Terminal(width=None if known else WIDTH, highlight=False)
