"""Figures of a results folder, drawn from the folder alone: `plot_all(folder)`.

    gap_against_time          certified relative gap, seconds; a panel a problem
    bounds_against_iterations dual ≤ optimum ≤ primal; a panel a problem
    time_against_n            how time grows, with its exponent; a figure a growing problem
    decision_regions          two-dimensional problems; a panel a solver
    training                  two-dimensional problems; a figure a solver
    voting_regions            two-dimensional problems of several classes; a panel a voting rule
    overview                  verdict and time of every solver on every problem
    cross_validation          score on the part held out against a parameter; a panel a choice
    losses                    losses against the margin, where a run has regularised risks
    differences               distance to the QP optimum; what `dualgap verify` has checked

Each function takes the `Runs` of a folder (`gather` makes them from its tables), or one of them with
its answer, and returns a matplotlib `Figure`; it is drawn and saved inside `style()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.analysis.hosts import apart
from experiments.output.verify_tables import CHECKS
from experiments.plots.bounds_against_iterations import bounds_against_iterations
from experiments.plots.cross_validation import cross_validation, validated
from experiments.plots.decision_regions import decision_regions, planar
from experiments.plots.differences import differences
from experiments.plots.gap_against_time import gap_against_time
from experiments.plots.losses import losses
from experiments.plots.overview import overview, pages
from experiments.plots.runs import Runs, gather
from experiments.plots.style import PANELS, chunks, file_name, save, style
from experiments.plots.time_against_n import growing, time_against_n
from experiments.plots.training import training
from experiments.plots.voting_regions import strategy, voted, voting_regions
from experiments.store.folder import load_model, load_results, read_traces

__all__ = [
    "Runs",
    "bounds_against_iterations",
    "cross_validation",
    "decision_regions",
    "differences",
    "gap_against_time",
    "gather",
    "losses",
    "overview",
    "plot_all",
    "plot_checks",
    "plot_runs",
    "style",
    "time_against_n",
    "training",
    "voting_regions",
]

_Named = Iterator[tuple[str, Figure]]


def plot_all(directory: Path) -> list[Path]:
    """Draw every figure that the results in `directory` have data for, into its folder `figures`.

    Returns
    -------
    list of Path
        What was written: an SVG and a PNG of each figure.
    """
    model = partial(load_model, directory)
    runs = gather(apart(load_results(directory)), read_traces(directory), model)
    return plot_runs(runs, directory / "figures") + plot_checks(directory)


def plot_checks(directory: Path) -> list[Path]:
    """Draw what `dualgap verify` found in `directory`, if it did, into its folder `figures`."""
    checks = directory / CHECKS
    if not checks.is_file():
        return []
    with style():
        return save(differences(pd.read_csv(checks)), directory / "figures", "differences")


def plot_runs(runs: Runs, folder: Path) -> list[Path]:
    """Draw every figure that `runs` have data for into `folder`; return what was written."""
    if runs.table.empty:
        return []
    written: list[Path] = []
    used: set[str] = set()
    with style():
        for name, figure in _figures(runs):
            written += save(figure, folder, _unused(name, used))
    return written


def _unused(name: str, used: set[str]) -> str:
    """Return a file name that is not `used` yet, and note it; some disks take A for a."""
    numbered = (name if i == 1 else f"{name}-{i}" for i in count(1))
    free = next(candidate for candidate in numbered if candidate.lower() not in used)
    used.add(free.lower())
    return free


def _figures(runs: Runs) -> _Named:
    """Yield each figure with the name of its file, one at a time.

    Folds of a cross-validation are told by their means: a page for each would say less.
    """
    scores = validated(runs)
    if not scores.empty:
        yield "cross_validation", cross_validation(scores)
        return
    yield from _overviews(runs)
    if (runs.table["formulation"] == "regularized_erm").any():
        yield "losses", losses()
    yield from _paged("gap_against_time", gap_against_time, runs)
    yield from _paged("bounds_against_iterations", bounds_against_iterations, runs)
    for title, table in growing(runs):
        yield file_name("time_against_n", title), time_against_n(runs, title, table)
    for title, answers in voted(runs).items():
        yield file_name("voting_regions", title), voting_regions(title, answers)
    for problem in runs.problems:
        yield from _planar(runs, problem)


def _overviews(runs: Runs) -> _Named:
    every = list(pages(runs))
    for i, (problems, solvers) in enumerate(every, 1):
        name = "overview" if len(every) == 1 else f"overview-{i}"
        yield name, overview(runs, problems, solvers)


def _paged(kind: str, draw: Callable[[Runs, Sequence[str]], Figure], runs: Runs) -> _Named:
    """Yield figures of up to six problems; that of a single problem has its name."""
    every = list(chunks(runs.problems, PANELS))
    for i, problems in enumerate(every, 1):
        name = kind if len(every) == 1 else f"{kind}-{i}"
        single = file_name(kind, problems[0]) if len(runs.problems) == 1 else name
        yield single, draw(runs, problems)


def _planar(runs: Runs, problem: str) -> _Named:
    answers = [] if strategy(runs, problem) else planar(runs, problem)
    if answers:
        yield file_name("decision_regions", problem), decision_regions(answers[:PANELS])
    for run, model in answers:
        if len(runs.trace(run["run_id"])) > 1:
            name = file_name("training", problem, str(run["series"]))
            yield name, training(runs, run, model)
