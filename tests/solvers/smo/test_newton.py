"""Newton steps on the free variables, by a factor and by conjugate gradients."""

import numpy as np
import pytest

from problems import RBF
from solvers.smo import newton


@pytest.mark.parametrize("factored", [0, 3000])
@pytest.mark.parametrize("equalities", [0, 1, 2])
def test_a_newton_step_inside_the_box_reaches_the_minimum(
    monkeypatch: pytest.MonkeyPatch, equalities: int, factored: int
) -> None:
    monkeypatch.setattr(newton, "_FACTORED", factored)
    monkeypatch.setattr(newton, "_RESIDUAL", 1e-9)
    monkeypatch.setattr(newton, "_ITERATIONS", 500)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 4))
    matrix = RBF(0.5)(X, X)
    g, z, end = rng.standard_normal(40), np.zeros(40), np.full(40, 1e6)

    class Matrix:
        def columns(self, chosen: np.ndarray | None) -> np.ndarray:
            return matrix if chosen is None else matrix[:, chosen]

        def product(self, v: np.ndarray) -> np.ndarray:
            return matrix @ v

    groups = 5 * (np.arange(40) % 2) if equalities == 2 else None  # numbered with gaps
    d = newton.newton_step(Matrix(), g, z, -end, end, equalities > 0, groups)
    assert d is not None
    residual = matrix @ d + g
    for group in {0: [], 1: [slice(None)], 2: [slice(0, None, 2), slice(1, None, 2)]}[equalities]:
        residual[group] -= residual[group].mean()
        assert abs(d[group].sum()) <= 1e-6
    assert np.abs(residual).max() <= 1e-5
