"""Arithmetic that knows its own rounding: one formula, evaluated on numbers or on what holds them.

[m ± r] stands for all numbers that are within r of m, and what is computed of them holds what is meant.
A formula may meet arrays of three kinds, all with +, −, *, /, `abs`, `np.maximum` and `np.logaddexp`:
NumPy's of float64 numbers; `Intervals`, float64 midpoints with radii, nearly as quick; and `Balls` of
python-flint, at any precision. Functions of other names are below.
"""

from typing import Any

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.midpoint_radius import Intervals


def entropy(p: Any) -> Any:
    """Return p·ln p, 0 at p = 0; of a ball that may be 0 also 0, which is no less."""
    if isinstance(p, Intervals | Balls):
        return p.entropy()
    return p * np.log(np.where(p > 0, p, 1.0))


def log_sum_exp(f: Any) -> Any:
    """Return ln Σₖ exp(fₖ) of each row (n, K)."""
    if isinstance(f, Intervals):
        return f.log_sum_exp()
    if isinstance(f, Balls):
        return np.log(np.exp(f).sum(axis=1))
    largest = f.max(axis=1)
    return largest + np.log(np.exp(f - largest[:, None]).sum(axis=1))
