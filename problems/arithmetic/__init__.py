"""Arithmetic with error bounds: one formula, evaluated on numbers or on enclosures of them.

A ball [m ± r] contains all numbers within r of m; an operation's result contains the exact result for
all numbers in its operands. A formula may be evaluated on arrays of three kinds, all with +, −, *, /,
`abs`, `np.maximum` and `np.logaddexp`: NumPy arrays of float64; `Intervals`, float64 midpoints with
radii, nearly as fast; and `Balls` of python-flint, at any precision. Other functions are defined below.
"""

from typing import Any

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.enclosure import Enclosure as Enclosure
from dualgap.problems.arithmetic.intervals import Intervals


def entropy(p: Any) -> Any:
    """Return p·ln p, and 0 at p = 0; for a ball that contains 0 also 0, an upper bound."""
    if isinstance(p, Intervals | Balls):
        return p.entropy()
    return p * np.log(np.where(p > 0, p, 1.0))


def log_sum_exp(f: Any) -> Any:
    """Return ln Σₖ exp(fₖ) for each row of f (n, K)."""
    if isinstance(f, Intervals):
        return f.log_sum_exp()
    if isinstance(f, Balls):
        return np.log(np.exp(f).sum(axis=1))
    largest = f.max(axis=1)
    return largest + np.log(np.exp(f - largest[:, None]).sum(axis=1))
