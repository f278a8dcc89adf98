"""The progress of a run on standard error: a bar in a terminal, occasional lines elsewhere."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

_BAR = 16  # columns
_EVERY = 5.0  # seconds between two lines


class Advance:
    """Counts outcomes: moves a bar, or prints a line at most every few seconds.

    Parameters
    ----------
    total : outcomes that are to come. bar : None where there is no terminal.
    """

    def __init__(self, total: int, bar: Progress | None) -> None:
        self.total, self.bar = total, bar
        self.task = TaskID(0) if bar is None else bar.add_task("", total=total)
        self.done, self.printed, self.phase = 0, -_EVERY, ""

    def __call__(self, line: str, more: int = 0) -> None:
        """Count an outcome, of which a line is shown, and `more` that are to come than was said."""
        self.done, self.total = self.done + 1, self.total + more
        now = time.monotonic()
        due = self.done == self.total or now - self.printed >= _EVERY
        self.printed = now if due else self.printed
        self._show(line, due)

    def begin(self, phase: str) -> None:
        """Show what a running case does now, such as "compiling smo"; once for each phase."""
        if phase != self.phase:
            self._show(phase, due=True)
        self.phase = phase

    def _show(self, text: str, due: bool) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=self.done, total=self.total, description=text)
        elif due:
            click.echo(f"{self.done}/{self.total} {text}", err=True)


@contextmanager
def progress(total: int, quiet: bool = False) -> Generator[Advance]:
    """Yield a function to call with a line for each of `total` outcomes; a `quiet` one shows nothing."""
    if quiet:
        yield Advance(total, Progress(disable=True))
        return
    if not sys.stderr.isatty():
        yield Advance(total, None)
        return
    # the description alone has a ratio, and so takes what the others leave: it is shortened first
    columns = (
        BarColumn(_BAR),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as bar:
        yield Advance(total, bar)
