"""The progress of a run: a bar in a terminal or a notebook, occasional lines elsewhere."""

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from dualgap.experiments.operations.terminal import say
from dualgap.problems.texts import html, printable

_BAR_COLUMNS = 16
_LINE_INTERVAL_S = 5.0  # a log file of an hour stays below a thousand lines


class Advance:
    """Counts outcomes and shows their number.

    Parameters
    ----------
    total : number of outcomes.
    show : called with the number of outcomes so far, their total number, and a text.
    every : seconds between two calls, except for the last outcome and for phases.
    """

    def __init__(
        self, total: int, show: Callable[[int, int, str], object], every: float = 0.0
    ) -> None:
        self.total, self.show, self.every = total, show, every
        self.count, self.shown_at, self.phase = 0, -every, ""

    def __call__(self, line: str, more: int = 0) -> None:
        """Count an outcome, described by a line, and add `more` outcomes to the total."""
        self.count, self.total = self.count + 1, self.total + more
        now = time.monotonic()
        if self.count == self.total or now - self.shown_at >= self.every:
            self.shown_at = now
            self.show(self.count, self.total, line)

    def begin_phase(self, phase: str) -> None:
        """Show the phase of a running case, such as "compiling smo", once."""
        if phase != self.phase:
            self.show(self.count, self.total, phase)
        self.phase = phase


@contextmanager
def progress(total: int, quiet: bool = False) -> Generator[Advance]:
    """Yield a function to call with one line per outcome; if `quiet`, it shows nothing."""
    if Console().is_jupyter and not quiet:
        yield Advance(total, _in_notebook(total))
    elif quiet or sys.stderr.isatty():
        # only the description has a ratio: it gets the remaining width, and is shortened first
        columns = (
            BarColumn(_BAR_COLUMNS),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
            ),
        )
        with Progress(*columns, console=Console(stderr=True), expand=True, disable=quiet) as bar:
            task = bar.add_task("", total=total)
            yield Advance(
                total,
                lambda count, of, text: bar.update(
                    task, completed=count, total=of, description=printable(text)
                ),
            )
    else:
        yield Advance(total, _print_line, _LINE_INTERVAL_S)


def _print_line(count: int, of: int, text: str) -> None:
    """Print a line; if standard error is closed, the runs continue without it."""
    with suppress(OSError):
        say(f"{count}/{of} {text}", err=True)


def _in_notebook(total: int) -> Callable[[int, int, str], object]:
    """Show a progress bar in a notebook and return its update function; it needs no ipywidgets."""
    display: Any = import_module("IPython.display")  # only needed, and always there, in notebooks

    def bar(count: int, of: int, text: str) -> Any:
        content = f'<progress value="{count}" max="{of}"></progress> {count}/{of} {html(text)}'
        return display.HTML(f"<div>{content}</div>")

    handle = display.display(bar(0, total, ""), display_id=True)
    return lambda count, of, text: handle.update(bar(count, of, text))
