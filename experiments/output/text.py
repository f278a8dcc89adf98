"""Formats that all tables, figures and messages share: times, file names, machines, Markdown tables."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement, measure_renderables
from rich.table import Table
from rich.text import Text

from experiments.analysis.hosts import hosts_note
from experiments.workers.machine import bytes_text
from solvers import SOLVERS

SINGLE = "¹"  # marks baselines that use one thread, however many they may use
_PRECISION = "Precision of the samples, of baselines that have a choice"
_PACKAGES = (
    *("python", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "snapml"),
    *("libsvm-official", "liblinear-multicore"),
)
_QP_PACKAGES = ("cvxopt", "clarabel", "highspy", "osqp", "piqp", "proxsuite", "quadprog", "scs")
_WIDEST = 10_000  # columns of a terminal
_LONGEST_WORD = 24  # characters on one line of a table that has little room
# where a name may go on in the next line: not in a number
_JOINTS = re.compile(r"(?<=[_ :/])|(?<=[^\W\d_]-)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
_LONGEST_NAME = 120  # characters of a file name, of which file systems take 255 with an ending


def duration(seconds: float) -> str:
    """Return a time in two digits with its unit, nothing for NaN."""
    if not np.isfinite(seconds):
        return ""
    for unit, size in (("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= (600.0 if unit == "min" else 0.995 * size):
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return "<1 µs"


def time_and_setup(time: float, setup: float, shown: Callable[[float], str] = duration) -> str:
    """Return a time of solving and, after a plus, that of setting up, where it is known."""
    return f"{shown(time)} + {shown(setup)}" if np.isfinite(setup) else shown(time)


def precise_duration(seconds: float) -> str:
    """Return a time in three digits, in seconds or milliseconds, nothing for NaN."""
    if np.isnan(seconds):
        return ""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def precision_text(records: Mapping[str, pd.DataFrame]) -> str:
    """Return which precisions of the samples were measured, in a sentence; empty if there is no choice.

    Parameters
    ----------
    records : runs by the name of the benchmark, which stands in the sentence where there are several.
    """
    places = defaultdict[str, list[str]](list)
    for name, results in records.items():
        for solver, runs in results.groupby("solver"):
            if hasattr(SOLVERS.get(str(solver)), "dtype"):
                given = {json.loads(text).get("dtype", "float64") for text in runs["params"]}
                known = " and ".join(sorted(given, reverse=True)) + " only" * (len(given) == 1)
                places[f"{solver} {known}"].append(name)
    several = len(records) > 1
    texts = [t + f" ({', '.join(names)})" * several for t, names in sorted(places.items())]
    return f"{_PRECISION}: {', '.join(texts)}." if texts else ""


def file_name(*parts: str) -> str:
    """Return a safe and readable file name, without its ending."""
    words = re.sub(r"[)]", "", "-".join(parts))
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", words).strip(".-")[:_LONGEST_NAME]


def markdown_table(table: pd.DataFrame, numbers: bool = False) -> str:
    """Return a Markdown table of a data frame whose cells are text already.

    Parameters
    ----------
    numbers : whether all columns but the first are aligned at the right.
    """
    sides = ["left", *["right"] * (table.shape[1] - 1)] if numbers and len(table) else None
    return table.to_markdown(index=False, disable_numparse=True, colalign=sides)


class FittingTable:
    """A table for the terminal: the widest of its forms that fits, else several that do.

    Numbers are never broken. Text is first of all, between words; then columns are left out; then
    long words and the heads of numbers are written on several lines, as two numbers of a cell; then the
    columns are in several tables, each of which has the words.

    Parameters
    ----------
    left : the heads of the columns that are aligned at the left.
    words : the heads of the columns that may be broken.
    optional : the heads of the columns that are left out where there is no room, in this order.
    """

    def __init__(
        self,
        heads: Iterable[str],
        rows: Iterable[Sequence[str | Text]],
        left: Collection[str],
        title: str = "",
        caption: str = "",
        words: Collection[str] = ("problem", "solver"),
        optional: Sequence[str] = (),
    ) -> None:
        self.heads = list(heads)
        self.rows = [[c if isinstance(c, Text) else Text(c) for c in row] for row in rows]
        self.left, self.words, self.optional = left, words, optional
        self.title = Text(title, style="bold") if title else None
        self.caption = Text(caption, style="dim") if caption else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        kept = [
            [head for head in self.heads if head not in self.optional[:fewer]]
            for fewer in range(len(self.optional) + 1)
        ]
        forms = (self._table(h, b) for h, b in [*((h, False) for h in kept), (kept[-1], True)])
        fitting = next((form for form in forms if _spare(form, console, options) >= 0), None)
        for form in [fitting] if fitting else self._pieces(kept[-1], console, options):
            _widen(form, console, options)
            yield form

    def _pieces(
        self, heads: Sequence[str], console: Console, options: ConsoleOptions
    ) -> Iterator[Table]:
        """Yield tables of the words with as many of the other columns as there is room for."""
        chosen = words = [head for head in heads if head in self.words]
        for head in heads:
            wider = [each for each in heads if each in chosen or each == head]
            if chosen != words and _spare(self._table(wider, broken=True), console, options) < 0:
                yield self._table(chosen, broken=True)
                wider = [each for each in heads if each in words or each == head]
            chosen = wider
        yield self._table(chosen, broken=True)

    def _table(self, kept: Sequence[str], broken: bool = False) -> Table:
        """Return the form with these columns, and with lines broken wherever they may be."""
        table = Table(
            title=self.title,
            title_justify="left",
            caption=self.caption,
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        columns = [[row[self.heads.index(head)] for row in self.rows] for head in kept]
        for head, column in zip(kept, columns, strict=True):
            whole = head not in self.words
            if broken:
                column[:] = map(_broken if whole else _with_short_words, column)
            shown = _head(head, max(map(_width, column), default=0)) if broken and whole else head
            table.add_column(
                shown,
                justify="left" if head in self.left else "right",
                overflow="ellipsis" if whole else "fold",
                no_wrap=whole,
                min_width=max(map(_width, [Text(shown), *column])) if whole else None,
            )
        for row in zip(*columns, strict=True):
            table.add_row(*row)
        return table


def _spare(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Return how much wider the terminal is than the table at its narrowest."""
    anywhere = options.update_width(_WIDEST)  # the width that is given bounds what is measured
    return options.max_width - Measurement.get(console, anywhere, table).minimum


def _widen(table: Table, console: Console, options: ConsoleOptions) -> None:
    """Give the columns of words what is left of the width, the last ones first.

    Left to itself, rich makes the widest of them as narrow as the others, and breaks its words.
    """
    spare = _spare(table, console, options)
    anywhere = options.update_width(_WIDEST)
    for column in reversed([c for c in table.columns if not c.no_wrap] if spare >= 0 else []):
        least, most = measure_renderables(console, anywhere, [column.header, *column.cells])
        column.width = min(most, least + spare)
        spare -= column.width - least


def _broken(cell: Text) -> Text:
    """Return a cell with its second number, or its interval, on a line of its own."""
    return Text(cell.plain.replace(" → ", " →\n").replace("× [", "×\n["), style=cell.style)


def _with_short_words(cell: Text) -> Text:
    """Return a cell of words with the long ones on several lines."""
    words = cell.plain.split(" ")
    return Text(" ".join(_folded(word, _LONGEST_WORD) for word in words), style=cell.style)


def _head(head: str, width: int) -> str:
    """Return a head in as few lines as its own words and cells of this width allow."""
    longest = max(len(word.strip()) for word in _JOINTS.split(head))
    return _folded(head, max(width, min(longest, _LONGEST_WORD)))


def _folded(name: str, width: int) -> str:
    """Return a name in lines of at most this width, which end at its joints where that is possible."""
    lines = [""]
    for word in _JOINTS.split(name):
        for start in range(0, len(word), width):
            part = word[start : start + width]
            if len(lines[-1]) + len(part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _width(cell: Text) -> int:
    return max((line.cell_len for line in cell.split()), default=0)


def machine_text(manifests: Sequence[Mapping[str, Any]], results: pd.DataFrame) -> list[str]:
    """Return the machine, threads, and versions of the runs, a sentence each.

    Parameters
    ----------
    manifests, results : of the folders, and their runs.
    """
    lines = list(dict.fromkeys(_measured(manifest) for manifest in manifests))
    lines += [hosts] if (hosts := hosts_note(results["host"])) else []
    threads = sorted(int(count) for count in results["threads"].dropna().unique())
    lines.append(f"Threads of every solver: {', '.join(map(str, threads)) or 'not recorded'}.")
    versions = {k: v for manifest in manifests for k, v in manifest["versions"].items()}
    qp = bool((results["solver"] == "qpsolvers_qp").any())
    shown = [k for k in (*_PACKAGES, *(_QP_PACKAGES if qp else ())) if k in versions]
    lines.append(f"Versions: {', '.join(f'{k} {versions[k]}' for k in shown)}.")
    return lines


def _measured(manifest: Mapping[str, Any]) -> str:
    machine, date = manifest.get("machine"), str(manifest.get("date", ""))[:10]
    if machine is None:
        return f"Measured on {manifest['host']}, {manifest['platform']}."
    processor = f"{machine['processor']}, {machine['cores']} cores, {bytes_text(machine['memory'])}"
    return f"Measured on {date}: {processor}, {manifest['platform']}."
