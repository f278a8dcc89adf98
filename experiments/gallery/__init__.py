"""The figures of the lecture notes, one short script each, to be read and changed in class.

A script has `compute()`, which returns the numbers, and `draw(numbers)`, which returns the figure.
`dualgap gallery` runs them all, or those of your own that it is given by their paths, and writes their
figures in the style of all figures to build/gallery.
"""

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dualgap.problems.registry import class_names, find_path, module_from

FOLDER = Path("build/gallery")
FIGURES = {  # by name, the folder of each; in the order of a course
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
    """Return an iterator that draws figures into `folder`, and yields what was written for each.

    Parameters
    ----------
    names : which of `FIGURES`, or paths of scripts like theirs; none stands for all.

    Raises
    ------
    ValueError
        If there is no such figure or script; nothing is drawn then.
    """
    stems = [Path(name).stem for name in names]
    if twice := next((stem for stem in stems if stems.count(stem) > 1), None):
        raise ValueError(
            f"NAME: several scripts are named {twice}, and so would be their figures; rename one"
        )
    scripts = [(Path(name).stem, _script(name)) for name in names or FIGURES]
    return (write(script, script.compute(), name, folder) for name, script in scripts)


def _script(name: str) -> Any:
    """Return a figure's module, with `compute` and `draw`."""
    if not name.endswith(".py"):
        if name not in FIGURES:
            known = ", ".join(FIGURES)
            raise ValueError(
                f"NAME: there is no figure {name!r}; give a script's path, or one of {known}"
            )
        return importlib.import_module(f"{__name__}.{FIGURES[name]}.{name}")
    file = find_path(name, ".").resolve()
    if not file.is_file():
        raise ValueError(f"NAME: there is no script {file}")
    class_names(file)  # says where it is no Python
    script = module_from(file)
    for needed in ("compute", "draw"):
        if not hasattr(script, needed):
            raise ValueError(
                f"NAME: {name} has no function {needed}; compute() returns the numbers of a figure, and "
                "draw(numbers) the figure"
            )
    return script


def write(script: Any, numbers: Any, name: str, folder: Path = FOLDER) -> list[Path]:
    """Write the figure that a script draws of the numbers as SVG and PNG, and return both paths."""
    from dualgap.experiments.plots.style import save, style  # noqa: PLC0415

    with style():
        return save(script.draw(numbers), folder, name)
