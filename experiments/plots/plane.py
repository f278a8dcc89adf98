"""Answers to two-dimensional problems, drawn: f(x) = wᵀφ(x) + b, its margins and support vectors."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import BLUE, ORANGE, key, label_outside, shortened, wrap
from dualgap.problems import Geometry, Vector
from dualgap.problems.answers.geometry import upper_limits
from dualgap.problems.kernels import Block

Answer = tuple[pd.Series, Geometry]
_GRID = 160  # points per side
CLASSES = ((-1.0, ORANGE, "o"), (1.0, BLUE, "^"))
_RINGS: dict[str, dict[str, Any]] = {
    "free": {"marker": "o", "facecolors": "none", "edgecolors": "black"},
    "bounded": {"marker": "s", "facecolors": "none", "edgecolors": "black"},
}


def binary_answers(runs: Runs) -> Iterator[tuple[str, list[Answer]]]:
    """Yield each two-dimensional problem of two classes with its answers."""
    for problem in runs.problems:
        answers = [a for a in planar(runs, problem) if np.isin(a[1].problem.y, (-1.0, 1.0)).all()]
        if answers:
            yield problem, answers


def planar(runs: Runs, problem: str) -> list[Answer]:
    """Return the typical runs on a two-dimensional problem whose answer is stored.

    The result has one run per solver, its best certified one, sorted by gap.
    """
    if not (runs.of(problem)["d"] == 2).any():
        return []
    best: dict[str, Answer] = {}
    by_gap = sorted(
        runs.typical(problem), key=lambda run: np.nan_to_num(run["relative_gap"], nan=np.inf)
    )
    for run in by_gap:
        if run["series"] not in best and (answer := runs.model(run["run_id"])) is not None:
            best[run["series"]] = run, answer
    return list(best.values())


def draw_regions(ax: Axes, answer: Geometry) -> None:
    """Draw regions, the contours f = −1, 0, 1, samples, and rings around support vectors."""
    X, y = np.asarray(answer.problem.X), answer.problem.y
    x1, x2, points = grid(X, _GRID)
    f = decision(answer, points).reshape(_GRID, _GRID)
    if np.isfinite(f).all():
        levels = [min(float(f.min()), 0.0) - 1, 0.0, max(float(f.max()), 0.0) + 1]
        tints = "#FBE8C8", "#CFE4F3"  # of the classes' colours
        ax.contourf(x1, x2, f, levels, colors=tints)
        for level, width in ((-1, 0.8), (0, 1.3), (1, 0.8)):
            contour(ax, x1, x2, f, level, "black", width)
    draw_samples(ax, X, y)
    kinds = answer.kinds
    rings = float(np.clip(4000 / max(1, (kinds != "zero").sum()), 18, 3 * _size(len(X)) + 8))
    for kind, ring in _RINGS.items():
        of_kind = X[kinds == kind]
        ax.scatter(of_kind[:, 0], of_kind[:, 1], s=rings, linewidths=0.6, **ring)


def name_axes(axes: Sequence[Axes], answer: Geometry) -> None:
    """Label the axes with the names of the two features, if they have any."""
    features = [wrap(name, 40, 1) for name in answer.problem.names.features]
    x1, x2 = features if len(features) == 2 else ("$x_1$", "$x_2$")
    label_outside(axes, x1, x2)


def draw_samples(ax: Axes, X: Block, y: Vector) -> None:
    """Draw the samples `X` (n, 2) in the colours of their classes, and the axes around them."""
    for label, colour, marker in CLASSES:
        members = X[y == label]
        ax.scatter(
            members[:, 0], members[:, 1], s=_size(len(X)), c=colour, marker=marker, linewidths=0
        )
    x1, x2, _ = grid(X, 2)
    ax.set(xlim=x1, ylim=x2)
    ax.grid(visible=False)


def _size(samples: int) -> float:
    return float(np.clip(1500 / samples, 3, 14))


def decision(answer: Geometry, points: Block) -> Block:
    """Return f at `points` (m, 2), for K classes those of all subproblems, (m, K).

    It is scaled to ±1 on the margins, even if these are at ±ρ. Points are evaluated in chunks, as their
    kernel matrices are dense.
    """
    blocks = np.array_split(points, min(_GRID, len(points)))
    f = np.concatenate([answer.outputs(block) for block in blocks])
    return f / answer.problem.decision(answer.offsets).margin


def answer_keys(answer: Geometry) -> list[tuple[Any, str]]:
    """Return the legend's entries for an answer, with the names of its classes."""
    hard = bool(np.isinf(upper_limits(answer.problem)).all())
    return region_keys(hard, answer.problem.names.classes)


def region_keys(hard: bool = False, names: Sequence[str] = ()) -> list[tuple[Any, str]]:
    """Return the legend's entries for samples, support vectors and contours.

    A hard margin (`hard`) has one kind of support vector: none is at a bound. `names` are those of the
    two classes, if they have any.
    """
    texts = [shortened(name, 30) for name in names] if len(names) == 2 else ["y = −1", "y = +1"]
    classes = [
        (key(color=colour, marker=marker, linestyle="none"), text)
        for (_, colour, marker), text in zip(CLASSES, texts, strict=True)
    ]
    rings = [
        (
            key(color="black", marker=ring["marker"], linestyle="none", fillstyle="none"),
            "support vector" if hard else f"support vector, {kind}",
        )
        for kind, ring in _RINGS.items()
        if not (hard and kind == "bounded")
    ]
    lines = [
        (key(color="black", linestyle="-"), "f = 0"),
        (key(color="black", linestyle="--", linewidth=0.8), "f = ±1"),
    ]
    return [*classes, *rings, *lines]


def grid(X: Block, side: int) -> tuple[Vector, Vector, Block]:
    """Return x₁, x₂ and the `side` × `side` points of a grid slightly larger than the samples `X`."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.where(high > low, 0.06 * (high - low), 1.0)
    x1, x2 = np.linspace(low - margin, high + margin, side).T
    return x1, x2, np.column_stack([g.ravel() for g in np.meshgrid(x1, x2)])


def contour(
    ax: Axes, x1: Vector, x2: Vector, f: Block, level: float, colour: str, width: float
) -> None:
    """Draw the contour f = `level`, if it exists: solid for 0, dashed for others."""
    if f.min() < level < f.max():
        dash = "-" if level == 0 else "--"
        ax.contour(x1, x2, f, [level], colors=colour, linestyles=[dash], linewidths=[width])
