"""Scores of a solver's times on all problems, with penalties for failures: SGM10 and PAR-2.

Mittelmann's benchmarks use the first, SAT competitions the second.
"""

from collections.abc import Iterable

import numpy as np

from dualgap.problems import Vector

SGM10 = (
    "SGM10 is the shifted geometric mean of the times, exp(mean of log(t + 10 s)) − 10 s, in which a "
    "problem that was not solved counts as {limit}."
)
PAR2 = (
    "PAR-2 is the arithmetic mean of the times, in which a problem that was not solved counts as twice "
    "{limit}."
)


def shifted_geometric_mean(times: Iterable[float], limit: float, shift: float = 10.0) -> float:
    """Return exp(mean of log(t + shift)) − shift, in seconds.

    Parameters
    ----------
    times : in seconds; NaN or infinite if a problem was not solved, which counts as `limit` seconds.
    """
    return float(np.expm1(np.log1p(_charged(times, limit) / shift).mean()) * shift)


def par(times: Iterable[float], limit: float) -> float:
    """Return the penalised average runtime (PAR-2) in seconds.

    Parameters
    ----------
    times : in seconds; NaN or infinite if a problem was not solved, which counts as `2 * limit`.
    """
    return float(_charged(times, 2.0 * limit).mean())


def _charged(times: Iterable[float], charge: float) -> Vector:
    values = np.asarray(list(times), np.float64)
    return np.where(np.isfinite(values), values, charge)
