"""The page itself: the sections of a report put into the template, with the scripts that they need.

Names and reasons come from files that anyone may have written. The template escapes all of them, the
numbers of the charts travel as JSON in which `<` is escaped, and a content security policy lets only
the two scripts run that are in the page, known by their hashes, and nothing be loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bokeh.resources import Resources
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.analysis.profiles import SHIFT
from experiments.report.charts import Chart, Swatch
from experiments.report.summary import MEANINGS, RUN_HEADS, Cell, Failure, Repeat

_FOLDER = Path(__file__).parent
_Table = tuple[list[str], list[list[Cell]]]  # heads, rows


@dataclass(frozen=True)
class Section:
    """What there is to say about one target gap: times by problem, and means by solver."""

    target: str
    times: _Table
    means: list[list[Cell]]


@dataclass(frozen=True)
class Page:
    """The content of a report, in the order in which it is read.

    Attributes
    ----------
    planned : how many runs the experiment has.
    counts : outcome, runs, meaning.
    penalty : what a target that was not reached counts as, as text.
    """

    title: str
    folder: str
    date: str
    planned: int
    counts: Sequence[tuple[str, int, str]]
    failures: Sequence[Failure]
    more_failures: int
    by_solver: _Table
    targets: Sequence[Section]
    penalty: str
    solvers: Sequence[Swatch]
    charts: Sequence[Chart]
    runs: Sequence[Sequence[Cell]]
    machine: Sequence[str]
    repeat: Repeat


def render(page: Page) -> str:
    """Return the page as HTML."""
    scripts = [_library()] if page.charts else []
    scripts.append((_FOLDER / "page.js").read_text())
    template = _environment().get_template("page.html.j2")
    return template.render(
        page=page,
        shift=f"{1e3 * SHIFT:g} ms",
        run_heads=RUN_HEADS,
        meanings=MEANINGS,
        style=Markup((_FOLDER / "page.css").read_text()),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
        payload=_payload(page),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Bokeh refers back to what it has written before: its keys must keep their order
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _library() -> str:
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy that lets these scripts run and nothing else."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    known = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return f"default-src 'none'; script-src {known}; style-src 'unsafe-inline'; img-src data: blob:"


def _payload(page: Page) -> dict[str, Any]:
    charts = [
        {"name": c.name, "item": c.item, "views": list(c.views.values())} for c in page.charts
    ]
    return {"charts": charts, "inked": _inked(page.solvers)}


def _inked(solvers: Sequence[Swatch]) -> list[int]:
    """Return the places of the solvers that are drawn in the colour of the text."""
    return [place for place, swatch in enumerate(solvers) if swatch.colour.startswith("var")]
