"""A finished table of a paper, and its text as LaTeX (booktabs), Markdown, CSV and HTML."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from experiments.output.text import markdown_table

FORMATS = ("latex", "markdown", "csv")
_MOST_PLAIN = 1e6  # numbers from here on have an exponent, as those below _LEAST_PLAIN
_LEAST_PLAIN = 1e-4
_LATEX_BOLD = "boldmath: --nowrap; textbf: --rwrap;"
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
        label = re.sub(r"[^A-Za-z0-9-]+", "-", self.name).strip("-")
        styled = (
            self._styled(latex, _LATEX_BOLD).format_index(latex, axis=0).format_index(latex, axis=1)
        )
        text = styled.to_latex(
            caption=latex(self.caption),
            label=f"tab:{label}",
            position_float="centering",
            column_format="l" + "r" * len(styled.columns),
            multicol_align="c",
            hrules=True,
        )
        if len(self.heads) > 1:  # a rule below each group, which pandas does not draw
            per = len(self.heads)
            starts = range(2, 2 + len(styled.columns), per)
            rules = " ".join(f"\\cmidrule(lr){{{start}-{start + per - 1}}}" for start in starts)
            text = text.replace("\\\\\n", f"\\\\\n{rules}\n", 1)
        return f"% needs \\usepackage{{booktabs}}\n{text}"

    def to_markdown(self) -> str:
        """Return a Markdown table, the caption above it."""
        texts = [
            [f"**{c.text}**" if c.bold else _escaped_bar(c.text) for c in r] for r in self.cells
        ]
        table = self._flat(texts).rename(columns=_escaped_bar).rename(index=_escaped_bar)
        return f"{self.caption}\n\n{markdown_table(table.reset_index(), numbers=True)}\n"

    def to_csv(self) -> str:
        """Return the numbers with all their digits; what is none is left empty."""
        return self._flat([[cell.value for cell in cells] for cells in self.cells]).to_csv()

    def _repr_html_(self) -> str:
        styled = self._styled(str, "font-weight: bold").format(escape="html")
        styled = styled.format_index(escape="html", axis=0).format_index(escape="html", axis=1)
        return styled.set_caption(html.escape(self.caption)).to_html()

    def _styled(self, shown: Callable[[object], str], bold: str) -> Styler:
        """Return the texts of the cells as a table, those of the winners with the style `bold`."""
        heads = pd.MultiIndex.from_product([self.groups, self.heads], names=["", self.corner])
        columns = heads if len(self.heads) > 1 else heads.droplevel(1).rename(self.corner)
        texts = [[cell.text for cell in cells] for cells in self.cells]
        styles = [[bold if cell.bold else "" for cell in cells] for cells in self.cells]
        table = pd.DataFrame(texts, self.rows, columns, dtype=object)
        return table.style.format(shown).apply(lambda _: np.array(styles), axis=None)

    def _flat(self, cells: Sequence[Sequence[Any]]) -> pd.DataFrame:
        """Return a table with one row of heads."""
        pairs = product(self.groups, self.heads)
        heads = [f"{group} {head}" if len(self.heads) > 1 else group for group, head in pairs]
        return pd.DataFrame(cells, pd.Index(self.rows, name=self.corner), heads)


def latex(text: object) -> str:
    """Return text that LaTeX prints as it is; numbers such as 4e-07 as 4·10⁻⁷.

    Characters that pdflatex does not know are shown by their code points.
    """
    parts = _EXPONENT.split(str(text))  # text, mantissa, exponent, text, ...
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
