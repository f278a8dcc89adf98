"""What a kind of figure is, and where the kinds are found.

A kind of figure is a class derived from `Drawing` in a file of its own in `plots/figures/`, or one from
outside, named as `path/to/file.py:ClassName`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import PANELS, chunks
from dualgap.experiments.tables.formats import file_name
from dualgap.problems.registry import Registry, snake_case

Named = tuple[str, Figure | str]  # name of its file, without an ending; text is Markdown


class Drawing(ABC):
    """A kind of figure, drawn from the records of a results folder.

    Attributes
    ----------
    needs : the tables of `Runs` without which there is nothing to draw: "table", "traces", "checks"
        or "paths".
    on_request : whether it is drawn only where it is named.
    instead : whether, where it draws something, the other kinds are not drawn.
    pixels : whether its figures are written as PNG alone, see `style.save`.
    """

    needs: ClassVar[tuple[str, ...]] = ("table",)
    on_request: ClassVar[bool] = False
    instead: ClassVar[bool] = False
    pixels: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The class's name in the form of a file's, `gap_against_time`."""
        return snake_case(type(self).__name__)

    @abstractmethod
    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield each figure, and text that goes with it, with the name of its file; inside `style()`."""

    def ready(self, runs: Runs) -> bool:
        """Whether `runs` have all that the figure needs."""
        return not any(getattr(runs, table).empty for table in self.needs)

    def paged(self, draw: Callable[[Runs, Sequence[str]], Figure], runs: Runs) -> Iterator[Named]:
        """Yield figures of up to six problems; the figure of a single problem has its name."""
        every = list(chunks(runs.problems, PANELS))
        for i, problems in enumerate(every, 1):
            single = len(runs.problems) == 1
            name = file_name(self.name, problems[0]) if single else numbered(self.name, i, every)
            yield name, draw(runs, problems)


def numbered(name: str, i: int, every: Sequence[object]) -> str:
    """Return the name of the i-th of several figures; that of a single one has no number."""
    return name if len(every) == 1 else f"{name}-{i}"


FIGURES = Registry("dualgap.experiments.plots.figures", Drawing, "figure")


def drawings(names: Sequence[str] = ()) -> list[Drawing]:
    """Return the named kinds of figures, or all that are not only drawn on request.

    Raises
    ------
    ValueError
        If there is no such kind of figure.
    """
    if names:
        return [FIGURES.find(name)() for name in names]
    return [kind() for kind in FIGURES.values() if not kind.on_request]
