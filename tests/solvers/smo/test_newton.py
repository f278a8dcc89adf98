"""Newton steps on the free variables: by a factor of K, and with an inverse that is not exact."""

from dataclasses import replace

import numpy as np
import pytest

from dualgap.problems import RBF, KernelQP, SoftMarginDual, reduce
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.shifted import inverse_in_place
from dualgap.solvers.smo import newton
from dualgap.solvers.smo.matrix import Matrix
from dualgap.solvers.smo.tuning import TUNING

N = 60
X = np.random.default_rng(4).standard_normal((N, 4))
K, G = RBF(0.5)(X, X), np.random.default_rng(5).standard_normal(N)
FREE = np.full(N, 1e6)
GROUPS = {  # numbered with gaps
    "no equality": (np.full(N, -1), []),
    "one": (np.zeros(N, np.int64), [slice(None)]),
    "two": (5 * (np.arange(N) % 2), [slice(0, None, 2), slice(1, None, 2)]),
}


@pytest.fixture(autouse=True)
def accurate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "TUNING", replace(TUNING, max_products=500))


@pytest.mark.parametrize("equalities", GROUPS)
def test_a_step_inside_the_box_reaches_the_minimum(equalities: str) -> None:
    form = reduce(SoftMarginDual(X, np.sign(X[:, 0]), 1.0, RBF(0.5)), KernelQP).form
    groups, each = GROUPS[equalities]
    with Tiles(form.gram, 1) as tiles:
        matrix = Matrix(tiles, form, np.float64)
        system = newton.exact_system(matrix, np.arange(N))
        d = newton.newton_step(*system, G, np.zeros(N), -FREE, FREE, groups, 1e-9)
    assert d is not None
    residual = K @ d + G
    for group in each:
        residual[group] -= residual[group].mean()
        assert abs(d[group].sum()) <= 1e-6
    assert np.abs(residual).max() <= 1e-5


@pytest.mark.parametrize("equalities", GROUPS)
def test_a_newton_step_fixes_variables_that_leave_the_box_and_optimises_the_rest(
    equalities: str,
) -> None:
    groups, each = GROUPS[equalities]
    invert = inverse_in_place(K.astype(np.float32))
    one = np.ones(N)
    end = newton.newton_step(lambda v: K @ v, invert, G, np.zeros(N), -one, one, groups, 1e-9)
    assert end is not None
    assert np.abs(end).max() <= 1.0
    inside = np.abs(end) < 1.0
    assert 0 < inside.sum() < N
    residual = K @ end + G
    for group in each:
        assert abs(end[group].sum()) <= 1e-9
        if inside[group].any():
            residual[group] -= residual[group][inside[group]].mean()
    assert np.abs(residual[inside]).max() <= 1e-5
    clipped = np.clip(np.linalg.solve(K, -G), -1.0, 1.0)
    value = [0.5 * z @ K @ z + G @ z for z in (end, clipped)]
    assert value[0] < 0.0
    assert each or value[0] <= value[1]


def test_an_indefinite_matrix_has_no_factor() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        inverse_in_place(-np.eye(3, dtype=np.float32))
    with pytest.raises(np.linalg.LinAlgError):
        newton.factor_with_ridge(-np.eye(3), 1e-12)
