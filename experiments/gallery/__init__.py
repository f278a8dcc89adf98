"""The figures of the lecture notes, one short script each, to read and change in class.

A script has `compute()`, which returns the numbers, and `draw(numbers)`, which returns the figure.
`dualgap gallery` runs them all, or your own scripts given by path, and writes their figures in the
common style to build/gallery.
"""

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dualgap.problems.registry import class_names, find_path, module_from

FOLDER = Path("build/gallery")
FIGURES = {  # name: folder; in the order of a course
    name: folder
    for folder, names in {
        "margins": (
            *("perceptron_and_margin", "margin_and_support_vectors", "lda_against_svm"),
            *("slack_cases", "loss_comparison", "surrogate_losses"),
        ),
        "kernels": ("gaussian_kernel", "rbf_surfaces", "rbf_as_neighbours", "kernel_comparison"),
        "training": (
            *("coordinate_descent_path", "smo_clipping_box", "projections"),
            *("dual_ascent_trajectory", "training_picture", "pegasos_trajectory"),
            "regularisation_path",
        ),
        "formulations": ("svr_tube", "nu_property", "several_classes"),
    }.items()
    for name in names
}


def draw_figures(folder: Path, names: Sequence[str] = ()) -> Iterator[list[Path]]:
    """Return an iterator that draws figures into `folder`, and yields the paths written for each.

    Parameters
    ----------
    names : names in `FIGURES`, or paths of scripts like theirs; by default all.

    Raises
    ------
    ValueError
        If there is no such figure or script; then nothing is drawn.
    """
    stems = [Path(name).stem for name in names]
    if repeated := next((stem for stem in stems if stems.count(stem) > 1), None):
        raise ValueError(
            f"NAME: several scripts are named {repeated}, so their figures would collide; rename one"
        )
    scripts = [(Path(name).stem, _script(name)) for name in names or FIGURES]
    return (write(script, script.compute(), name, folder) for name, script in scripts)


def _script(name: str) -> Any:
    """Return a figure's module, with `compute` and `draw`."""
    if not name.endswith(".py"):
        if name not in FIGURES:
            available = ", ".join(FIGURES)
            raise ValueError(
                f"NAME: there is no figure {name!r}; give a script's path, or one of {available}"
            )
        return importlib.import_module(f"{__name__}.{FIGURES[name]}.{name}")
    file = find_path(name, ".").resolve()
    if not file.is_file():
        raise ValueError(f"NAME: there is no script {file}")
    class_names(file)  # reports syntax errors with their line
    script = module_from(file)
    for function in ("compute", "draw"):
        if not hasattr(script, function):
            raise ValueError(
                f"NAME: {name} has no function {function}; compute() returns the numbers of a figure, "
                "and draw(numbers) the figure"
            )
    return script


def write(script: Any, numbers: Any, name: str, folder: Path = FOLDER) -> list[Path]:
    """Write a script's figure of the numbers as SVG and PNG; return both paths."""
    from dualgap.experiments.plots.style import save, style  # noqa: PLC0415

    with style():
        return save(script.draw(numbers), folder, name)
