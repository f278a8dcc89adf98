"""A page for each solver, made of its class, of solutions of small problems, and of published runs.

`reference/solvers/NAME.rst` shows the class's docstring and source, what became of one problem of each
formulation, the certified gap over the iterations, and how many of the published runs were solved.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from docstrings import escape
from matplotlib.figure import Figure
from result_pages import RESULTS

from dualgap.experiments.files.settings import options_of
from dualgap.experiments.plots.style import style
from dualgap.problems import (
    RBF,
    ChainMargin,
    ConvexQP,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OneVsRest,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SoftmaxERM,
    SVRDual,
    SVRPrimal,
    datasets,
)
from dualgap.solvers import solve
from dualgap.solvers.base import SOLVERS, Solver, Status
from dualgap.solvers.running.defaults import SUCCESSORS
from dualgap.solvers.running.solution import Solution

_LIMITS: Any = {"time_limit": 1.0, "clock": process_time}  # whatever else the machine does
_N_LIMITS = 8  # of iterations, on a curve, each a solution from the start
_MIN_POINTS = 3  # of a curve


@cache
def _problems() -> dict[str, Any]:
    """Return a problem of each formulation, and of the variants that solvers tell apart."""
    classes = datasets.TwoGaussians(n=200, d=3, distance=2.5).load()
    apart = datasets.TwoGaussians(n=60, d=3, distance=9.0).load()
    line = datasets.Regression(n=200, d=3, noise=0.3).load()
    X, y, targets = classes.X, classes.y, (line.X, line.y)
    three = np.digitize(line.y, np.quantile(line.y, [0.3, 0.6])).astype(float)
    chains = datasets.HiddenMarkov(n=20, length=5).load()
    rbf = RBF(0.3)
    return {
        "soft margin, dual, RBF kernel": SoftMarginDual(X, y, 1.0, rbf),
        "soft margin, dual": SoftMarginDual(X, y, 1.0),
        "soft margin, dual, without intercept": SoftMarginDual(X, y, 1.0, intercept=False),
        "soft margin, primal": SoftMarginPrimal(X, y, 1.0),
        "hard margin, dual": HardMarginDual(apart.X, apart.y),
        "hard margin, primal": HardMarginPrimal(apart.X, apart.y),
        "hinge, without intercept": HingeERM(X, y, lam=0.01),
        "squared hinge": RegularizedERM(X, y, lam=0.01, loss="squared_hinge"),
        "logistic": RegularizedERM(X, y, lam=0.01, loss="logistic"),
        "squared loss": RegularizedERM(*targets, lam=0.01, loss="squared"),
        "perceptron's loss": RegularizedERM(X, y, lam=0.01, loss="perceptron"),
        "ε-insensitive regression, dual, RBF kernel": SVRDual(*targets, 1.0, 0.1, rbf),
        "ε-insensitive regression, primal": SVRPrimal(*targets, 1.0, 0.1),
        "ν-classification": NuSVC(X, y, 0.5, rbf),
        "ν-regression": NuSVR(*targets, 0.5, 1.0, rbf),
        "one class": OneClassSVM(X, nu=0.2, kernel=rbf),
        "one against the rest": OneVsRest(line.X, three, kernel=rbf),
        "softmax": SoftmaxERM(line.X, three, lam=0.01),
        "structured margin on chains": ChainMargin(chains.X, chains.y, length=5),
        "convex QP": ConvexQP(np.diag([2.0, 1.0]), [-1.0, -1.0], G=[[1.0, 1.0]], h=[0.5], lb=0.0),
    }


def _list_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return [*lines, ""]


def _solutions(cls: type[Solver]) -> dict[str, Solution]:
    return {title: solve(problem, cls(), **_LIMITS) for title, problem in _problems().items()}


def _draw(cls: type[Solver], title: str, iterations: int, path: Path) -> bool:
    """Draw the certified relative gap over the limit of iterations; return whether it is a curve."""
    limits = np.unique(np.geomspace(1, max(1, iterations), _N_LIMITS).astype(int))
    problem = _problems()[title]
    stopped = [solve(problem, cls(), max_iter=int(k), **_LIMITS) for k in limits]
    gaps = np.array([solution.certificate.relative_gap for solution in stopped])
    if np.unique(gaps[np.isfinite(gaps)]).size < _MIN_POINTS:
        return False
    with style():
        figure = Figure(figsize=(5.0, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.loglog(limits, gaps, marker="o", markersize=3)
        axes.set(xlabel="iterations", ylabel="certified relative gap", title=title)
        figure.savefig(path)
    return True


def _published(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield each experiment of `results/` with the solver's problems there, and its runs."""
    for file in sorted(RESULTS.rglob("runs.csv")):
        runs = pd.read_csv(file, usecols=["solver", "problem_id", "verdict"], dtype=str)
        runs = runs[runs["solver"] == name]
        if len(runs):
            solved = runs.loc[runs["verdict"] == "solved", "problem_id"].nunique()
            page = next(file.parent.glob("*.md")).relative_to(RESULTS.parent).with_suffix("")
            problems = f"{solved:,} of {runs['problem_id'].nunique():,}"
            yield f":doc:`{file.parent.name} </{page.as_posix()}>`", problems, f"{len(runs):,}"


def _what_it_solves(cls: type[Solver], image: Path) -> Iterator[str]:
    """Yield a section: problems solved, a curve, and problems that it does not take."""
    yield from ("", "What it solves", "--------------", "")
    if cls.needs:
        yield from ("It requires:", "", *(f"- {escape(need.name)}" for need in cls.needs), "")
    solutions, refused = _solutions(cls), dict[str, list[str]]()
    rows: list[Sequence[str]] = []
    for title, solution in solutions.items():
        if solution.status is Status.UNSUPPORTED:
            refused.setdefault(solution.note, []).append(title)
        elif solution.status is Status.NOT_INSTALLED:
            yield f"It is not installed where this page was made: {escape(solution.note)}."
            return
        else:
            gap = solution.certificate.relative_gap
            rows.append((title, str(solution.verdict), f"{solution.iterations:,}", f"{gap:.1e}"))
    yield from ("With its default settings, for a relative gap of 1e-6:", "")
    yield from _list_table(("problem", "outcome", "iterations", "certified gap"), rows)
    # several classes count the iterations of all subproblems, one after another
    title = max(
        (row[0] for row in rows),
        key=lambda name: (not solutions[name].parts, solutions[name].iterations),
    )
    if _draw(cls, title, solutions[title].iterations, image):
        yield from (f".. figure:: images/{image.name}", "")
        yield from ("   Each point is an answer with this limit of iterations, certified.", "")
    if refused:
        yield from ("It does not take:", "")
        yield from (f"- {'; '.join(titles)}: {escape(note)}" for note, titles in refused.items())


def _page(name: str, cls: type[Solver], image: Path) -> Iterator[str]:
    yield from (name, "=" * len(name), "", f".. autoclass:: {cls.__module__}.{cls.__qualname__}")
    yield from ("   :no-index:", "")
    if cls.source:
        yield f"Source: {cls.source}."
    if name in SUCCESSORS:
        successors = ", ".join(SUCCESSORS[name])
        yield f"\nAs the default it is followed by {successors} if it stops short of the target."
    if not any(option.required for option in options_of(cls).values()):
        yield from _what_it_solves(cls, image)
    if published := [*_published(name)]:
        yield from ("", "Published runs", "--------------", "")
        yield from _list_table(("experiment", "problems solved", "runs"), published)


def _write_page(name: str, folder: Path) -> None:
    page = "\n".join(_page(name, SOLVERS[name], folder / "images" / f"{name}.svg"))
    (folder / f"{name}.rst").write_text(page, encoding="utf-8")


def write(app: Any) -> None:
    """Write the pages, two at a time."""
    folder = Path(app.srcdir, "reference", "solvers")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        list(processes.map(_write_page, SOLVERS, repeat(folder)))


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before the sources are listed."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
