"""Samples in blocks in other units have the same verdict and relative gap, and weights that scale."""

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.problems import RegularizedERM, SoftMarginDual, SVRDual
from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.losses import Logistic, SquaredHinge
from dualgap.solvers import solve

ROUNDING = 1e-10  # relative gap of which a solver's own rounding may leave no digit


def in_units(kind, rng, s, t):
    """Return a problem on X·2^s with targets y·2^t, and the binary exponent of its weights."""
    X, noise = rng.normal(size=(60, 3)), rng.normal(size=60)
    C, intercept = 10.0 ** rng.uniform(-2, 2), bool(rng.integers(2))
    margin = X @ rng.normal(size=3) + noise
    regression = kind is SVRDual
    y = np.ldexp(margin, t) if regression else np.where(margin > 0, 1.0, -1.0)
    blocks = Blocks.checked(ArraySource(np.ldexp(X, s), y, None, 20))
    t = t if regression else 0
    C = float(np.ldexp(C, t - 2 * s))
    if kind is SVRDual:
        problem = SVRDual(blocks, None, C=C, epsilon=float(np.ldexp(0.1, t)), intercept=intercept)
    elif kind is SoftMarginDual:
        problem = SoftMarginDual(blocks, None, C=C, intercept=intercept)
    else:
        problem = RegularizedERM(blocks, None, 1.0 / (60 * C), kind(), intercept=intercept)
    return problem, t - s


@pytest.mark.parametrize("kind", [SoftMarginDual, SVRDual, Logistic, SquaredHinge])
@pytest.mark.parametrize("seed", quick_cases(range(8), range(4)))
def test_verdict_and_gap_do_not_depend_on_units(kind, seed):
    s, t = (int(k) for k in np.random.default_rng([50, seed]).integers(-40, 41, 2))
    (problem, _), (other, exponent) = (
        in_units(kind, np.random.default_rng(seed), *units) for units in ((0, 0), (s, t))
    )
    first, second = solve(problem), solve(other)
    assert first.verdict == second.verdict == "solved"
    gaps = first.certificate.relative_gap, second.certificate.relative_gap
    assert max(gaps) <= 2 * min(gaps) + ROUNDING
    np.testing.assert_allclose(np.ldexp(second.w, -exponent), first.w, rtol=1e-6, atol=1e-9)
