"""
SMO's box: how far a pair may move
==================================

SMO moves two multipliers along the line tᵢaᵢ + tⱼaⱼ = constant, which keeps the equality, and within
the box 0 ≤ aᵢ, aⱼ ≤ C. The best aⱼ on the line is clipped to [L, H]:

- equal labels: L = max(0, aᵢ + aⱼ − C) and H = min(C, aᵢ + aⱼ);
- different labels: L = max(0, aⱼ − aᵢ) and H = min(C, C + aⱼ − aᵢ).

From M. Straka's NPFL129 notes, "SMO Update Rules", and L. Minku's notes on SMO.
"""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREY, VERMILION, key, legend, panels

C = 1.0
STARTS = {BLUE: (0.35, 0.15, 0.9), VERMILION: (0.55, 0.8, 1.3)}  # aᵢ, aⱼ, and the best aⱼ

MARKS: dict[str, dict[str, Any]] = {
    "start": {"marker": "o"},
    "best on the line": {"marker": "x", "markeredgewidth": 1.6},
    "clipped to [L, H]": {"marker": "s", "markersize": 7, "fillstyle": "none"},
}


def ends(a_i: float, a_j: float, equal: bool) -> tuple[float, float]:
    """Return L and H, between which aⱼ may move."""
    if equal:
        return max(0.0, a_i + a_j - C), min(C, a_i + a_j)
    return max(0.0, a_j - a_i), min(C, C + a_j - a_i)


def compute() -> dict[bool, dict[str, dict[str, float]]]:
    """Return the move of each pair, by its colour, for equal and for different labels."""
    moves: dict[bool, dict[str, dict[str, float]]] = {True: {}, False: {}}
    for equal, by_colour in moves.items():
        for colour, (a_i, a_j, best) in STARTS.items():
            L, H = ends(a_i, a_j, equal)
            sign = -1.0 if equal else 1.0  # aᵢ moves against aⱼ, or with it
            by_colour[colour] = {"a_i": a_i, "a_j": a_j, "best": best, "L": L, "H": H, "sign": sign}
    return moves


def draw(moves: dict[bool, dict[str, dict[str, float]]]) -> Figure:
    """Draw the box, the lines, and the clipping; L and H below the axis of aⱼ."""
    new, axes = panels(["equal labels, tᵢ = tⱼ", "different labels, tᵢ ≠ tⱼ"], shared_axes="both")
    for ax, by_colour in zip(axes, moves.values(), strict=True):
        ax.plot([0, C, C, 0, 0], [0, 0, C, C, 0], color=BLACK)
        for (colour, move), depth in zip(by_colour.items(), (-0.3, -0.16), strict=True):
            _draw_move(ax, colour, move, depth)
        ax.set(xlim=(-0.25, 1.55), ylim=(-0.5, 1.4), xlabel="$a_j$", aspect="equal")
        ax.set(xticks=[0, C], xticklabels=["0", "C"], yticks=[0, C], yticklabels=["0", "C"])
        ax.grid(visible=False)
    axes[0].set_ylabel("$a_i$")
    marks = {name: key(color=BLACK, linestyle="none", **mark) for name, mark in MARKS.items()}
    legend(new, [(mark, name) for name, mark in marks.items()])
    return new


def _draw_move(ax: Axes, colour: str, move: dict[str, float], depth: float) -> None:
    def on_line(a_j: float) -> tuple[float, float]:
        return a_j, move["a_i"] + move["sign"] * (a_j - move["a_j"])

    L, H = move["L"], move["H"]
    ax.axline(on_line(L), on_line(H), color=GREY, linewidth=0.7)
    ax.plot(*zip(on_line(L), on_line(H), strict=True), color=colour, linewidth=2.2)
    positions = move["a_j"], move["best"], min(max(move["best"], L), H)
    for position, mark in zip(positions, MARKS.values(), strict=True):
        ax.plot(*on_line(position), color=colour, **mark)
    for name in ("L", "H"):
        down = on_line(move[name])[1], depth + 0.06
        ax.plot([move[name]] * 2, down, ":", color=colour, linewidth=0.9)
        ax.text(move[name], depth, name, color=colour, ha="center", va="center")
