"""Some rows of K say how many of its entries count, and how near it is to its diagonal."""

import numpy as np

from dualgap.problems import RBF, KernelQP, SoftMarginDual, reduce
from dualgap.solvers.semismooth_newton import diagnose


def form_of(gamma: float, C: float = 1.0, copies: int = 1) -> KernelQP:
    X = np.vstack([np.random.default_rng(0).standard_normal((3000 // copies, 15))] * copies)
    y = np.tile(np.where(X[: 3000 // copies, 0] > 0, 1.0, -1.0), copies)
    return reduce(SoftMarginDual(X, y, C, RBF(gamma)), KernelQP).form


def test_semismooth_newton_pays_off_for_narrow_kernels_only() -> None:
    narrow, wide = diagnose(form_of(4.0), 1e-6), diagnose(form_of(0.01), 1e-6)
    assert narrow.problem.form.n == wide.problem.form.n == 3000
    assert narrow.pays
    assert not wide.pays
    assert wide.density == 1.0
    assert narrow.entries < 0.01 * wide.entries
    assert narrow.fits(1.0)
    assert not wide.fits(100.0)


def test_the_drop_threshold_falls_with_the_box_and_the_tolerance() -> None:
    assert np.isclose(diagnose(form_of(4.0), 1e-3).threshold, 1e-4 / 3000, atol=0)
    assert np.isclose(diagnose(form_of(4.0, C=100.0), 1e-3).threshold, 1e-4 / 3e5, atol=0)
    assert np.isclose(diagnose(form_of(4.0), 1e-15).threshold, 1e-16, rtol=1e-4, atol=0)


def test_equal_samples_count_once() -> None:
    diagnosis = diagnose(form_of(4.0, copies=3), 1e-6)
    assert diagnosis.problem.form.n == 1000
    assert not diagnosis.pays
