"""Rosenblatt's perceptron, on line: learn from each mistake, and from nothing else.

    w ← w + yᵢφ(xᵢ),  b ← b + yᵢ    whenever yᵢ(wᵀφ(xᵢ) + b) ≤ 0

Started at 0, w = Σ αᵢyᵢφ(xᵢ) with αᵢ the number of mistakes on sample i: a point of the hard margin's
dual, for any kernel. If some unit vector u separates the samples x̃ = (φ(x), 1) with yᵢuᵀx̃ᵢ ≥ γ, each
mistake adds at least γ to uᵀw̃ and at most R² = max ‖x̃ᵢ‖² to ‖w̃‖², so that after k of them
    kγ ≤ uᵀw̃ ≤ ‖w̃‖ ≤ R√k,  hence  k ≤ R²/γ²
(Novikoff 1962), whatever their order. Without an intercept x̃ = φ(x).

It finds some separating hyperplane, not the one of maximal margin, and claims nothing. Where none
exists it would go on for ever; `solve` then ends it with the exact proof that there is none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from dualgap.problems.certificates.certificate import Certificate
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Block
from dualgap.problems.validation import check_whole
from dualgap.solvers.base import Solver

_BLOCK_ENTRIES = 2**20  # entries of Q read between two yields: about a millisecond


@dataclass(frozen=True)
class Perceptron(Solver):
    """The on-line perceptron on a hard margin; its iterations are its mistakes.

    Attributes
    ----------
    max_passes : passes over the data after which it gives up.
    """

    max_passes: int = 100_000

    form: ClassVar = Formulation
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Rosenblatt 1958; Novikoff 1962; Gori's notes"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.max_passes, "max_passes")

    def refuses(self, problem: Formulation) -> str | None:
        """Mistakes are counted without a bound, and their scores need the whole Q."""
        if np.isfinite(problem.weight).any():
            return "the perceptron separates samples: it has no slack, for hard margins only"
        if not problem.gram().fits:
            return f"Perceptron works on the whole matrix Q, which for {problem.n} samples does not fit"
        return None

    def iterates(self, problem: Formulation) -> Iterator[FormPoint]:
        """Yield after each pass, or after several short ones."""
        gram, y = problem.gram(), problem.y
        # of x̃, whose last feature is 1
        Q = np.outer(y, y) * (gram.dense() + float(problem.intercept))
        alpha = np.zeros(y.size)
        block = max(1, _BLOCK_ENTRIES // y.size**2)
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
    """Return R²/γ², the number of mistakes that no order of the samples makes a perceptron exceed.

    γ is that of the hyperplane (w, b) of maximal margin, with u = (w, b)/‖(w, b)‖: as the smallest
    yᵢ(wᵀφ(xᵢ) + b) is 1, γ = 1/√(‖w‖² + b²). Without an intercept that is the largest γ there is.

    Parameters
    ----------
    problem : a hard margin.
    maximal : the certificate of its solution.

    Raises
    ------
    ValueError
        If it has no upper bound: then nothing is known to separate the samples.
    """
    norm_squared = 2.0 * maximal.primal_objective
    if not np.isfinite(norm_squared):
        raise ValueError(
            f"maximal: must separate the samples with a certified margin, got {maximal!r}"
        )
    constant = 1.0 if problem.intercept else 0.0
    radius_squared = float(problem.gram().diagonal().max()) + constant
    return radius_squared * (norm_squared + constant * float(maximal.point.b or 0.0) ** 2)


@numba.njit(cache=True)
def _passes(Q: Block, alpha: Vector, margins: Vector, count: int) -> bool:
    """Run through the samples up to `count` times, changing alpha and its yᵢf(xᵢ) in place.

    Return whether the last pass made a mistake; the first without one is the last.
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
