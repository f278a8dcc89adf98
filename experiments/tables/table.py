"""Tables of cells, and their output: terminal, Markdown, LaTeX (booktabs), CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from math import isfinite, isnan, nan
from textwrap import fill
from typing import Any, Literal

import pandas as pd
from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement, measure_renderables
from rich.table import Table as RichTable
from rich.text import Text
from tabulate import tabulate

from dualgap.problems.texts import latex, markdown, printable

_MAX_TERMINAL_WIDTH = 10_000  # characters; wider than any table


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : the printed text. value : its number, NaN if there is none.
    bold : whether it is a winner. style : its colour in a terminal.
    """

    text: str
    value: float = nan
    bold: bool = False
    style: str = ""

    @property
    def key(self) -> str:
        """The value by which a page sorts it; empty without a number."""
        return f"{self.value:.6g}" if isfinite(self.value) else ""


@dataclass(frozen=True)
class Column:
    """A column, and the format of its values.

    Attributes
    ----------
    head : its heading. format_value : formats a value. missing : the text for NaN.
    align : alignment in a terminal; "words" are left-aligned, and the only text that may be wrapped.
    drop_priority : if not 0, a narrow terminal drops the column, lower numbers first.
    group : common heading of the column and its neighbours.
    """

    head: str
    format_value: Callable[[Any], str] = str
    missing: str = ""
    align: Literal["right", "left", "words"] = "right"
    drop_priority: int = 0
    group: str = ""

    @property
    def name(self) -> str:
        """The column's name on a single line."""
        return f"{self.group} {self.head}".lstrip()

    def cell(self, value: Any) -> Cell:
        """Return the cell of a value."""
        if isinstance(value, Cell):
            return value
        if isinstance(value, float) and isnan(value):
            return Cell(self.missing)
        return Cell(
            self.format_value(value), float(value) if isinstance(value, int | float) else nan
        )


@dataclass(frozen=True)
class Table:
    """Rows of cells under their columns; a terminal prints it.

    Attributes
    ----------
    title : its title, or caption in a paper. notes : lines below it in a terminal.
    keys : names of its columns, by which a page finds them.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    notes: Sequence[str] = ()
    keys: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        rows: Iterable[Mapping[Any, Any]] | pd.DataFrame,
        columns: Mapping[Any, Column] | None = None,
        title: str = "",
        notes: Sequence[str] = (),
    ) -> Table:
        """Return a table of the named values of each row; without columns, of all values of a frame."""
        records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else [*rows]
        if columns is None:
            columns = {name: Column(str(name)) for name in (records[0] if records else ())}
        cells = [[column.cell(row[name]) for name, column in columns.items()] for row in records]
        return cls(tuple(columns.values()), cells, title, notes, tuple(map(str, columns)))

    @property
    def named_rows(self) -> list[dict[str, Cell]]:
        """The cells of each row by the keys of their columns."""
        return [dict(zip(self.keys, row, strict=True)) for row in self.rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable]:
        """Yield the table with as many of its columns as fit."""
        anywhere = options.update_width(_MAX_TERMINAL_WIDTH)  # measure without a width limit
        table, spare = self._for_terminal(0), -1
        for dropped in (0, *sorted({column.drop_priority for column in self.columns} - {0})):
            table = self._for_terminal(dropped)
            spare = options.max_width - Measurement.get(console, anywhere, table).minimum
            if spare >= 0:
                break
        if spare >= 0:  # by default, rich makes the widest column as narrow as the others
            words = [column for column in table.columns if not column.no_wrap]
            sizes = [measure_renderables(console, anywhere, [c.header, *c.cells]) for c in words]
            # columns that need little more than their longest word come first, the others share the rest
            by_need = sorted(zip(sizes, words, strict=True), key=lambda pair: pair[0].span)
            for remaining, ((narrow, wide), column) in zip(
                range(len(by_need), 0, -1), by_need, strict=True
            ):
                column.width = min(wide, narrow + spare // remaining)
                spare -= column.width - narrow
        yield table

    def _for_terminal(self, dropped: int) -> RichTable:
        """Return the table without its optional columns up to `dropped`."""
        table = RichTable(
            title=Text(printable(self.title), style="bold") if self.title else None,
            title_justify="left",
            caption=Text("\n".join(map(printable, self.notes)), style="dim")
            if self.notes
            else None,
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        indices = [i for i, c in enumerate(self.columns) if not 0 < c.drop_priority <= dropped]
        for column, cells in ((self.columns[i], [row[i] for row in self.rows]) for i in indices):
            unbroken = column.align != "words"
            texts = [Text(printable(t)) for t in (column.name, *(cell.text for cell in cells))]
            table.add_column(
                texts[0],
                justify="right" if column.align == "right" else "left",
                overflow="ellipsis" if unbroken else "fold",
                no_wrap=unbroken,
                min_width=max(text.cell_len for text in texts) if unbroken else None,
            )
        for row in self.rows:
            table.add_row(*(Text(printable(row[i].text), style=row[i].style) for i in indices))
        return table

    def to(self, kind: str, name: str) -> str:
        """Return a paper's table as "latex", "markdown" or "csv", with its title."""
        if kind == "markdown":
            return f"{markdown(self.title)}\n\n{self.markdown(aligned=True)}\n"
        return self.latex(name) if kind == "latex" else self.csv()

    def markdown(self, aligned: bool = False, marked_up: Collection[str] = ()) -> str:
        """Return a Markdown table, empty without rows.

        Parameters
        ----------
        aligned : whether numbers are right-aligned.
        marked_up : columns whose heads and cells are already Markdown.
        """
        names = [column.name for column in self.columns]
        texts = [
            [
                cell.text if name in marked_up else f"**{escaped}**" if cell.bold else escaped
                for name, cell in zip(names, row, strict=True)
                for escaped in [markdown(cell.text)]
            ]
            for row in self.rows
        ]
        sides = ["left", *["right"] * (len(names) - 1)] if aligned else None
        heads = [name if name in marked_up else markdown(name) for name in names]
        return (
            tabulate(texts, heads, "pipe", disable_numparse=True, colalign=sides) if texts else ""
        )

    def csv(self) -> str:
        """Return the numbers with all digits below the column names; other cells are empty."""
        first, *data = self.columns
        values = [[cell.value for cell in row[1:]] for row in self.rows]
        names = pd.Index([printable(row[0].text) for row in self.rows], name=first.name)
        return pd.DataFrame(values, names, [printable(column.name) for column in data]).to_csv()

    def latex(self, name: str) -> str:
        """Return a LaTeX table with label `tab:name`; it needs only the package booktabs."""
        label = re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")
        at_blanks: Any = {"break_long_words": False, "break_on_hyphens": False}
        caption = fill(rf"\caption{{{latex(self.title)}}}", 100, **at_blanks)
        groups = [(group, [*part]) for group, part in groupby(c.group for c in self.columns[1:])]
        ends = accumulate((len(part) for _, part in groups), initial=1)
        spans = [rf"\multicolumn{{{len(part)}}}{{c}}{{{latex(group)}}}" for group, part in groups]
        rules = " ".join(rf"\cmidrule(lr){{{low + 1}-{high}}}" for low, high in pairwise(ends))
        lines = [
            r"% needs \usepackage{booktabs}",
            *(r"\begin{table}", r"\centering", caption),
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{l{'r' * len(self.columns[1:])}}}",
            r"\toprule",
            *([_latex_line(["", *spans]), rules] if self.columns[-1].group else []),
            _latex_line(latex(column.head) for column in self.columns),
            r"\midrule",
            *(
                _latex_line(
                    rf"\boldmath \textbf{{{latex(cell.text)}}}" if cell.bold else latex(cell.text)
                    for cell in row
                )
                for row in self.rows
            ),
            *(r"\bottomrule", r"\end{tabular}", r"\end{table}"),
        ]
        return "\n".join(lines) + "\n"


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
