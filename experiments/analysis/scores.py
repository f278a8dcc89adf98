"""One number for many times: means in which a run that failed counts as its limit."""

import numpy as np
from numpy.typing import ArrayLike


def shifted_geometric_mean(times: ArrayLike, limit: float, shift: float = 10.0) -> float:
    """Return exp(mean ln(tᵢ + shift)) − shift, the SGM10 of Mittelmann's benchmarks, in seconds.

    Parameters
    ----------
    times : seconds (n,), NaN for runs that failed: they count as `limit`, as do longer ones.
    limit : seconds. shift : seconds, so that the shortest times do not decide.
    """
    return float(np.exp(np.mean(np.log(_charged(times, limit, limit) + shift))) - shift)


def par(times: ArrayLike, limit: float, factor: float = 2.0) -> float:
    """Return the penalised average, PAR-2: the mean in which failures count `factor` times the limit."""
    return float(np.mean(_charged(times, limit, factor * limit)))


def _charged(times: ArrayLike, limit: float, failed: float) -> np.ndarray:
    seconds = np.asarray(times, np.float64)
    return np.where(np.isnan(seconds) | (seconds > limit), failed, seconds)
