"""Shared by all operations: refusing bad input, printing."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dualgap.experiments.records import Refusal

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

WIDTH = 100  # columns, if the output is not a terminal
INTERRUPTED = "interrupted"
OUTPUT_ERRORS = {  # errors after which nothing more can be printed
    errno.EPIPE: "its reader has closed it",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk is full",
    errno.EFBIG: "the file has become too large",
    errno.EIO: "the device has failed",
    errno.EBADF: "it is closed",
}


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
        sys.exit(1 if error.errno in OUTPUT_ERRORS else 2)


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
