"""Constants tuned on a9a, w8a, ijcnn1, farm-ads and generated samples."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DescentTuning:
    """Constants of dual coordinate descent on large problems."""

    sample_divisor: int = 16  # the sample has n/16 variables; 8 and 32 were no faster
    min_sample_variables: int = 2000  # smaller samples predict too little
    sample_epochs: int = 5  # before the first proximal step on a sample
    min_narrowed_variables: int = 10_000  # fewer gain nothing when some are set aside (mushrooms)
    small_gap: float = 1.0  # relative; below, variables at a bound are set aside between epochs
    large_system_equations: int = 1000  # then epochs and steps on a face come before Newton steps:
    max_face_steps: int = 100  # with 50, farm-ads took twice the time at C = 10,000
    face_products: int = 4  # of conjugate gradients in the first step on a face; then 8, 12, ...
    max_face_reading: int = 2**31  # multiplications without a pause, about a second
    max_face_per_feature: int = 2  # variables on the face: 8,300 with 1,200 features took minutes
    penalty_divisor: int = 16  # of ρ in those epochs: ρ itself took up to eight times as many
    factor_per_entry: int = 120  # m³ of a factor of order m take as long as an entry in an epoch
    # of the mean score; above, a variable at a bound is set aside; with 0.1 twice the steps on w8a
    sure_share: float = 0.2
    max_factor_per_entry: int = 10  # d³ per entry of X; above, epochs come first
    max_failed_checks: int = 5  # consecutive checks of all variables although none was shrunk
    entries_per_pause: int = 2**21  # entries of X read between two pauses: about 10 ms
    min_float32_equations: int = 500  # of a Newton step; from here on a float32 factor is tried
    neighbours: int = 8  # adjacent variables visited together in an epoch: halves the time on w8a
    first_sigma: float = 10.0  # of the first proximal step
    growth: float = 3.0  # of σ and ρ per step; with 5 a9a and w8a took a fifth more Newton steps
    setback: float = 25.0  # divides σ when shrunk variables turn out to violate
    max_sigma: float = 1e6  # relative to `across`; above, σ only adds rounding
    max_free_per_feature: int = 8  # variables inside the box in a first step
    watched_change: float = 0.5  # scores up to this times the last change keep a variable active
    sure_score: float = 0.25  # of the mean score; above, a start at the lower bound is shrunk


TUNING = DescentTuning()
