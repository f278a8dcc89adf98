"""Lines of gaps hold what the traces say."""

import numpy as np

from dualgap.experiments.plots.figures.gap_against_time import (
    spread_out,
)


def test_overlapping_labels_are_separated_minimally():
    np.testing.assert_allclose(
        spread_out(np.array([0.1, 0.5, 0.5, 0.9]), 0.1), [0.1, 0.45, 0.55, 0.9]
    )
    np.testing.assert_allclose(spread_out(np.array([0.0, 0.0, 1.0]), 0.2), [0.0, 0.2, 1.0])
    crowded = spread_out(np.full(4, 0.99), 0.25)
    assert np.diff(crowded).min() > 0.249
    assert crowded.max() <= 1
