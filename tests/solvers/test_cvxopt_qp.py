"""CVXOPT as its authors ship it leaves its own options alone."""

import cvxopt
import numpy as np

from problems import SoftMarginDual
from solvers import CvxoptQP, solve


def samples(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def test_options_of_cvxopt_stay_as_they_were() -> None:
    before = dict(cvxopt.solvers.options)
    solve(SoftMarginDual(*samples(), 1.0), CvxoptQP(tol=1e-5, max_iter=7))
    assert cvxopt.solvers.options == before
