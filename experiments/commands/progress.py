"""The progress of a run on standard error: a bar in a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

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

from experiments.cases.records import Outcome

_BAR = 16  # columns
_EVERY = 5.0  # seconds between two lines

T = TypeVar("T")
Shown_contra = TypeVar("Shown_contra", contravariant=True)


class Advance(Protocol[Shown_contra]):
    """Counts an outcome, and `more` that are to come than was said at first."""

    def __call__(self, outcome: Shown_contra, more: int = 0) -> None:
        """Count it."""
        ...

    def begin(self, phase: str) -> None:
        """Show what a running case does now, such as "compiling smo"; once for each phase."""
        ...


def line_of(outcome: Outcome) -> str:
    """Return the outcome of a run in a line, which a narrow terminal shortens at its end."""
    record = outcome.record
    ended = record["verdict"] if record["status"] == "finished" else record["status"]
    return f"{ended}: {record['label'] or record['solver']} on {record['problem_id']}"


@contextmanager
def progress(total: int, line: Callable[[T], str] = line_of) -> Generator[Advance[T]]:
    """Yield a function to call with each outcome of `total`, of which `line` is shown."""
    if not sys.stderr.isatty():
        yield _Lines(total, line)
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
        yield _Bar(bar, bar.add_task("", total=total), line)


class _Bar(Generic[T]):
    """Moves a bar, and describes the last outcome, or the phase that has begun since."""

    def __init__(self, bar: Progress, task: TaskID, line: Callable[[T], str]) -> None:
        self.bar, self.task, self.line = bar, task, line

    def __call__(self, outcome: T, more: int = 0) -> None:
        whole = (self.bar.tasks[self.task].total or 0) + more
        self.bar.update(self.task, advance=1, total=whole, description=self.line(outcome))

    def begin(self, phase: str) -> None:
        self.bar.update(self.task, description=phase)


class _Lines(Generic[T]):
    """Prints a line at most every few seconds, one for the last outcome, and one for a new phase."""

    def __init__(self, total: int, line: Callable[[T], str]) -> None:
        self.total, self.line = total, line
        self.done, self.printed, self.phase = 0, -_EVERY, ""

    def __call__(self, outcome: T, more: int = 0) -> None:
        self.done, self.total = self.done + 1, self.total + more
        now = time.monotonic()
        if now - self.printed >= _EVERY or self.done == self.total:
            click.echo(f"{self.done}/{self.total} {self.line(outcome)}", err=True)
            self.printed = now

    def begin(self, phase: str) -> None:
        if phase != self.phase:
            click.echo(f"{self.done}/{self.total} {phase}", err=True)
        self.phase = phase
