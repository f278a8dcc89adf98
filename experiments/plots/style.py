"""One style for all figures: fonts and lines, line styles, panels, and saving.

Figures are made at the size they have in print (a text width of 7 inches), without pyplot: nothing
global changes and no window opens. The palette is Okabe & Ito's (2008, Color Universal Design),
which colour-blind readers can distinguish; markers and dashes show the same without colour.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.style import context
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter
from PIL import Image

from dualgap.problems import Vector
from dualgap.problems.texts import printable

TEXT_WIDTH = 7.0  # inches
PANELS = 6  # at most, in one figure
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#7F7F7F"

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, BLACK, ORANGE, SKY, GREY)
MARKERS = "osD^PX*<>hp"
LOOKS = len(_COLOURS) * len(MARKERS)  # that differ in colour or marker
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (2.2, 0.9)), (0, (6, 1.2, 1.2, 1.2)))
_COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}
_ENTRY_INCHES = 0.5  # of a legend's entry: its line and the space around
_LETTER_INCHES = 0.056
_DOTS, _PALETTE = 150, 64  # an inch, and colours, of figures that are pixels alone


def style() -> AbstractContextManager[None]:
    """Draw and save in this style; matplotlib's own settings are as before afterwards."""
    ours = Path(__file__).with_name("figures.mplstyle")
    return context(ours, after_reset=True)  # whatever a user's matplotlibrc says


@dataclass(frozen=True)
class LineStyle:
    """How the lines and points of one solver are drawn."""

    colour: str
    marker: str
    dash: Any

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments of `Axes.plot`, some changed."""
        plain = {"color": self.colour, "marker": self.marker, "linestyle": self.dash}
        return {**plain, "markeredgewidth": 0.9, **changes}

    def variant(self, i: int) -> LineStyle:
        """Return the style of the solver's i-th setting: the same colour, another marker and dash."""
        marker = MARKERS[(MARKERS.index(self.marker) + 3 * i) % len(MARKERS)]
        dash = _DASHES[(_DASHES.index(self.dash) + i) % len(_DASHES)]
        return LineStyle(self.colour, marker, dash)


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each label: up to 8 differ in colour, and up to 32 in some respect."""
    return {label: line_style(i, i) for i, label in enumerate(sorted(set(labels)))}


def line_style(colour: int, marker: int) -> LineStyle:
    """Return the line style of these places in the palette and among the markers, which go round."""
    dash = marker + colour // len(_COLOURS)
    return LineStyle(
        _COLOURS[colour % len(_COLOURS)],
        MARKERS[marker % len(MARKERS)],
        _DASHES[dash % len(_DASHES)],
    )


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches, with a canvas of its own."""
    new = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(new)
    new.get_layout_engine().set(w_pad=0.05, h_pad=0.05)  # type: ignore[union-attr]
    return new


def panels(
    titles: Sequence[str],
    height: float = 2.0,
    share: Literal["none", "y", "both"] = "none",
    named: bool = False,
    lines: int = 2,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one titled panel for each of up to `PANELS` titles.

    `named` leaves room for names at the right of each panel; titles have at least `lines` lines' room.
    """
    columns = min(_COLUMNS[len(titles)], 2 if named else 3)
    rows = -(-len(titles) // columns)
    width = TEXT_WIDTH if columns > 1 else 0.7 * TEXT_WIDTH
    new = figure(width, (height if columns > 2 else 1.25 * height) * rows + 0.9)
    axes: list[Axes] = []
    for i, title in enumerate(titles):
        ax = new.add_subplot(
            rows,
            columns,
            i + 1,
            sharex=axes[0] if axes and share == "both" else None,
            sharey=axes[0] if axes and share != "none" else None,
        )
        letters = int((width / columns - 0.5 * named) * 13.5)
        ax.set_title(wrap(title, letters, max(lines, columns)), loc="left" if named else "center")
        ax.tick_params(
            labelleft=share == "none" or i % columns == 0,
            labelbottom=share != "both" or i + columns >= len(titles),
        )
        axes.append(ax)
    return new, axes


def chunks(items: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield the items in order, in as few chunks of at most `most` as possible, of about equal size."""
    size = -(-len(items) // -(-len(items) // most))
    for i in range(0, len(items), size):
        yield list(items[i : i + size])


def label_outside(axes: Sequence[Axes], x: str, y: str) -> None:
    """Label the axes at the left and those with nothing below."""
    grid = axes[0].get_gridspec()
    assert grid is not None
    columns = grid.ncols
    for i, ax in enumerate(axes):
        if i % columns == 0:
            ax.set_ylabel(y)
        if i + columns >= len(axes):
            ax.set_xlabel(x)


def decades(ax: Axes) -> None:
    """Have at least two labelled powers of ten on a logarithmic horizontal axis."""
    ax.xaxis.set_minor_formatter(NullFormatter())
    low, high = ax.get_xlim()
    if low <= 0:
        return
    inside = np.floor(np.log10(high)) - np.ceil(np.log10(low)) + 1
    below, above = 10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high))
    if inside < 1:
        ax.set_xlim(below, above)
    elif inside == 1:
        ax.set_xlim(*((below, high) if low / below < above / high else (low, above)))


def count_axis(ax: Axes) -> None:
    """Make the horizontal axis logarithmic in a count, which may be 0."""
    if ax.dataLim.x0 < 1:
        ax.set_xscale("symlog", linthresh=1, linscale=0.5)
        ax.set_xlim(left=0)
    else:
        ax.set_xscale("log")
    decades(ax)


def label_sizes(ax: Axes, sizes: Vector) -> None:
    """Write the numbers of samples themselves on the axis, as many as there is room for."""
    labelled: list[float] = []  # those n that leave room for each other's labels
    for n in sizes:
        if not labelled or n > 1.25 * labelled[-1]:
            labelled.append(float(n))
    ax.xaxis.set_major_locator(FixedLocator(labelled))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.set_xlim(sizes.min() / 1.15, sizes.max() * 1.15)


def legend(new: Figure, entries: Sequence[tuple[Artist, str]], columns: int = 4) -> None:
    """Put one legend below the panels, in as many of the columns as fit."""
    if not entries:
        return
    handles, labels = zip(*entries, strict=True)
    columns = min(columns, len(labels))
    while columns > 1:
        longest = [max(map(len, part)) for part in np.array_split(labels, columns)]
        inches = sum(_ENTRY_INCHES + _LETTER_INCHES * letters for letters in longest)
        if inches <= new.get_figwidth():
            break
        columns -= 1
    new.legend(
        handles,
        [plain(label) for label in labels],
        loc="outside lower center",
        ncols=columns,
        handlelength=2.6,
        columnspacing=1.4,
    )


def key(**drawn: Any) -> Line2D:
    """Return a line that stands in the legend for what is drawn like it."""
    return Line2D([], [], **drawn)


def solver_keys(
    styles: Mapping[str, LineStyle], seen: Collection[str] | None = None, **changes: Any
) -> list[tuple[Artist, str]]:
    """Return the legend's entries for the series that are seen in a figure, by default all."""
    return [
        (key(**line.arguments(**changes)), name)
        for name, line in styles.items()
        if seen is None or name in seen
    ]


def note(ax: Axes, text: str) -> None:
    """State in the middle of an empty panel why it is empty."""
    ax.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
    ax.grid(visible=False, axis="x")
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color="#555555")


def plain(text: str) -> str:
    """Return `text` so that matplotlib shows it as it is: no formulas, no hidden labels.

    Characters that the font of all figures lacks are shown by their code points.
    """
    glyphs = _glyphs()
    shown = "".join(
        c if ord(c) in glyphs or c == "\n" else f"[U+{ord(c):04X}]"
        for c in printable(text, keep="\n").replace("$", r"\$")
    )
    return f" {shown}" if shown.startswith("_") else shown


@cache
def _glyphs() -> Set[int]:
    """Return the code points of the characters that the font of all figures has."""
    return get_font(findfont("DejaVu Sans")).get_charmap().keys()


def shortened(text: str, room: int) -> str:
    """Return text of at most `room` characters, without words in the middle: names differ at their ends.

    Only of two words, or one, that are too long the middle characters are left out.
    """
    words = text.split(" ")
    if len(text) <= room:
        return text
    for kept in range(len(words) - 1, 1, -1):
        shown = " ".join([*words[: (kept + 1) // 2], "…", *words[-(kept // 2) :]])
        if len(shown) <= room:
            return shown
    return f"{text[: room // 2 - 1]}…{text[-(room // 2 - 1) :]}"


def wrap(text: str, width: int, lines: int = 2) -> str:
    """Return `text` in at most `lines` lines of about `width`, broken at separators, or `shortened`."""
    room = lines * width - (lines - 1) * (width // 3)
    text = shortened(" ".join(printable(text).split()), room)
    tokens: list[str] = []  # words, and pieces of words that are too long for a line
    for word in re.findall(r"\S+\s*", text):
        pieces = re.findall(r".+?(?:[-_/,;:|=]|$)", word) if len(word.rstrip()) > width else [word]
        tokens += pieces
    wrapped = [""]
    for token in tokens:
        if len((wrapped[-1] + token).rstrip()) > width and wrapped[-1] and len(wrapped) < lines:
            wrapped.append("")
        wrapped[-1] += token
    return plain("\n".join(line.strip() for line in wrapped))


def svg_address(new: Figure) -> str:
    """Return a `data:` address that contains a figure as SVG, without a date."""
    file = io.BytesIO()
    new.savefig(file, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode()


def save(new: Figure | str, folder: Path, name: str, pixels: bool = False) -> list[Path]:
    """Write a figure as SVG and PNG, without a date, or a text as Markdown; return the paths.

    Parameters
    ----------
    pixels : whether it is written as PNG of 64 colours alone: regions have too many points for SVG.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(new, str):
        path = folder / f"{name}.md"
        path.write_text(new)
        return [path]
    if pixels:
        drawn, path = io.BytesIO(), folder / f"{name}.png"
        new.savefig(drawn, dpi=_DOTS)
        Image.open(drawn).convert("RGB").quantize(_PALETTE).save(path, optimize=True)
        return [path]
    svg, png = folder / f"{name}.svg", folder / f"{name}.png"
    new.draw_without_rendering()
    new.set_layout_engine("none")  # the layout is found: once is enough, and both files agree
    new.savefig(svg, metadata={"Date": None})
    svg.write_text(compact(svg.read_text()))
    new.savefig(png, dpi=200)
    return [svg, png]


def compact(svg: str) -> str:
    """Return an SVG with coordinates in hundredths of a point, a sixth shorter."""

    def rounded(attribute: re.Match[str]) -> str:
        numbers = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", attribute[2])
        return attribute[1] + " ".join(numbers.split())

    return re.sub(r"\n +", "\n", re.sub(r'(\b(?:d|x|y)=")([^"]*)', rounded, svg))
