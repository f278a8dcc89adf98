"""
Projections onto the box, the hyperplane, and both
==================================================

The projection onto {0 ≤ α ≤ C} clips every variable; the projection onto {aᵀα = delta} moves along a.
One after the other they do not give the nearest point of the intersection, which is clip(z − μa) with
the μ for which the equality holds. The toolkit finds it in O(n).

From C. Anderson's notebook, which takes one step for each, and M. Straka's NPFL129 notes on clipping;
the exact projection after Kiwiel 2008.
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREY, SKY, label_outside, panels
from dualgap.problems.box import project
from dualgap.problems.kernels import Block

C = 1.0
A = np.array([1.0, -1.0])
DELTA = 0.3
SETS = {
    "box 0 ≤ α ≤ C": (True, False),
    "hyperplane aᵀα = delta": (False, True),
    "both": (True, True),
}
ARROW = {"arrowstyle": "->", "color": BLUE, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}


def compute() -> tuple[Block, dict[str, Block]]:
    """Return points around the box, shape (m, 2), and the projections of each onto each set."""
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False) + 0.1
    points = 0.5 + 1.1 * np.column_stack([np.cos(angle), np.sin(angle)])
    nearest: dict[str, Block] = {}
    for name, (boxed, level) in SETS.items():
        reach = np.zeros(2) if boxed else np.full(2, -np.inf), np.full(2, C if boxed else np.inf)
        equality = (A, DELTA) if level else (None, 0.0)
        nearest[name] = np.array([project(z, *reach, *equality) for z in points])
    return points, nearest


def draw(numbers: tuple[Block, dict[str, Block]]) -> Figure:
    """Draw one panel per set, with an arrow from each point to its projection."""
    points, nearest = numbers
    new, axes = panels(list(nearest), shared_axes="both", height=2.2)
    for ax, (name, goals) in zip(axes, nearest.items(), strict=True):
        boxed, level = SETS[name]
        if boxed:
            ax.fill([0, C, C, 0], [0, 0, C, C], color=SKY, alpha=0.25, linewidth=0)
        if level:
            ax.axline((DELTA, 0), slope=1, color=GREY if boxed else BLACK, linewidth=1.0)
        if boxed and level:
            ax.plot([DELTA, C], [0, C - DELTA], color=BLACK, linewidth=2)
        for z, x in zip(points, goals, strict=True):
            ax.annotate("", x, z, arrowprops=ARROW)
        ax.plot(*points.T, "o", color=BLUE, markersize=3)
        ax.set(xlim=(-0.8, 1.8), ylim=(-0.8, 1.8), aspect="equal")
    label_outside(axes, "$α_1$", "$α_2$")
    return new
