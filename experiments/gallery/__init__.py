"""The figures of the lecture notes, one short script each, to be read and changed in class.

A script has `compute()`, which returns the numbers, and `draw(numbers)`, which returns the figure;
`write` calls it in the style of all figures. A script runs on its own (`python
experiments/gallery/svr_tube.py` writes build/gallery/svr_tube.png and .svg), and `dualgap gallery` runs
them all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")

FOLDER = Path("build/gallery")
FIGURES = (  # in the order of a course
    "perceptron_and_margin",
    "margin_and_support_vectors",
    "lda_against_svm",
    "slack_cases",
    "loss_comparison",
    "surrogate_losses",
    "gaussian_kernel",
    "rbf_surfaces",
    "rbf_as_neighbours",
    "kernel_comparison",
    "coordinate_descent_path",
    "smo_clipping_box",
    "projections",
    "dual_ascent_trajectory",
    "training_picture",
    "pegasos_trajectory",
    "svr_tube",
    "nu_property",
    "several_classes",
)


def draw_figures(folder: Path, names: Sequence[str] = ()) -> Iterator[list[Path]]:
    """Return an iterator that draws figures into `folder`, and yields what was written for each.

    Parameters
    ----------
    names : which of `FIGURES`; none stands for all.

    Raises
    ------
    ValueError
        If there is no such figure; nothing is drawn then.
    """
    for name in names:
        if name not in FIGURES:
            raise ValueError(f"NAME: there is no figure {name!r}; there are {', '.join(FIGURES)}")
    scripts = ((name, importlib.import_module(f"{__name__}.{name}")) for name in names or FIGURES)
    return (write(script.draw, script.compute(), name, folder) for name, script in scripts)


def write(draw: Callable[[T], Figure], numbers: T, name: str, folder: Path = FOLDER) -> list[Path]:
    """Write the figure that `draw` makes of the numbers as SVG and PNG, and return both paths."""
    from experiments.plots.style import save, style  # noqa: PLC0415

    with style():
        return save(draw(numbers), folder, name)
