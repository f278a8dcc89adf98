"""Charts of a report: empty Bokeh figures, and the numbers that the page fills into them.

A chart shows one of its views (problems, or target gaps) at a time; each solver has one line in it. The
numbers of all views are stored separately from the figure, so that a hundred problems cost a hundred
lists of numbers, not a hundred figures. A figure contains no user-chosen names: it identifies solvers by
index, and their names come with the numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.embed import json_item
from bokeh.models import ColumnDataSource, HoverTool, LogTicker, NumeralTickFormatter, Range1d, Span
from bokeh.plotting import figure

from dualgap.experiments.analysis.profiles import PAIRWISE, Curves
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import BLACK, LineStyle
from dualgap.problems import Vector
from dualgap.problems.texts import printable

# until the page fills the figure
_PLACEHOLDER: Any = {"x": [1.0, 10.0], "y": [0.1, 1.0], "label": ["", ""]}
_MARKERS = {  # matplotlib's marker: Bokeh's marker, and a character for the legend
    "o": ("circle", "●"),
    "s": ("square", "■"),
    "D": ("diamond", "◆"),
    "^": ("triangle", "▲"),
    "P": ("plus", "✚"),
    "X": ("x", "✖"),
    "*": ("star", "★"),
    "<": ("inverted_triangle", "▼"),
    ">": ("square_pin", "✦"),
    "h": ("hex", "⬢"),
    "p": ("circle_cross", "⊕"),
}
_Line = tuple[str, str, Vector, Vector]  # solver, label, x, y
_PROFILES = {  # title, meaning of views, axis, tooltip, description
    "performance": (
        *("Performance profile", "Target gap", "time relative to the fastest"),
        "@x{%.3g} × the fastest",
        "The fraction of the problems that a solver was run on for which it reached the target within a "
        "given multiple of the fastest solver's time. The left end shows how often it was the fastest, "
        "the right end how many of these problems it solved at all. A failure counts as never reached. "
        f"{PAIRWISE}",
    ),
    "quality": (
        *("Quality profile", "Problems", "certified relative gap", "a gap of @x{%.1e}"),
        "The fraction of the problems that a solver was run on for which its final answer, with its "
        "most accurate setting, has at most this certified relative gap, regardless of time. A failure "
        "has no gap. A gap of zero is drawn at 1e-16.",
    ),
}
_CONVERGENCE = (
    "Certified relative gap against seconds of solving. A line is a solver whose iterates were "
    "evaluated while it ran (of several repetitions, the run of median time); a point is a solver that "
    "was evaluated only at its end, one per setting. The dotted line is the target gap. A gap of "
    "zero is drawn at 1e-16."
)


@dataclass(frozen=True)
class Chart:
    """A figure and its views.

    Attributes
    ----------
    name : its id on the page. title : its heading. about : its description.
    choice : the meaning of its views.
    item : the figure as JSON from Bokeh.
    views : the lines of each view, in order: [index of the solver, label, x, y].
    """

    name: str
    title: str
    about: str
    choice: str
    item: Any
    views: dict[str, list[list[Any]]]


def swatches(styles: Mapping[str, LineStyle]) -> list[dict[str, str]]:
    """Return the legend's entries in order: the solver's label, CSS colour, dash and marker."""
    return [
        {
            "label": label,
            "colour": "var(--ink)" if line.colour == BLACK else line.colour,
            "dash": " ".join(map(str, _dash(line))),
            "marker": _MARKERS[line.marker][1],
        }
        for label, line in styles.items()
    ]


def convergence_chart(runs: Runs) -> Chart:
    """Return the certified gap against time, one view per problem.

    Curves are thinned so that the page stays small; solvers without a certified gap on a problem have
    no curve there.
    """
    plot = _figure("solving time (s)", "certified relative gap", y_axis_type="log")
    target = float(runs.table["target_gap"].min())
    dotted: Any = {"line_color": "#808080", "line_dash": "dotted", "line_width": 2}
    plot.add_layout(Span(location=target, dimension="width", **dotted))
    # a span does not extend the range of the axis, but an invisible point does
    range_extender = ColumnDataSource({"x": [1.0], "y": [target]}, name="target")
    plot.scatter("x", "y", source=range_extender, alpha=0)
    hover = [("", "@label"), ("time", "@x{%.3g} s"), ("gap", "@y{%.1e}")]
    _add_lines(plot, runs.styles, "line", hover)
    # 40,000 points in all curves make a page of a few megabytes
    limit = int(np.clip(40_000 // max(len(runs.table), 1), 12, 120))
    views: dict[str, list[list[Any]]] = {}
    for problem in runs.problems:
        drawn = [(c, thin_indices(len(c.spent), limit)) for c in runs.curves(problem)]
        lines = [(c.series, c.configuration, c.spent[i], c.gaps[i]) for c, i in drawn]
        views[problem] = _lines(lines, runs.styles)
    about = _CONVERGENCE
    return Chart("convergence", "Gap against time", about, "Problem", json_item(plot), views)


def thin_indices(count: int, limit: int) -> np.ndarray:
    """Return at most `limit` evenly spaced indices below `count`, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.int64))


def profile_chart(
    kind: str, profiles: Mapping[str, Curves], styles: Mapping[str, LineStyle]
) -> Chart:
    """Return the chart of one kind in `_PROFILES`, with one view per profile."""
    title, choice, axis, within, about = _PROFILES[kind]
    plot = _figure(axis, "share of problems solved", y_range=Range1d(start=-0.02, end=1.04))
    plot.yaxis.formatter = NumeralTickFormatter(format="0 %")
    _add_lines(plot, styles, "step", [("", "@label"), ("within", within), ("solved", "@y{0 %}")])
    views = {
        name: _lines([(solver, solver, x, y) for solver, (x, y) in curves.items()], styles)
        for name, curves in profiles.items()
    }
    return Chart(kind, title, about, choice, json_item(plot), views)


def _lines(lines: Iterable[_Line], styles: Mapping[str, LineStyle]) -> list[list[Any]]:
    number = {label: i for i, label in enumerate(styles)}

    def short(values: Vector) -> list[float]:
        return [float(f"{value:.4g}") for value in values]

    return [[number[series], printable(label), short(x), short(y)] for series, label, x, y in lines]


def _figure(x: str, y: str, **settings: Any) -> Any:
    """Return an empty figure; the page's style sheet colours everything except lines."""
    plot = figure(
        height=420,
        sizing_mode="stretch_width",
        x_axis_type="log",
        x_axis_label=x,
        y_axis_label=y,
        tools="pan,box_zoom,wheel_zoom,reset,save",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **settings,
    )
    plot.toolbar.logo = None
    ticks: Any = LogTicker(desired_num_ticks=4, num_minor_ticks=10)  # more overlap on a phone
    plot.xaxis.ticker = ticks
    plot.axis.axis_label_text_font_style = "normal"
    return plot


def _add_lines(
    plot: Any, styles: Mapping[str, LineStyle], shape: str, hover: Sequence[tuple[str, str]]
) -> None:
    """Add a line with markers per solver, without data; the glyph names contain its index."""
    markers: list[Any] = []
    for index, line in enumerate(styles.values()):
        source = ColumnDataSource(_PLACEHOLDER, name=f"source{index}")
        shared = {"source": source, "line_color": line.colour}
        path = {"name": f"line{index}", "line_width": 2, "line_dash": _dash(line), **shared}
        if shape == "step":
            plot.step("x", "y", mode="after", **path)
        else:
            plot.line("x", "y", **path)
        marks = {
            "name": f"marker{index}",
            "size": 5 if shape == "step" else 7,
            # filled, it would hide the cross inside
            "fill_color": None if line.marker == "p" else line.colour,
            **shared,
        }
        markers.append(plot.scatter("x", "y", marker=_MARKERS[line.marker][0], **marks))
    formats: Any = {"@x": "printf"} | ({} if shape == "step" else {"@y": "printf"})
    plot.add_tools(HoverTool(renderers=markers, tooltips=list(hover), formatters=formats))


def _dash(line: LineStyle) -> list[int]:
    """Return the sizes of a line's dashes and gaps in pixels; none for a solid line."""
    return [] if line.dash == "-" else [max(2, round(2 * part)) for part in line.dash[1]]
