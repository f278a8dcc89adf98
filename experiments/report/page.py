"""The page itself: the sections of a report put into the template, with the scripts that they need.

Names and reasons come from files that anyone may have written. The template escapes all of them, the
numbers of the charts travel as JSON in which `<` is escaped, and a content security policy lets only
the two scripts run that are in the page, known by their hashes, and nothing be loaded from anywhere.
Pages that share the library of their charts load it, and nothing else, from beside them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bokeh.resources import Resources
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from experiments.analysis.profiles import SHIFT
from experiments.plots.style import BLACK, LineStyle
from experiments.report.charts import Chart, swatches

_FOLDER = Path(__file__).parent


def chart_library() -> str:
    """Return the JavaScript that draws the charts."""
    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def render(
    page: Mapping[str, Any],
    charts: Sequence[Chart],
    styles: Mapping[str, LineStyle],
    library: str = "",
) -> str:
    """Return a report as HTML.

    Parameters
    ----------
    page : what the template shows besides, by the names that it has there.
    charts, styles : the charts, and the line style of each solver in them.
    library : the address of a file with `chart_library`; without one it is put into the page.
    """
    scripts = [chart_library()] if charts and not library else []
    scripts.append((_FOLDER / "page.js").read_text())
    template = _environment().get_template("page.html.j2")
    return template.render(
        page={**page, "charts": charts, "solvers": swatches(styles)},
        shift=f"{1e3 * SHIFT:g} ms",
        style=Markup((_FOLDER / "page.css").read_text()),
        library=library if charts else "",
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts, bool(library)),
        payload={
            "charts": [
                {"name": c.name, "item": c.item, "views": list(c.views.values())} for c in charts
            ],
            # places of the solvers that are drawn in the colour of the text
            "inked": [i for i, line in enumerate(styles.values()) if line.colour == BLACK],
        },
    )


def render_index(reports: Sequence[Mapping[str, str]]) -> str:
    """Return a page of links to reports; each has href, name, purpose, runs and date."""
    template = _environment().get_template("index.html.j2")
    style = Markup((_FOLDER / "page.css").read_text())
    return template.render(reports=reports, style=style, policy=_policy([], shared=False))


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


def _policy(scripts: Sequence[str], shared: bool) -> str:
    """Return the content security policy that lets these scripts run, and shared ones, if any."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    known = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    allowed = f"'self' {known}" if shared else known
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
    )
