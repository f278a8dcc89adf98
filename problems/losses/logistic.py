"""The logistic loss ln(1 + exp(−yf)), with the logistic function and its entropy."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from dualgap.problems.arithmetic import entropy
from dualgap.problems.dataset import Vector
from dualgap.problems.losses.base import ScalarLoss

_MOST_STEPS = 100  # of a safeguarded Newton's method in one variable, which takes 3 to 8


def sigmoid(z: Vector) -> Vector:
    """Return σ(z) = 1/(1 + exp(−z)) without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, small) / (1.0 + small)


@numba.njit(cache=True)
def logistic_step(u: float, t: float) -> float:
    """Return the a in [0, 1] with a = σ(−u − t·a).

    With z = u + t·a it is the root of z − u − t·σ(−z), which rises from below 0 at z = u to above 0
    at z = u + t: Newton's steps, halving that bracket where one would leave it or is not half as long
    as the last but one (two steps alone may alternate for ever).
    """
    low, high, z = u, u + t, u
    last, before = t, t
    for _ in range(_MOST_STEPS):
        a = _sigmoid(-z)
        value = z - u - t * a
        if value < 0.0:
            low = z
        else:
            high = z
        step = -value / (1.0 + t * a * (1.0 - a))
        if not low <= z + step <= high or abs(step) > 0.5 * before:
            step = 0.5 * (low + high) - z
        before, last = last, abs(step)
        z += step
        if last <= 1e-15 * (abs(z) + abs(u)):
            break
    return _sigmoid(-z)


@numba.njit(cache=True)
def _sigmoid(z: float) -> float:
    small = np.exp(-abs(z))
    return (1.0 if z >= 0.0 else small) / (1.0 + small)


@numba.njit(cache=True)
def logistic_steps(u: Vector, t: Vector) -> Vector:
    """Return `logistic_step` of each entry."""
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
        """1, where the sample is far on the wrong side."""
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
