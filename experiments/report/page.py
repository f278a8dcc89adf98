"""The page: the sections of a report in the template, with the scripts that they need.

Names and reasons come from untrusted files. The template shows them literally, `printable` and escaped;
the numbers of the charts are JSON in which `<` is escaped; and a content security policy allows only the
two scripts in the page, identified by their hashes, and loads nothing from elsewhere.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bokeh.resources import Resources
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dualgap.experiments.analysis.profiles import SHIFT_S
from dualgap.experiments.plots.style import BLACK, LineStyle
from dualgap.experiments.report.charts import Chart, swatches
from dualgap.problems.texts import printable

_FOLDER = Path(__file__).parent


def _finalized(value: object) -> object:
    """Return a value as the template shows it."""
    return printable(value, keep="\n\t") if type(value) is str else value


def render(
    page: Mapping[str, Any],
    charts: Sequence[Chart],
    styles: Mapping[str, LineStyle],
) -> str:
    """Return a report as HTML.

    Parameters
    ----------
    page : all other content of the template, by its names there.
    charts, styles : the charts, and the line style of each solver in them.
    """
    library = "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)
    scripts = [library] * bool(charts) + [(_FOLDER / "page.js").read_text(encoding="utf-8")]
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Bokeh's JSON refers to earlier parts of itself: the keys must keep their order
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    template = environment.get_template("page.html.j2")
    return template.render(
        page={**page, "charts": charts, "solvers": swatches(styles)},
        shift=f"{1e3 * SHIFT_S:g} ms",
        style=Markup((_FOLDER / "page.css").read_text(encoding="utf-8")),
        scripts=[Markup(script) for script in scripts],
        policy=f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:",
        payload={
            "charts": [
                {"name": c.name, "item": c.item, "views": list(c.views.values())} for c in charts
            ],
            # indices of the solvers that are drawn in the colour of the text
            "inked": [i for i, line in enumerate(styles.values()) if line.colour == BLACK],
        },
    )
