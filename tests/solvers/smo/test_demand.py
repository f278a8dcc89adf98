"""Rows on demand: those of K, as many as steps need, and the same optimum as with all of them."""

import numpy as np
import pytest

from problems import RBF, BoxQP, SoftMarginDual, SVRDual, reduce
from problems.gram.tiles import Tiles
from solvers import SMO, solve
from solvers.smo import cache
from solvers.smo.cache import RowCache, add_row
from solvers.smo.state import State

RNG = np.random.default_rng(1)


def samples(d: int) -> tuple[np.ndarray, np.ndarray]:
    X = RNG.standard_normal((600, d)) + 10.0
    return X, np.where(X[:, 0] - 10.0 + 0.5 * RNG.standard_normal(600) > 0, 1.0, -1.0)


@pytest.mark.parametrize("d", [1, 4, 7])
def test_a_row_is_that_of_K(d: int) -> None:
    X, y = samples(d)
    form = reduce(SoftMarginDual(X, y, 1.0, RBF(0.3)), BoxQP).form
    with Tiles(form.gram, 1) as tiles:
        state = State(form, tiles, 1000.0, 10)
        rows = RowCache(state.matrix, np.arange(600), state.room)
        source = rows.source()
        assert source is not None
        for place, i in enumerate((17, 599, 0)):
            assert add_row(rows.values, source, i) == place
            assert np.allclose(rows.values[place], RBF(0.3)(X[[i]], X)[0], rtol=0, atol=1e-6)
    assert rows.count == 3
    assert list(np.flatnonzero(rows.place >= 0)) == [0, 17, 599]


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_the_optimum_is_that_with_all_rows(
    monkeypatch: pytest.MonkeyPatch, C: float, regression: bool
) -> None:
    X, y = samples(3)
    problem = (
        SVRDual(X, np.sin(X[:, 0]), C, 0.1, RBF(0.5))
        if regression
        else SoftMarginDual(X, y, C, RBF(0.5))
    )
    solver = SMO(tol=1e-10)
    few = solve(problem, solver)
    monkeypatch.setattr(cache, "_MOST_FEATURES", 0)
    all_rows = solve(problem, solver)
    assert few.verdict == all_rows.verdict == "solved"
    assert few.certificate.relative_gap <= 1e-8
    assert few.certificate.dual_objective <= all_rows.certificate.primal_objective
    assert all_rows.certificate.dual_objective <= few.certificate.primal_objective
    if not regression:
        assert few.counters["kernel_evaluations"] < all_rows.counters["kernel_evaluations"]
