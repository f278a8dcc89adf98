"""Rosenblatt's online perceptron: learn from mistakes only.

    w ← w + yᵢφ(xᵢ),  b ← b + yᵢ    whenever yᵢ(wᵀφ(xᵢ) + b) ≤ 0

Started at 0, w = Σ αᵢyᵢφ(xᵢ) with αᵢ the number of mistakes on sample i: a dual point of the hard
margin, for any kernel. If some unit vector u separates the samples x̃ = (φ(x), 1) with yᵢuᵀx̃ᵢ ≥ γ, each
mistake adds at least γ to uᵀw̃ and at most R² = max ‖x̃ᵢ‖² to ‖w̃‖², so that after k of them
    kγ ≤ uᵀw̃ ≤ ‖w̃‖ ≤ R√k,  so  k ≤ R²/γ²
(Novikoff 1962), in any order. Without an intercept x̃ = φ(x).

It finds some separating hyperplane, not the one of maximal margin, and claims nothing. If none exists
it would run forever; `solve` then stops it on an exact proof of that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Block
from dualgap.problems.problem.certificate import Certificate
from dualgap.problems.validation import check_integer
from dualgap.solvers.base import ENTRIES_PER_YIELD, Solver
from dualgap.solvers.needs import Need


@dataclass(frozen=True)
class Perceptron(Solver):
    """The online perceptron on a hard margin; its iterations are its mistakes.

    Attributes
    ----------
    max_passes : passes over the data after which it stops.
    """

    max_passes: int = 100_000

    form: ClassVar = Formulation
    needs: ClassVar = (
        Need("a hard margin, as it has no slack", lambda form, _: form.risk.is_hard),
        Need("a Gram matrix that fits in memory", lambda form, _: form.samples.gram().fits),
    )
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Rosenblatt 1958; Novikoff 1962; Gori's notes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.max_passes, "max_passes")

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield after each pass, or after several short ones."""
        gram, y = problem.samples.gram(), problem.y
        Q = gram.dense() + float(problem.intercept)  # for x̃, whose last feature is 1
        Q *= y[:, None]
        Q *= y
        alpha = np.zeros(y.size)
        block = max(1, ENTRIES_PER_YIELD // y.size**2)
        passes, mistaken = 0, True
        while mistaken and passes < self.max_passes:
            size = min(block, self.max_passes - passes)
            mistaken = _passes(Q, alpha, Q @ alpha, size)
            passes += size
            yield FormPoint(
                alpha.copy(),
                iterations=int(alpha.sum()),
                claim="stopped",
                counters={"kernel_evaluations": gram.evaluations},
            )


def mistake_bound(problem: Formulation, maximal: Certificate) -> float:
    """Return R²/γ², a bound on the mistakes of a perceptron for any order of the samples.

    γ is taken from the hyperplane (w, b) of maximal margin, with u = (w, b)/‖(w, b)‖: as the smallest
    yᵢ(wᵀφ(xᵢ) + b) is 1, γ = 1/√(‖w‖² + b²). Without an intercept no larger γ exists.

    Parameters
    ----------
    problem : a hard margin.
    maximal : certificate of its solution.

    Raises
    ------
    ValueError
        If the certificate has no upper bound: no hyperplane is known to separate the samples.
    """
    norm_squared = 2.0 * maximal.primal_objective
    if not np.isfinite(norm_squared):
        raise ValueError(
            f"maximal: must separate the samples with a certified margin, got {maximal!r}"
        )
    constant = 1.0 if problem.intercept else 0.0
    radius_squared = float(problem.samples.gram().diagonal().max()) + constant
    return radius_squared * (norm_squared + constant * float(maximal.point.b or 0.0) ** 2)


@numba.njit(cache=True)
def _passes(Q: Block, alpha: Vector, margins: Vector, count: int) -> bool:
    """Make up to `count` passes, changing alpha and the margins yᵢf(xᵢ) in place.

    Stop after a pass without mistakes; return whether the last pass made one.
    """
    mistaken = True
    for _ in range(count):
        mistaken = False
        for i in range(alpha.size):
            if margins[i] <= 0.0:
                alpha[i] += 1.0
                row = Q[i]
                for t in range(row.size):
                    margins[t] += row[t]
                mistaken = True
        if not mistaken:
            break
    return mistaken
