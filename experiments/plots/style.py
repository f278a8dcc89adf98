"""One style for all figures: fonts and lines, line styles, panels, and saving.

Figures are made at the size they have in print (a text width of 7 inches), without pyplot: nothing
global changes and no window opens. The palette is Okabe & Ito's (2008, Color Universal Design),
which colour-blind readers can distinguish; markers and dashes also work without colour.
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

from dualgap.experiments.plots.pgf import save_pgf
from dualgap.problems import Vector
from dualgap.problems.texts import printable

FigureFormat = Literal["svg", "png", "pdf", "pgf"]
TEXT_WIDTH = 7.0  # inches
MAX_PANELS = 6  # per figure
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
BLACK = "#000000"
GREY = "#7F7F7F"

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, BLACK, ORANGE, SKY, GREY)
MARKERS = "osD^PX*<>hp"
N_DISTINCT_STYLES = len(_COLOURS) * len(MARKERS)  # combinations of colour and marker
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (2.2, 0.9)), (0, (6, 1.2, 1.2, 1.2)))


def style() -> AbstractContextManager[None]:
    """Return a context that draws and saves in this style, and then restores matplotlib's settings."""
    ours = Path(__file__).with_name("figures.mplstyle")
    return context(ours, after_reset=True)  # regardless of the user's matplotlibrc


@dataclass(frozen=True)
class LineStyle:
    """Appearance of one solver's lines and points."""

    colour: str
    marker: str
    dash: Any

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments of `Axes.plot`, with changes."""
        plain = {"color": self.colour, "marker": self.marker, "linestyle": self.dash}
        return {**plain, "markeredgewidth": 0.9, **changes}

    def variant(self, i: int) -> LineStyle:
        """Return the style of the solver's i-th setting: same colour, another marker and dash."""
        marker = MARKERS[(MARKERS.index(self.marker) + 3 * i) % len(MARKERS)]
        dash = _DASHES[(_DASHES.index(self.dash) + i) % len(_DASHES)]
        return LineStyle(self.colour, marker, dash)


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return a line style for each label: up to 8 differ in colour, and up to 32 in some way."""
    return {label: line_style(i, i) for i, label in enumerate(sorted(set(labels)))}


def line_style(colour: int, marker: int) -> LineStyle:
    """Return the line style of these positions in the palette and among the markers (cyclic)."""
    dash = marker + colour // len(_COLOURS)
    return LineStyle(
        _COLOURS[colour % len(_COLOURS)],
        MARKERS[marker % len(MARKERS)],
        _DASHES[dash % len(_DASHES)],
    )


def figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, with its own canvas."""
    new = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(new)
    new.get_layout_engine().set(w_pad=0.05, h_pad=0.05)  # type: ignore[union-attr]
    return new


def panels(
    titles: Sequence[str],
    height: float = 2.0,
    shared_axes: Literal["none", "y", "both"] = "none",
    named: bool = False,
    lines: int = 2,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one titled panel for each title.

    `named` leaves space for names to the right of each panel; titles have at least `lines` lines.
    """
    columns = min({1: 1, 2: 2, 4: 2}.get(len(titles), 3), 2 if named else 3)
    rows = -(-len(titles) // columns)
    width = TEXT_WIDTH if columns > 1 else 0.7 * TEXT_WIDTH
    new = figure(width, (height if columns > 2 else 1.25 * height) * rows + 0.9)
    axes: list[Axes] = []
    for i, title in enumerate(titles):
        ax = new.add_subplot(
            rows,
            columns,
            i + 1,
            sharex=axes[0] if axes and shared_axes == "both" else None,
            sharey=axes[0] if axes and shared_axes != "none" else None,
        )
        letters = int((width / columns - 0.5 * named) * 13.5)
        ax.set_title(wrap(title, letters, max(lines, columns)), loc="left" if named else "center")
        ax.tick_params(
            labelleft=shared_axes == "none" or i % columns == 0,
            labelbottom=shared_axes != "both" or i + columns >= len(titles),
        )
        axes.append(ax)
    return new, axes


def chunks(items: Sequence[str], limit: int) -> Iterator[list[str]]:
    """Yield the items in order, in as few chunks of at most `limit` as possible, of similar size."""
    size = -(-len(items) // -(-len(items) // limit))
    for i in range(0, len(items), size):
        yield list(items[i : i + size])


def label_outside(axes: Sequence[Axes], x: str, y: str) -> None:
    """Label the leftmost and the lowest axes."""
    grid = axes[0].get_gridspec()
    assert grid is not None
    columns = grid.ncols
    for i, ax in enumerate(axes):
        if i % columns == 0:
            ax.set_ylabel(y)
        if i + columns >= len(axes):
            ax.set_xlabel(x)


def decades(ax: Axes) -> None:
    """Extend a logarithmic horizontal axis to at least two labelled powers of ten."""
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
    """Make the horizontal axis logarithmic for a count, which may be 0."""
    if ax.dataLim.x0 < 1:
        ax.set_xscale("symlog", linthresh=1, linscale=0.5)
        ax.set_xlim(left=0)
    else:
        ax.set_xscale("log")
    decades(ax)


def label_sizes(ax: Axes, sizes: Vector) -> None:
    """Label the axis with the numbers of samples themselves, as far as they fit."""
    labelled: list[float] = []  # n whose labels do not overlap
    for n in sizes:
        if not labelled or n > 1.25 * labelled[-1]:
            labelled.append(float(n))
    ax.xaxis.set_major_locator(FixedLocator(labelled))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.set_xlim(sizes.min() / 1.15, sizes.max() * 1.15)


def legend(new: Figure, entries: Sequence[tuple[Artist, str]], columns: int = 4) -> None:
    """Put one legend below the panels, in as many columns as fit, up to `columns`."""
    if not entries:
        return
    handles, labels = zip(*entries, strict=True)
    # a label on its own fits even if all of its letters are wide
    labels = [shortened(label, int((new.get_figwidth() - 0.5) / 0.07)) for label in labels]
    columns = min(columns, len(labels))
    while columns > 1:
        longest = [max(map(len, part)) for part in np.array_split(labels, columns)]
        # the line of an entry, with spacing, and its letters
        inches = sum(0.5 + 0.056 * letters for letters in longest)
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
    """Return a line for a legend entry with these properties."""
    return Line2D([], [], **drawn)


def solver_keys(
    styles: Mapping[str, LineStyle], names: Collection[str] | None = None, **changes: Any
) -> list[tuple[Artist, str]]:
    """Return the legend's entries for the shown series, by default all."""
    return [
        (key(**line.arguments(**changes)), name)
        for name, line in styles.items()
        if names is None or name in names
    ]


def note(ax: Axes, text: str) -> None:
    """Write in the middle of an empty panel why it is empty."""
    ax.tick_params(axis="x", which="both", bottom=False, labelbottom=False)
    ax.grid(visible=False, axis="x")
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color="#555555")


def plain(text: str) -> str:
    """Return `text` escaped so that matplotlib shows it literally: no formulas, no hidden labels.

    Characters that are missing in the figures' font are shown by their code points.
    """
    glyphs = _glyphs()
    escaped = "".join(
        c if ord(c) in glyphs or c == "\n" else f"[U+{ord(c):04X}]"
        for c in printable(text, keep="\n").replace("$", r"\$")
    )
    return f" {escaped}" if escaped.startswith("_") else escaped


@cache
def _glyphs() -> Set[int]:
    """Return the code points of the characters in the figures' font."""
    return get_font(findfont("DejaVu Sans")).get_charmap().keys()


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters, without words in the middle: names differ at their ends.

    If not even two words fit, omit the middle characters.
    """
    words = text.split(" ")
    if len(text) <= limit:
        return text
    for n_kept in range(len(words) - 1, 1, -1):
        candidate = " ".join([*words[: (n_kept + 1) // 2], "…", *words[-(n_kept // 2) :]])
        if len(candidate) <= limit:
            return candidate
    return f"{text[: limit // 2 - 1]}…{text[-(limit // 2 - 1) :]}"


def wrap(text: str, width: int, lines: int = 2) -> str:
    """Return `text` in at most `lines` lines of about `width`, broken at separators, or `shortened`."""
    limit = lines * width - (lines - 1) * (width // 3)
    text = shortened(" ".join(printable(text).split()), limit)
    tokens: list[str] = []  # words, or parts of words that are too long for a line
    for word in re.findall(r"\S+\s*", text):
        parts = re.findall(r".+?(?:[-_/,;:|=]|$)", word) if len(word.rstrip()) > width else [word]
        tokens += parts
    wrapped = [""]
    for token in tokens:
        if len((wrapped[-1] + token).rstrip()) > width and wrapped[-1] and len(wrapped) < lines:
            wrapped.append("")
        wrapped[-1] += token
    return plain("\n".join(line.strip() for line in wrapped))


def svg_address(new: Figure) -> str:
    """Return a `data:` address with a figure as SVG, without a date."""
    file = io.BytesIO()
    new.savefig(file, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode()


def save(
    new: Figure | str,
    folder: Path,
    name: str,
    png_only: bool = False,
    formats: Sequence[str] = ("svg", "png"),
) -> list[Path]:
    """Write a figure in each format, without a date, or a text as Markdown; return the paths.

    Parameters
    ----------
    png_only : whether regions and samples have too many points for SVG: write PNG instead, of 64
        colours; they are pixels in PDF and PGF, whose texts and axes stay vectors.
    formats : some of `FigureFormat`; for PGF see `pgf.save_pgf`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(new, str):
        path = folder / f"{name}.md"
        path.write_text(new, encoding="utf-8")
        return [path]
    if png_only:
        formats = list(dict.fromkeys("png" if f == "svg" else f for f in formats))
        for artist in (artist for ax in new.axes for artist in (*ax.collections, *ax.images)):
            artist.set_rasterized(True)
    paths = [folder / f"{name}.{extension}" for extension in formats]
    new.draw_without_rendering()
    new.set_layout_engine("none")  # keep this layout for all files
    without_date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    for path in paths:
        if png_only and path.suffix == ".png":
            drawn = io.BytesIO()
            new.savefig(drawn, dpi=150)  # more would make these files large
            Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)
        elif path.suffix == ".pgf":
            save_pgf(new, path)
        else:
            new.savefig(path, dpi=200, metadata=without_date.get(path.suffix))
        if path.suffix == ".svg":
            svg = compact(path.read_text(encoding="utf-8"))
            path.write_text(svg, encoding="utf-8")
    return paths


def compact(svg: str) -> str:
    """Return an SVG with coordinates rounded to hundredths of a point, a sixth shorter."""

    def rounded(attribute: re.Match[str]) -> str:
        numbers = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[2])
        return attribute[1] + " ".join(numbers.split())

    return re.sub(r"\n +", "\n", re.sub(r'(\b(?:d|x|y)=")([^"]*)', rounded, svg))
