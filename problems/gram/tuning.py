"""Thresholds above which work on a Gram matrix is divided or uses another algorithm."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GramTuning:
    """Sizes of tiles, and of matrices that are factorised or evaluated as a whole."""

    tile_rows: int = 256
    tile_columns: int = 512  # 512 KiB of float32: the fastest of six, within 1 %, for d = 20 to 300
    copied_bytes: int = 2**18  # of samples at a time: half of a core's cache
    wide_columns: int = 4096  # for samples of many features, whose lists of entries are then longer
    frequent_share: float = 0.1  # of samples that have a feature; their product is a dense one
    max_dense_samples: int = 4000  # storing K pays; beyond, solvers that select rows are faster
    product_values: int = 2**17  # of K at a time, 1 MiB: large enough for BLAS, and for a cache
    max_cholesky_rows: int = 5000  # a factor takes seconds; beyond, no method needs one
    max_ball_rows: int = 3000  # evaluating all of K in ball arithmetic takes about ten seconds


TUNING = GramTuning()
