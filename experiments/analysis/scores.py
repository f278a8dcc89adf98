"""One number for the times of a solver on all problems, with failures charged: SGM10 and PAR-2.

The first is that of Mittelmann's benchmarks, the second that of competitions in satisfiability.
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
    times : in seconds; NaN or infinite where a problem was not solved, which counts as `limit` seconds.
    """
    return float(np.expm1(np.log1p(_charged(times, limit) / shift).mean()) * shift)


def par(times: Iterable[float], limit: float) -> float:
    """Return the mean of the times in seconds, "penalised average runtime".

    Parameters
    ----------
    times : in seconds; NaN or infinite where a problem was not solved, which counts as twice `limit`
        seconds.
    """
    return float(_charged(times, 2.0 * limit).mean())


def _charged(times: Iterable[float], charge: float) -> Vector:
    known = np.asarray(list(times), np.float64)
    return np.where(np.isfinite(known), known, charge)
