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


def problem(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, 4))
    return RBF(0.5)(X, X), rng.standard_normal(n)


@pytest.mark.parametrize("equality", [False, True])
def test_what_leaves_the_box_is_fixed_and_the_others_are_best_placed(
    monkeypatch: pytest.MonkeyPatch, equality: bool
) -> None:
    monkeypatch.setattr(newton, "_RESIDUAL", 1e-9)
    monkeypatch.setattr(newton, "_ITERATIONS", 500)
    K, g = problem()
    factor = newton.FreeFactor(np.arange(60), K.astype(np.float32))
    invert = factor.inverse(np.arange(60))
    box = np.full(60, 1.0)
    end = newton.newton_in_box(lambda v: K @ v, invert, g, np.zeros(60), -box, box, equality)
    assert end is not None
    assert (np.abs(end) <= 1.0).all()
    assert not equality or abs(end.sum()) <= 1e-9
    inside = np.abs(end) < 1.0
    assert 0 < inside.sum() < 60
    residual = (K @ end + g)[inside]
    residual -= residual.mean() if equality else 0.0
    assert np.abs(residual).max() <= 1e-5
    clipped = np.clip(np.linalg.solve(K, -g), -1.0, 1.0)
    value = [0.5 * z @ K @ z + g @ z for z in (end, clipped)]
    assert value[0] < 0.0
    assert equality or value[0] <= value[1]


def test_a_factor_serves_while_few_variables_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_RESIDUAL", 1e-9)
    monkeypatch.setattr(newton, "_ITERATIONS", 500)
    K, g = problem()
    order = np.random.default_rng(0).permutation(60)
    old, new = order[:57], order[2:60]
    factor = newton.FreeFactor(old, K[np.ix_(old, old)].astype(np.float32))
    assert factor.serves(new)
    assert not factor.serves(order[20:])
    some = K[np.ix_(new, new)]
    free = np.full(58, 1e6)
    invert = factor.inverse(new)
    step = newton.newton_in_box(lambda v: some @ v, invert, g[new], np.zeros(58), -free, free, True)
    assert step is not None
    residual = some @ step + g[new]
    assert np.abs(residual - residual.mean()).max() <= 1e-5


def test_without_curvature_there_is_no_factor() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        newton.FreeFactor(np.arange(3), -np.eye(3, dtype=np.float32))
