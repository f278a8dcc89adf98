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

from dualgap.experiments.commands.terminal import say
from dualgap.problems.texts import html, printable

_BAR = 16  # columns
_EVERY = 5.0  # seconds between two lines


class Advance:
    """Counts outcomes, and shows how many there are.

    Parameters
    ----------
    total : outcomes that are to come.
    show : is called with how many are done, how many there will be, and a text.
    every : seconds between two calls, but for the last outcome and for phases.
    """

    def __init__(
        self, total: int, show: Callable[[int, int, str], object], every: float = 0.0
    ) -> None:
        self.total, self.show, self.every = total, show, every
        self.done, self.shown, self.phase = 0, -every, ""

    def __call__(self, line: str, more: int = 0) -> None:
        """Count an outcome, of which a line is shown, and `more` that are to come than was said."""
        self.done, self.total = self.done + 1, self.total + more
        now = time.monotonic()
        if self.done == self.total or now - self.shown >= self.every:
            self.shown = now
            self.show(self.done, self.total, line)

    def begin(self, phase: str) -> None:
        """Show what a running case does now, such as "compiling smo"; once for each phase."""
        if phase != self.phase:
            self.show(self.done, self.total, phase)
        self.phase = phase


@contextmanager
def progress(total: int, quiet: bool = False) -> Generator[Advance]:
    """Yield a function to call with a line for each of `total` outcomes; a `quiet` one shows nothing."""
    if Console().is_jupyter and not quiet:
        yield Advance(total, _in_notebook(total))
    elif quiet or sys.stderr.isatty():
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
        with Progress(*columns, console=Console(stderr=True), expand=True, disable=quiet) as bar:
            task = bar.add_task("", total=total)
            yield Advance(
                total,
                lambda done, of, text: bar.update(
                    task, completed=done, total=of, description=printable(text)
                ),
            )
    else:
        yield Advance(total, _as_a_line, _EVERY)


def _as_a_line(done: int, of: int, text: str) -> None:
    """Print a line, if anybody reads it still: the runs go on without."""
    with suppress(OSError):
        say(f"{done}/{of} {text}", err=True)


def _in_notebook(total: int) -> Callable[[int, int, str], object]:
    """Show a bar in a notebook, and return what moves it; unlike that of rich it needs no ipywidgets."""
    display: Any = import_module(
        "IPython.display"
    )  # is there in a notebook, and nowhere needed else

    def bar(done: int, of: int, text: str) -> Any:
        shown = f'<progress value="{done}" max="{of}"></progress> {done}/{of} {html(text)}'
        return display.HTML(f"<div>{shown}</div>")

    handle = display.display(bar(0, total, ""), display_id=True)
    return lambda done, of, text: handle.update(bar(done, of, text))
