"""Small HTML tables for the `_repr_html_` of results in notebooks.

Colours are inherited from the page, so that tables are legible in dark and light themes.
"""

import math
from collections.abc import Iterable

from dualgap.problems.texts import html


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table with a title and two columns; rows with empty text are omitted."""
    cell = "padding:.15em .8em .15em 0;text-align:left"
    lines = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{cell};font-weight:normal;'
        f'opacity:.75">{html(name)}</th><td style="{cell}">{html(text)}</td></tr>'
        for name, text in rows
        if text
    )
    caption = f'<caption style="text-align:left;font-weight:bold">{html(title)}</caption>'
    style = "border-collapse:collapse;color:inherit;background:transparent"
    return f'<table style="{style}">{caption}<tbody>{lines}</tbody></table>'


def format_number(value: float, form: str = ".2g") -> str:
    """Format a number; NaN gives an empty string."""
    return "" if math.isnan(value) else f"{value:{form}}"
