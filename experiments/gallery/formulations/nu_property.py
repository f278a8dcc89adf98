"""
nu: a fraction of the samples instead of a price
================================================

Instead of the price C of a slack, the ν-machines have a fraction of the samples, 0 < ν ≤ 1. For
every answer

- at most a fraction ν of the samples are margin errors: short of the margin, outside of the tube, or
  novel to a machine of one class;
- at least a fraction ν are support vectors.

The dual says why: the multipliers add up to ν·n and none is above 1. So at most ν·n of them can be 1, as
those of all margin errors are, and at least ν·n must be above 0. The dotted line is ν itself.

From Schölkopf, Smola, Williamson & Bartlett 2000, proposition 5, and Schölkopf et al. 2001.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import (
    BLUE,
    GREY,
    VERMILION,
    key,
    label_outside,
    legend,
    panels,
)
from dualgap.problems import RBF, Formulation, NuSVC, NuSVR, OneClassSVM, Vector, datasets
from dualgap.solvers import solve

NU = np.linspace(0.04, 1.0, 25)
_SLACK_TOLERANCE = 1e-6  # smaller slacks are rounding


class NuFractions(NamedTuple):
    """For each nu of a machine: fractions of margin errors and of support vectors."""

    nu: Vector
    errors: Vector
    support: Vector


def compute() -> dict[str, NuFractions]:
    """Solve each of the three machines for all its feasible nu."""
    two = datasets.load("two_moons", n=120, noise=0.3, seed=1)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, (120, 1))
    y = np.sin(x[:, 0]) + 0.4 * rng.standard_normal(120)
    max_nu = 2 * min((two.y > 0).mean(), (two.y < 0).mean())
    return {
        "classification: NuSVC": _fractions(
            [NuSVC(two.X, two.y, nu, RBF(2.0)) for nu in NU[max_nu >= NU]]
        ),
        "regression: NuSVR": _fractions([NuSVR(x, y, nu, 1.0, RBF(1.0)) for nu in NU]),
        "one class: OneClassSVM": _fractions([OneClassSVM(two.X, nu, RBF(2.0)) for nu in NU]),
    }


def _fractions(problems: list[Formulation]) -> NuFractions:
    answers = [solve(problem, target_gap=1e-8).geometry for problem in problems]
    errors = [np.mean(geometry.slacks > _SLACK_TOLERANCE) for geometry in answers]
    support = [geometry.support.size / geometry.problem.n for geometry in answers]
    nu = [geometry.problem.nu for geometry in answers]  # type: ignore[attr-defined]
    return NuFractions(*map(np.array, (nu, errors, support)))


def draw(machines: dict[str, NuFractions]) -> Figure:
    """Draw both fractions against nu, one panel per machine."""
    new, axes = panels(list(machines), shared_axes="y")
    for ax, shares in zip(axes, machines.values(), strict=True):
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=":")
        ax.plot(shares.nu, shares.support, color=BLUE, marker="o", markersize=3)
        ax.plot(shares.nu, shares.errors, color=VERMILION, marker="s", markersize=3)
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02))
    label_outside(axes, "ν", "fraction of the samples")
    legend(
        new,
        [
            (key(color=BLUE, marker="o", markersize=3), "support vectors"),
            (key(color=GREY, linestyle=":"), "ν"),
            (key(color=VERMILION, marker="s", markersize=3), "margin errors"),
        ],
        columns=3,
    )
    return new
