"""Simplified SMO: sweep over the samples, pair each KKT violator with a random partner.

    min ½xᵀQx + pᵀx  s.t. aᵀx = delta, 0 ≤ x ≤ ub,   every aᵢ = ±1

Written as the algorithm of M. Straka, NPFL129 lecture 7 (2020), slides "Sequential Minimal
Optimization Algorithm Part I, Part II" and "Update Rules". Its symbols in those of the form: the
multipliers aᵢ are xᵢ, the targets tᵢ are aᵢ, C is ub, tᵢtⱼK(xᵢ, xⱼ) is Q[i, j], and
Eᵢ = y(xᵢ) − tᵢ is aᵢgᵢ + b with the gradient g = Qx + p. In this form the algorithm also covers the
hard margin (ub = ∞) and regression, where each sample occurs twice, with a = +1 and −1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.kernels import Block
from dualgap.problems.validation import check_integer, check_positive
from dualgap.solvers.base import ENTRIES_PER_YIELD, Solver
from dualgap.solvers.needs import TEXTBOOK_PAIRS


@dataclass(frozen=True)
class SimplifiedSMO(Solver):
    """Random-partner SMO, as taught. It claims nothing ("stopped"): a random partner may not help.

    Attributes
    ----------
    tol : margin of the KKT check, for tᵢEᵢ and, as in the notes, also for the distance of xᵢ to its
        bounds: if ub is below it, nothing moves.
    max_passes : consecutive passes without a change after which it stops
        (max_passes_without_as_changing in the notes).
    max_iter : limit on passes over the data; a pass reads the violators' rows and computes every
        sample's score, O(n²).
    min_step : relative change of xⱼ up to which a step is skipped.
    seed : for drawing the partners.
    """

    tol: float | None = None
    max_passes: int = 10
    max_iter: int = 10_000
    min_step: float = 1e-5
    seed: int = 0

    form: ClassVar = BoxQP
    needs: ClassVar = TEXTBOOK_PAIRS
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Straka, NPFL129 lecture 7 (2020); Platt 1998"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.min_step, "min_step")
        check_integer(self.max_passes, "max_passes")

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each pass, or after several short ones."""
        Q, p, t, C = form.Q.dense(), form.p.copy(), np.array(form.a), form.ub.copy()
        x, b = form.first_point(), 0.0
        draws = np.random.default_rng(self.seed)
        # a pass takes as long as reading 1000 further entries
        block = max(1, ENTRIES_PER_YIELD // (form.n**2 + 1000))
        unchanged = passes = 0
        while unchanged < self.max_passes and passes < self.max_iter:
            size = min(block, self.max_iter - passes)
            # j = i + 1 + shift (mod n) is any sample but i
            for shifts in draws.integers(0, max(1, form.n - 1), (size, form.n)):
                b, changed = _pass(Q, p, t, C, x, b, self.tolerance, self.min_step, shifts)
                passes += 1
                unchanged = 0 if changed else unchanged + 1
                if unchanged == self.max_passes:
                    break
            yield FormPoint(x.copy(), iterations=passes)
        yield FormPoint(x, iterations=passes, claim="stopped")


@numba.njit(cache=True)
def _pass(
    Q: Block,
    p: Vector,
    t: Vector,
    C: Vector,
    x: Vector,
    b: float,
    tol: float,
    min_step: float,
    shifts: Indices,
) -> tuple[float, int]:
    """Run the for loop over i of the notes, changing x in place; return b and changed_as."""
    n, changed = x.size, 0
    for i in range(n):
        E_i = t[i] * (np.dot(Q[i], x) + p[i]) + b
        if (x[i] < C[i] - tol and t[i] * E_i < -tol) or (x[i] > tol and t[i] * E_i > tol):
            j = (i + 1 + int(shifts[i])) % n
            E_j = t[j] * (np.dot(Q[j], x) + p[j]) + b
            second_derivative = 2.0 * t[i] * t[j] * Q[i, j] - Q[i, i] - Q[j, j]
            if second_derivative >= 0.0:
                continue
            new_j = x[j] - t[j] * (E_i - E_j) / second_derivative
            L, H = limits(x[i], x[j], C[i], C[j], t[i], t[j])
            new_j = min(max(new_j, L), H)
            if abs(new_j - x[j]) <= min_step * (new_j + x[j]):
                continue
            new_i = partner(x[i], x[j], new_j, C[i], t[i], t[j])
            b = bias(Q, t, C, i, j, new_i - x[i], new_j - x[j], new_i, new_j, E_i, E_j, b)
            x[i], x[j] = new_i, new_j
            changed += 1
    return b, changed


@numba.njit(cache=True)
def limits(
    x_i: float, x_j: float, C_i: float, C_j: float, t_i: float, t_j: float
) -> tuple[float, float]:
    """Return L and H, the bounds on xⱼ that keep both multipliers in their boxes."""
    if t_i == t_j:
        return max(0.0, x_i + x_j - C_i), min(C_j, x_i + x_j)
    return max(0.0, x_j - x_i), min(C_j, C_i + x_j - x_i)


@numba.njit(cache=True)
def partner(x_i: float, x_j: float, new_j: float, C_i: float, t_i: float, t_j: float) -> float:
    """Return xᵢ − tᵢtⱼ(new xⱼ − xⱼ), clipped to its box because of rounding."""
    return min(max(x_i - t_i * t_j * (new_j - x_j), 0.0), C_i)


@numba.njit(cache=True)
def bias(
    Q: Block, t: Vector, C: Vector, i: int, j: int, change_i: float, change_j: float,
    new_i: float, new_j: float, E_i: float, E_j: float, b: float,
) -> float:  # fmt: skip
    """Return the b that satisfies the KKT condition of a multiplier inside its box, else the average."""
    b_j = b - E_j - t[j] * (change_i * Q[i, j] + change_j * Q[j, j])
    b_i = b - E_i - t[i] * (change_i * Q[i, i] + change_j * Q[j, i])
    if 0.0 < new_i < C[i]:
        return b_i
    if 0.0 < new_j < C[j]:
        return b_j
    return 0.5 * (b_i + b_j)
