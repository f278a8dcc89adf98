"""Coordinate descent and Newton steps in one compiled call, for dense samples with few features.

    min ½‖Xᵀz‖² + qᵀz + Σ epsᵢ|zᵢ|  s.t. lo ≤ z ≤ hi,   w = Xᵀz kept up to date
Twenty epochs find which variables are free; a Newton step then moves all of these to the minimum on
their face (`dualgap.solvers.numerics.subspace`). They alternate until the violation is at most `fine`,
or no longer halves within 20 turns, as it is limited by float64. The method for large samples
(`descent`) takes longer to start than this in total.
"""

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import GroupedTerms
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.solvers.numerics.subspace import MAX_FREE, minimise_on_subspaces
from dualgap.solvers.smo.conditions import free_variables, on_one_side, slopes


@numba.njit(cache=True, nogil=True)
def minimise_linear(
    X: Block, z: Vector, terms: GroupedTerms, tol: float, fine: float, max_epochs: int
) -> tuple[Vector, int, float]:
    """Minimise from a feasible `z` (n,), which is overwritten, without an equality.

    `X` has shape (n, d). Returns w, the number of epochs and the violation.
    """
    q, eps, lo, hi, _ = terms
    w, diagonal = z @ X, np.sum(X * X, axis=1)
    state = np.uint64(1)
    epochs, best, stalled = 0, np.inf, 0
    order = np.arange(z.size)
    while True:
        violation = slopes(X @ w, z, terms, 0)[3]
        stalled = 0 if violation < 0.5 * best else stalled + 1
        best = min(best, violation)
        target = fine if best <= tol else tol
        if violation <= target or epochs >= max_epochs or stalled > 20:
            return w, epochs, violation
        count = min(20, max_epochs - epochs)
        active, size, reach = order, order.size, np.inf
        for _ in range(count):
            for t in range(size - 1, 0, -1):
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                s = int(state >> np.uint64(33)) % (t + 1)
                active[t], active[s] = active[s], active[t]
            size, reach = _epoch(X, w, z, q, eps, lo, hi, diagonal, active, size, reach)
        epochs += count
        # the time of the epochs, 0.4 ns per entry of X, but always 0.1 ms
        _newton(X, w, z, terms, max(1e-4, 4e-10 * count * X.size))


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def _epoch(
    X: Block, w: Vector, z: Vector, q: Vector, eps: Vector, lo: Vector, hi: Vector,
    diagonal: Vector, active: Indices, size: int, reach: float,
) -> tuple[int, float]:  # fmt: skip
    """Minimise over each of the first `size` active variables in turn.

    Variables pulled against their bound by more than `reach` are moved behind the others. Returns the
    number of the remaining ones, and the largest pull on them.
    """
    largest, at = 0.0, 0
    while at < size:
        t = active[at]
        row, slope = X[t], q[t]
        for j in range(w.size):
            slope += row[j] * w[j]
        up = -slope - (eps[t] if z[t] >= 0.0 else -eps[t])
        down = -slope - (eps[t] if z[t] > 0.0 else -eps[t])
        if (z[t] == hi[t] and down > reach) or (z[t] == lo[t] and up < -reach):
            size -= 1
            active[at], active[size] = active[size], active[at]
            continue
        at += 1
        gain = max(up if z[t] < hi[t] else 0.0, -down if z[t] > lo[t] else 0.0)
        if gain <= 0.0:
            continue
        largest = max(largest, gain)
        curvature = max(diagonal[t], 1e-100)  # of a sample of zeros, which goes to a bound
        goal = curvature * z[t] - slope  # soft thresholding
        end = max(goal - eps[t], 0.0) + min(goal + eps[t], 0.0)
        end = min(max(end / curvature, lo[t]), hi[t])
        change = end - z[t]
        z[t] = end
        for j in range(w.size):
            w[j] += change * row[j]
    return size, float(largest)


@numba.njit(cache=True, nogil=True)
def _newton(X: Block, w: Vector, z: Vector, terms: GroupedTerms, seconds: float) -> None:
    """Move the free variables to the minimum on their face."""
    free = free_variables(z, terms)
    if not 0 < free.size <= MAX_FREE:
        return
    rows, moved = X[free], z[free]
    r, low, high = on_one_side(X @ w, z, terms, np.zeros(1))
    ends, groups = (low[free], high[free]), terms.groups[free]
    minimise_on_subspaces(rows @ rows.T, r[free], moved, *ends, groups, seconds)
    w += (moved - z[free]) @ rows
    z[free] = moved
