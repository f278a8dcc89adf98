"""Sizes and thresholds of SMO, tuned on a9a, w8a, ijcnn1 and generated samples."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SMOTuning:
    """Constants of working sets, active variables, refreshes and Newton steps; sizes in variables."""

    max_small: int = 500  # above, rows in float32 take less time than all of K in float64
    max_one_set: int = 1024  # up to here one working set holds all, so that its block of K is kept
    working_set: int = 512  # its block of K in float32, 1 MiB, stays in the second-level cache
    foreseen_share: float = 0.9  # of variables without a row violate: compute all rows
    max_all_active_bytes: int = 2 * 10**9  # of K; all variables are active if it takes no more
    max_first_active: int = 4096  # otherwise
    max_unchecked_bytes: int = 2**26  # allocated without checking the available memory
    max_futile: int = 5  # refreshes without halving the violation; then continue in float64
    error_sigmas: float = 5.0  # standard deviations that no error of a score is assumed to exceed

    # Newton steps
    patience: int = 20  # rounds without halving the violation, before an exact step is considered
    max_factored: int = 3000  # above, rounds take less time than K and its factor
    min_free: int = 600  # with fewer free variables rounds take almost no time
    min_rounds: int = 6  # between approximate steps: in them variables become free
    max_start_gap: float = 0.1  # relative; above, the free variables are not those of the optimum
    max_products: int = 60  # with K per step


TUNING = SMOTuning()
