"""Arithmetic that knows its own rounding: one formula, evaluated on numbers or on what holds them.

[m ± r] stands for all numbers that are within r of m, and what is computed of them holds what is meant.
There are three kinds of arrays that a formula may meet, all with +, −, *, / and `abs`: NumPy's of
float64 numbers; `Intervals`, float64 midpoints with radii, nearly as quick; and NumPy's of balls of
python-flint (`arb`), at any precision. Functions that not all of them have are below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from problems.arithmetic.midpoint_radius import Intervals

__all__ = ["Intervals", "entropy", "log_sum_exp", "positive", "softplus"]


def positive(v: Any) -> Any:
    """Return max(v, 0)."""
    if isinstance(v, Intervals):
        return v.positive()
    return _positive_of_arb(v) if _holds_arb(v) else np.maximum(v, 0.0)


def softplus(v: Any) -> Any:
    """Return ln(1 + exp(v)) without overflow."""
    if isinstance(v, Intervals):
        return v.softplus()
    return np.log1p(np.exp(v)) if _holds_arb(v) else np.logaddexp(0.0, v)


def entropy(p: Any) -> Any:
    """Return p·ln p, 0 at p = 0; of an arb ball that may be 0 also 0, which is no less."""
    if isinstance(p, Intervals):
        return p.entropy()
    return p * np.log(np.where(p > 0, p, 0 * p + 1))


def log_sum_exp(f: Any) -> Any:
    """Return ln Σₖ exp(fₖ) of each row (n, K)."""
    if isinstance(f, Intervals):
        return f.log_sum_exp()
    if _holds_arb(f):
        return np.log(np.exp(f).sum(axis=1))
    largest = f.max(axis=1)
    return largest + np.log(np.exp(f - largest[:, None]).sum(axis=1))


def _holds_arb(v: Any) -> bool:
    return isinstance(v, np.ndarray) and v.dtype.kind == "O"


_positive_of_arb: Any = np.frompyfunc(lambda ball: ball.max(0), 1, 1)
