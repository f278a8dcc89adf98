"""What has no path, and an interval that is none, is refused before anything is solved."""

import numpy as np
import pytest

from problems import HardMarginDual, OneVsRest, SoftMarginDual, SoftmaxERM, SVRDual
from solvers import solve_path

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
TARGETS = np.sin(X[:, 0])


@pytest.mark.parametrize(
    ("problem", "interval", "message"),
    [
        (SoftMarginDual(X, Y), {}, "give the interval of one"),
        (SoftMarginDual(X, Y), {"C": (1, 2), "epsilon": (0, 1)}, "give the interval of one"),
        (SoftMarginDual(X, Y), {"C": (0, 1)}, "above 0"),
        (SoftMarginDual(X, Y), {"C": (2, 1)}, "above 0"),
        (SoftMarginDual(X, Y), {"C": 3.0}, "interval"),
        (SoftMarginDual(X, Y), {"lam": (1, 2)}, "has none; follow its C"),
        (SVRDual(X, TARGETS, 1.0, 0.1), {"lam": (1, 2)}, "follow its C or its epsilon"),
        (SoftMarginDual(X, Y), {"C": (1, 2), "gap": 1.5}, "between 0 and 1"),
        (HardMarginDual(X, Y), {"C": (1, 2)}, "finite loss"),
        (OneVsRest(X, (Y + 1) / 2 + (X[:, 0] > 1), 1.0), {"C": (1, 2)}, "one function"),
        (SoftmaxERM(X, (Y + 1) / 2 + (X[:, 0] > 1), 1.0), {"lam": (1, 2)}, "one function"),
    ],
)
def test_what_has_no_path_is_refused(problem: object, interval: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        solve_path(problem, **interval)  # type: ignore[arg-type]
