"""What all commands share: reading experiment files, refusing bad input, printing."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.files.experiment import Experiment

WIDTH = 100  # columns, where the output is not a terminal
INTERRUPTED = "interrupted"


def prepare() -> None:
    """Make printing safe, wherever it goes; exit with 2 where the current folder is gone."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal has a ×
    try:
        os.getcwd()
    except OSError:
        refuse("the current folder has been removed; change to another one")


def find(name: str) -> list[Path]:
    """Return the files of an experiment, or of a folder of them; exit with 2 if there is none."""
    from experiments.files.experiment import ConfigError, find_experiments  # noqa: PLC0415

    with refusing(ConfigError):
        return find_experiments(name)


def find_one(name: str) -> Path:
    """Return the file of an experiment; a folder of them is refused with exit 2."""
    files = find(name)
    if len(files) > 1:
        refuse(
            f"{name}: is a folder of experiments; give one of {', '.join(f.stem for f in files)}"
        )
    return files[0]


def read(file: Path) -> Experiment:
    """Return a checked experiment; faults of its file are printed, with exit 2."""
    from experiments.files.experiment import ConfigError, read_experiment  # noqa: PLC0415

    with refusing(ConfigError):
        return read_experiment(file)


def refuse(text: str) -> NoReturn:
    """Print what is wrong with the input and exit with 2."""
    click.echo(text, err=True)
    sys.exit(2)


@contextmanager
def refusing(*errors: type[Exception]) -> Generator[None]:
    """Print the message of such an error, as it is of the input, and exit with 2."""
    try:
        yield
    except errors as error:
        refuse(str(error))


def write(text: str, out: Path | None) -> None:
    """Write text to a file, or print it where there is none; exit with 2 if that is impossible."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        refuse(f"{out}: cannot be written: {error.strerror or error}")
    click.echo(out)


def console() -> Console:
    """Return the terminal, or where the output goes elsewhere a plain one of `COLUMNS`, else 100."""
    from rich.console import Console  # noqa: PLC0415

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if known else WIDTH, highlight=False)
