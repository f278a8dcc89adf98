"""Figures of a results folder, drawn from the folder alone: `plot_all(folder)`.

`figures/` has one file per kind of figure; `drawing` has their base class, `runs` their data, `style`
their style. `plane` draws answers to two-dimensional problems; `solved` converts solutions to them.
"""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import get_args

import pandas as pd

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots.drawing import Drawing, drawings
from dualgap.experiments.plots.pgf import check_pgf
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import FigureFormat, save, style
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.tables.verification import CHECKS
from dualgap.problems.validation import check_choice


def plot_all(
    directory: Path,
    names: Sequence[str] = (),
    out: Path | None = None,
    formats: Sequence[str] = ("svg", "png"),
) -> list[Path]:
    """Draw the figures that the results in `directory` have data for.

    Parameters
    ----------
    names : kinds of figures, or `path/to/file.py:ClassName`; by default all that are not only on
        request.
    out : output folder, by default `figures` in `directory`.
    formats : some of "svg", "png", "pdf" and "pgf"; figures too large for SVG are PNG instead.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    StoreError
        If the folder holds no results.
    ValueError
        If there is no such kind of figure, or no such format, or no LaTeX for PGF.
    """
    for extension in formats:
        check_choice(extension, "format", get_args(FigureFormat))
    if "pgf" in formats:
        check_pgf()
    chosen = drawings(names) if names else None
    checks, recorded = directory / CHECKS, RunFolder(directory)
    results = Results(recorded.results)
    runs = Runs(
        results.without_repeats,
        recorded.traces,
        recorded.model,
        pd.read_csv(checks) if checks.is_file() else pd.DataFrame(),
        recorded.paths,
        results,
        recorded.manifest["time_limit"],
    )
    return plot_runs(runs, out or directory / "figures", chosen, formats)


def plot_runs(
    runs: Runs,
    folder: Path,
    chosen: Sequence[Drawing] | None = None,
    formats: Sequence[str] = ("svg", "png"),
) -> list[Path]:
    """Draw the chosen kinds of figures that `runs` have data for; return the written files.

    By default, an exclusive kind that draws anything replaces all others.
    """
    kinds = [kind for kind in chosen or drawings() if kind.applies_to(runs)]
    written: dict[str, list[Path]] = {}  # by lower-case name: some file systems ignore case
    with style():
        if chosen is None:
            exclusive_kinds = [
                kind for kind in kinds if kind.exclusive and any(True for _ in kind.draw(runs))
            ]
            kinds = exclusive_kinds[:1] or kinds
        for kind in kinds:
            for name, drawn in kind.draw(runs):
                numbered = (name if i == 1 else f"{name}-{i}" for i in count(1))
                free = next(n for n in numbered if n.lower() not in written)
                written[free.lower()] = save(drawn, folder, free, kind.png_only, formats)
    return [path for paths in written.values() for path in paths]
