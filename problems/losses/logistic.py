"""The logistic loss ln(1 + exp(−yf)), with the logistic function and its entropy."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from dualgap.problems.arithmetic import entropy
from dualgap.problems.dataset import Vector
from dualgap.problems.losses.base import ScalarLoss


def sigmoid(z: Vector) -> Vector:
    """Return σ(z) = 1/(1 + exp(−z)) without overflow."""
    exponential = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, exponential) / (1.0 + exponential)


@numba.njit(cache=True)
def logistic_step(u: float, t: float) -> float:
    """Return a in [0, 1] with a = σ(−u − t·a).

    z = u + t·a is the root of z − u − t·σ(−z), which rises from below 0 at z = u to above 0 at u + t. It
    is found by Newton steps, and bisection when a step would leave the bracket or is more than half as
    long as the last but one (otherwise two steps might alternate forever).
    """
    low, high, z = u, u + t, u
    step_size, previous_size = t, t
    for _ in range(100):  # a safeguard: it takes 3 to 8
        a = _sigmoid(-z)
        value = z - u - t * a
        if value < 0.0:
            low = z
        else:
            high = z
        step = -value / (1.0 + t * a * (1.0 - a))
        if not low <= z + step <= high or abs(step) > 0.5 * previous_size:
            step = 0.5 * (low + high) - z
        previous_size, step_size = step_size, abs(step)
        z += step
        if step_size <= 1e-15 * (abs(z) + abs(u)):
            break
    return _sigmoid(-z)


@numba.njit(cache=True)
def _sigmoid(z: float) -> float:
    exponential = np.exp(-abs(z))
    return (1.0 if z >= 0.0 else exponential) / (1.0 + exponential)


@numba.njit(cache=True)
def logistic_steps(u: Vector, t: Vector) -> Vector:
    """Return `logistic_step` for each entry."""
    a = np.empty(u.size)
    for i in range(u.size):
        a[i] = logistic_step(u[i], t[i])
    return a


@dataclass(frozen=True)
class Logistic(ScalarLoss):
    """ℓ(y, f) = ln(1 + exp(−y·f)), of logistic regression (cross entropy, −ln σ(y·f)).

    Conjugate a·ln a + (1 − a)·ln(1 − a) for a = −y·s in [0, 1].
    """

    source: ClassVar[str] = "Cox 1958; NPFL129 and Gori's notes (σ-NLL)"

    @property
    def lipschitz(self) -> float:
        """1, approached far on the wrong side."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """¼, at f = 0."""
        return 0.25

    def value(self, y: Any, f: Any) -> Any:
        """Return ln(1 + exp(−y·f))."""
        return np.logaddexp(0.0, -y * f)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −y·σ(−y·f)."""
        return -y * sigmoid(-y * f)

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return σ(f)·σ(−f)."""
        return sigmoid(f) * sigmoid(-f)

    def conjugate(self, y: Any, s: Any) -> Any:
        """Return a·ln a + (1 − a)·ln(1 − a) for a = −y·s in [0, 1]."""
        a = -y * s
        return entropy(a) + entropy(1.0 - a)

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return y·a with a = σ(−y·m − t·a), by Newton's method."""
        return y * logistic_steps(*np.broadcast_arrays(y * m, t))
