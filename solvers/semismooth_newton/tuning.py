"""Sizes from which semismooth Newton and its parts are worthwhile; `bench_choice` measures them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SemismoothTuning:
    """Constants of the choice of the method, and of its matrix of large entries."""

    min_variables: int = 3000  # below, SMO takes almost no time
    sampled_rows: int = 32  # of K, from which its sparsity is estimated
    max_negligible: float = 1e-6  # of the largest diagonal entry: neglecting more saves nothing
    min_float32_variables: int = 5000  # from here on the first pass is in float32
    tile_rows: int = 1024  # of K; with 256 the matrix takes a tenth longer
    tile_columns: int = 512
    max_factored: int = 1000  # variables; up to here a Cholesky factor takes almost no time


TUNING = SemismoothTuning()
