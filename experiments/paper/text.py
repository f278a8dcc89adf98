"""A finished table of a paper, and its text as LaTeX (booktabs), Markdown, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from dataclasses import dataclass

import pandas as pd

from problems.notebook import CELL, TABLE

FORMATS = ("latex", "markdown", "csv")
_MOST_PLAIN = 1e6  # numbers from here on have an exponent, as those below _LEAST_PLAIN
_LEAST_PLAIN = 1e-4
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "≈": r"$\approx$",
    "–": "--",
    "×": r"$\times$",
} | {character: f"\\{character}" for character in "&%$#_{}"}
_EXPONENT = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)(?![\w.])")


@dataclass(frozen=True)
class Cell:
    """A number (NaN if there is none), its text, and whether it is a winner."""

    value: float
    text: str
    bold: bool = False


@dataclass(frozen=True)
class PaperTable:
    """A table with a caption; a notebook shows it.

    Attributes
    ----------
    name : of the results. corner : what a row is.
    rows : their names. groups : the names of the columns. heads : what each group shows.
    cells : for each row those of all groups, len(groups)·len(heads) of them.
    """

    name: str
    corner: str
    rows: tuple[str, ...]
    groups: tuple[str, ...]
    heads: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    caption: str

    def to(self, kind: str) -> str:
        """Return the text of the table in one of `FORMATS`."""
        return {"latex": self.to_latex, "markdown": self.to_markdown, "csv": self.to_csv}[kind]()

    def to_latex(self) -> str:
        """Return a LaTeX table; it needs the package booktabs, and nothing else."""
        rule = [r"    \midrule"]
        rows = [
            "    " + " & ".join([latex(name), *map(_latex_cell, cells)]) + r" \\"
            for name, cells in zip(self.rows, self.cells, strict=True)
        ]
        label = re.sub(r"[^A-Za-z0-9-]+", "-", self.name).strip("-")
        width = len(self.groups) * len(self.heads)
        return "\n".join(
            [
                r"% needs \usepackage{booktabs}",
                r"\begin{table}",
                r"  \centering",
                f"  \\caption{{{latex(self.caption)}}}",
                f"  \\label{{tab:{label}}}",
                f"  \\begin{{tabular}}{{l{'r' * width}}}",
                r"    \toprule",
                *self._latex_heads(),
                *(rule + rows if rows else rows),
                r"    \bottomrule",
                r"  \end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def _latex_heads(self) -> list[str]:
        groups, per = [latex(group) for group in self.groups], len(self.heads)
        if per == 1:
            return ["    " + " & ".join([self.corner, *groups]) + r" \\"]
        above = [f"\\multicolumn{{{per}}}{{c}}{{{group}}}" for group in groups]
        starts = range(2, 2 + per * len(groups), per)
        rules = [f"\\cmidrule(lr){{{start}-{start + per - 1}}}" for start in starts]
        below = [latex(head) for head in self.heads] * len(groups)
        return [
            "    " + " & ".join(["", *above]) + r" \\",
            "    " + " ".join(rules),
            "    " + " & ".join([self.corner, *below]) + r" \\",
        ]

    def to_markdown(self) -> str:
        """Return a Markdown table, the caption above it."""
        lines = [
            [_escaped_bar(name), *(_markdown_cell(cell) for cell in cells)]
            for name, cells in zip(self.rows, self.cells, strict=True)
        ]
        heads = [_escaped_bar(head) for head in self._heads()]
        table = pd.DataFrame(lines, columns=heads).to_markdown(
            index=False,
            disable_numparse=True,
            colalign=["left", *["right"] * (len(heads) - 1)] if lines else None,
        )
        return f"{self.caption}\n\n{table}\n"

    def to_csv(self) -> str:
        """Return the numbers with all their digits; what is none is left empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._heads())
        for name, cells in zip(self.rows, self.cells, strict=True):
            writer.writerow([name, *("" if math.isnan(c.value) else c.value for c in cells)])
        return text.getvalue()

    def _repr_html_(self) -> str:
        heads = "".join(
            f'<th style="{CELL};text-align:{"right" if place else "left"}">{html.escape(head)}</th>'
            for place, head in enumerate(self._heads())
        )
        lines = [
            f'<tr><th style="{CELL};text-align:left;font-weight:normal">{html.escape(name)}</th>'
            f"{''.join(map(_html_cell, cells))}</tr>"
            for name, cells in zip(self.rows, self.cells, strict=True)
        ]
        caption = f'<caption style="text-align:left">{html.escape(self.caption)}</caption>'
        return f'<table style="{TABLE}">{caption}<tr>{heads}</tr>{"".join(lines)}</table>'

    def _heads(self) -> list[str]:
        if len(self.heads) == 1:
            return [self.corner, *self.groups]
        return [self.corner, *(f"{group} {head}" for group in self.groups for head in self.heads)]


def latex(text: str) -> str:
    """Return text that LaTeX prints as it is; numbers such as 4e-07 as 4·10⁻⁷.

    Characters that pdflatex does not know are told by their code points.
    """
    parts = _EXPONENT.split(text)  # text, mantissa, exponent, text, ...
    plain = ["".join(map(_latex_character, part)) for part in parts[0::3]]
    powers = [
        f"${mantissa} \\cdot 10^{{{int(exponent)}}}$"
        for mantissa, exponent in zip(parts[1::3], parts[2::3], strict=True)
    ]
    return "".join(a + b for a, b in zip(plain, [*powers, ""], strict=True))


def _latex_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isspace() or not character.isprintable():
        return " "
    return character if character <= "ÿ" else f"[U+{ord(character):04X}]"


def _latex_cell(cell: Cell) -> str:
    text = latex(cell.text)
    if not cell.bold:
        return text
    return f"\\boldmath\\textbf{{{text}}}" if "$" in text else f"\\textbf{{{text}}}"


def _markdown_cell(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.bold else _escaped_bar(cell.text)


def _html_cell(cell: Cell) -> str:
    weight = "bold" if cell.bold else "normal"
    return f'<td style="{CELL};text-align:right;font-weight:{weight}">{html.escape(cell.text)}</td>'


def _escaped_bar(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits, 0.0120; with none as a whole number."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if digits == 0:
        return f"{value:.0f}" if abs(value) < _MOST_PLAIN else f"{value:.2e}"
    scientific = f"{value:.{digits - 1}e}"
    if not _LEAST_PLAIN <= abs(value) < _MOST_PLAIN:
        return scientific
    decimals = digits - 1 - int(scientific.partition("e")[2])
    return f"{value:.{max(decimals, 0)}f}"
