"""Small tables for notebooks: what `_repr_html_` of results is made with.

Colours are the page's own, so that they read on dark and on light ones.
"""

import math
from collections.abc import Iterable

from dualgap.problems.texts import html

TABLE = "border-collapse:collapse;color:inherit;background:transparent"
CELL = "padding:.15em .8em .15em 0"
_NAME = f"{CELL};text-align:left;font-weight:normal;opacity:.75"


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of two columns under a title; rows without a text are left out."""
    lines = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{_NAME}">{html(name)}</th>'
        f'<td style="{CELL};text-align:left">{html(text)}</td></tr>'
        for name, text in rows
        if text
    )
    caption = f'<caption style="text-align:left;font-weight:bold">{html(title)}</caption>'
    return f'<table style="{TABLE}">{caption}<tbody>{lines}</tbody></table>'


def shown(value: float, form: str = ".2g") -> str:
    """Return a number as text, nothing for NaN."""
    return "" if math.isnan(value) else f"{value:{form}}"
