"""Answers to two-dimensional problems, drawn: f(x) = wᵀφ(x) + b, its margins and support vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.plots.runs import Model, Runs
from experiments.plots.style import BLUE, ORANGE, key
from problems import Vector
from problems.kernels import Block

Answer = tuple[pd.Series, Model]
_GRID = 160  # points a side
_AT_BOUND = 1e-8  # relative to C, as in problems.answers.geometry
CLASSES = ((-1.0, ORANGE, "o"), (1.0, BLUE, "^"))
_TINTS = ("#FBE8C8", "#CFE4F3")  # of the classes' colours
_RINGS: dict[str, dict[str, Any]] = {
    "free": {"marker": "o", "facecolors": "none", "edgecolors": "black"},
    "bounded": {"marker": "s", "facecolors": "none", "edgecolors": "black"},
}


def binary_answers(runs: Runs) -> Iterator[tuple[str, list[Answer]]]:
    """Yield each problem of two classes in the plane with its answers."""
    for problem in runs.problems:
        answers = [a for a in planar(runs, problem) if np.isin(a[1]["y"], (-1.0, 1.0)).all()]
        if answers:
            yield problem, answers


def planar(runs: Runs, problem: str) -> list[Answer]:
    """Return the typical runs on a two-dimensional problem that left an answer.

    There is one run a solver, its best certified one, and they are sorted by their gaps.
    """
    if not (runs.of(problem)["d"] == 2).any():
        return []
    best: dict[str, tuple[float, pd.Series, Model]] = {}
    for run in runs.typical(problem):
        model = runs.model(run["run_id"])
        gap = float(run["relative_gap"]) if np.isfinite(run["relative_gap"]) else np.inf
        series = str(run["series"])
        if model is not None and (series not in best or gap < best[series][0]):
            best[series] = (gap, run, model)
    return [(run, model) for _, run, model in sorted(best.values(), key=lambda kept: kept[0])]


def draw_regions(ax: Axes, run: pd.Series, model: Model) -> None:
    """Draw regions, the contours f = −1, 0, 1, samples, and rings around support vectors."""
    X, y = np.asarray(model["X"], dtype=np.float64), np.asarray(model["y"], dtype=np.float64)
    x1, x2, points = grid(X, _GRID)
    f = decision(model, points).reshape(_GRID, _GRID)
    if np.isfinite(f).all():
        levels = [min(float(f.min()), 0.0) - 1, 0.0, max(float(f.max()), 0.0) + 1]
        ax.contourf(x1, x2, f, levels, colors=_TINTS)
        for level, width in ((-1, 0.8), (0, 1.3), (1, 0.8)):
            contour(ax, x1, x2, f, level, "black", width)
    draw_samples(ax, X, y)
    kinds = kinds_of(run, model)
    rings = float(np.clip(4000 / max(1, (kinds != "zero").sum()), 18, 3 * _size(len(X)) + 8))
    for kind, ring in _RINGS.items():
        own = X[kinds == kind]
        ax.scatter(own[:, 0], own[:, 1], s=rings, linewidths=0.6, **ring)


def draw_samples(ax: Axes, X: Block, y: Vector) -> None:
    """Draw the samples `X` (n, 2) in the colours of their classes, and the axes around them."""
    for label, colour, marker in CLASSES:
        own = X[y == label]
        ax.scatter(own[:, 0], own[:, 1], s=_size(len(X)), c=colour, marker=marker, linewidths=0)
    x1, x2, _ = grid(X, 2)
    ax.set(xlim=x1, ylim=x2)
    ax.grid(visible=False)


def _size(samples: int) -> float:
    return float(np.clip(1500 / samples, 3, 14))


def decision(model: Model, points: Block) -> Vector:
    """Return f at `points` (m, 2), from w where there is one, else from the support vectors.

    It is ±1 on the margins, also where these are at ±ρ, the answer's `level`.
    """
    b, level = float(model["b"]), float(model.get("level", 1.0))
    if model["w"] is not None:
        return (points @ np.asarray(model["w"], dtype=np.float64) + b) / level
    alpha = np.asarray(model["alpha"], dtype=np.float64)
    support = np.flatnonzero(alpha)
    beta = (alpha * model["y"])[support]
    f = in_blocks(lambda x: model["kernel"].bind(model["X"]).cross(x, support) @ beta, points) + b
    return f / level


def in_blocks(f: Callable[[Block], Block], points: Block) -> Block:
    """Return f at `points` (m, 2), taken in small blocks, as the kernel matrix of each is dense."""
    return np.concatenate([f(block) for block in np.array_split(points, _GRID)])


def upper(run: pd.Series) -> float:
    """Return the bound C of a run's dual variables; inf for the hard margin and for unknown ones."""
    if run["formulation"] == "nu_svc":
        return 1.0
    C, lam = (pd.to_numeric(run[name], errors="coerce") for name in ("C", "lam"))
    if np.isfinite(C):
        return float(C)
    return 1.0 / (float(run["n"]) * float(lam)) if np.isfinite(lam) else float("inf")


def kinds_of(run: pd.Series, model: Model) -> np.ndarray[Any, Any]:
    """Return "zero", "free" (0 < α < C) or "bounded" (α = C) for each sample."""
    alpha, C = np.asarray(model["alpha"], dtype=np.float64), upper(run)
    scale = C if np.isfinite(C) else float(alpha.max(initial=0.0))
    kinds = np.where(alpha > _AT_BOUND * scale, "free", "zero")
    return np.where(alpha >= C * (1 - _AT_BOUND), "bounded", kinds)


def region_keys(hard: bool = False) -> list[tuple[Any, str]]:
    """Return the legend's entries for samples, support vectors and contours.

    With a hard margin (`hard`) there is one kind of support vector: none is at a bound.
    """
    classes = [
        (key(color=colour, marker=marker, linestyle="none"), f"y = {label:+.0f}".replace("-", "−"))
        for label, colour, marker in CLASSES
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
    """Return x₁ and x₂ of a grid a little larger than the samples `X`, and `side` × `side` points."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.where(high > low, 0.06 * (high - low), 1.0)
    x1, x2 = np.linspace(low - margin, high + margin, side).T
    return x1, x2, np.column_stack([g.ravel() for g in np.meshgrid(x1, x2)])


def contour(
    ax: Axes, x1: Vector, x2: Vector, f: Block, level: float, colour: str, width: float
) -> None:
    """Draw where f is `level`, if it is anywhere: solid for 0, dashed for others."""
    if f.min() < level < f.max():
        dash = "-" if level == 0 else "--"
        ax.contour(x1, x2, f, [level], colors=colour, linestyles=[dash], linewidths=[width])
