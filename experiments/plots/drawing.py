"""The base class of kinds of figures, and their registry.

A kind of figure is a class derived from `Drawing`, in its own file in `plots/figures/`, or a
user-defined one, named as `path/to/file.py:ClassName`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from matplotlib.figure import Figure

from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import MAX_PANELS, chunks
from dualgap.experiments.tables.formats import file_name
from dualgap.problems.registry import Registry, snake_case

NamedFigure = tuple[str, Figure | str]  # file name without suffix; text is Markdown


class Drawing(ABC):
    """A kind of figure, drawn from the records of a results folder.

    Attributes
    ----------
    needs : the tables of `Runs` that it requires: "table", "traces", "checks" or "paths".
    columns : the columns of results that it reads, of other tables as `traces.time`.
    on_request : whether it is drawn only if it is named.
    exclusive : whether the other kinds are not drawn if it draws anything.
    png_only : whether its figures are written only as PNG, see `style.save`.
    """

    needs: ClassVar[tuple[str, ...]] = ("table",)
    columns: ClassVar[tuple[str, ...]] = ()
    on_request: ClassVar[bool] = False
    exclusive: ClassVar[bool] = False
    png_only: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The class's name in snake case, `gap_against_time`."""
        return snake_case(type(self).__name__)

    @abstractmethod
    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield figures, and accompanying texts, with their file names; called inside `style()`."""

    def applies_to(self, runs: Runs) -> bool:
        """Whether `runs` have all tables that the figure needs."""
        return not any(getattr(runs, table).empty for table in self.needs)

    def paged(
        self, draw: Callable[[Runs, Sequence[str]], Figure], runs: Runs
    ) -> Iterator[NamedFigure]:
        """Yield figures of up to six problems; the figure of a single problem is named after it."""
        pages = list(chunks(runs.problems, MAX_PANELS))
        for i, problems in enumerate(pages, 1):
            single = len(runs.problems) == 1
            name = file_name(self.name, problems[0]) if single else numbered(self.name, i, pages)
            yield name, draw(runs, problems)


def numbered(name: str, i: int, every: Sequence[object]) -> str:
    """Return the name of the i-th of several figures; a single one gets no number."""
    return name if len(every) == 1 else f"{name}-{i}"


FIGURES = Registry(Drawing, "figure", "dualgap.experiments.plots.figures")


def drawings(names: Sequence[str] = ()) -> list[Drawing]:
    """Return the named kinds of figures, by default all that are not only on request.

    Raises
    ------
    ValueError
        If there is no such kind of figure.
    """
    if names:
        return [FIGURES.find(name)() for name in names]
    return [kind() for kind in FIGURES.values() if not kind.on_request]
