"""How far a run is, on standard error: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.records import Outcome

_EVERY = 5.0  # seconds between two lines


@contextmanager
def progress(total: int) -> Generator[Callable[[Outcome], None]]:
    """Yield a function to call with each outcome of `total` runs."""
    if not sys.stderr.isatty():
        yield _Lines(total)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda outcome: bar.update(task, advance=1, description=_line(outcome))


class _Lines:
    """Prints a line at most every few seconds, and one for the last run."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.printed = total, 0, -_EVERY

    def __call__(self, outcome: Outcome) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.printed >= _EVERY or self.done == self.total:
            click.echo(f"{self.done}/{self.total} {_line(outcome)}", err=True)
            self.printed = now


def _line(outcome: Outcome) -> str:
    record = outcome.record
    ended = record["verdict"] if record["status"] == "finished" else record["status"]
    return f"{record['solver']} on {record['problem_id']}: {ended}"
