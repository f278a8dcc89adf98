"""SMO's parts: one variable for equal samples, Newton steps on a face, precision, many variables."""

import numpy as np
import pytest
import scipy.sparse as sp

from problems import RBF, BoxQP, HardMarginDual, SoftMarginDual, SVRDual, reduce
from problems.forms import FormPoint
from solvers import SMO, solve
from solvers.smo import face, levels, state
from solvers.smo.duplicates import merge
from solvers.smo.variables import from_form
from solvers.threads import Threads


def repeated(n: int = 600, copies: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    return np.vstack([X] * copies), np.tile(y, copies)


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_samples_share_a_variable_and_its_value(sparse: bool) -> None:
    X, y = repeated()
    form = reduce(SoftMarginDual(sp.csr_array(X) if sparse else X, y, 1.5, RBF(1.0)), BoxQP).form
    merged = merge(from_form(form))
    assert merged.variables.n == 600
    z = np.random.default_rng(0).uniform(merged.variables.lo, merged.variables.hi)
    x = merged.spread(z)
    assert (x >= form.lb).all()
    assert (x <= form.ub).all()
    assert np.allclose(np.sort((y * x)[:600] + (y * x)[600:]), np.sort(z))
    inside = (x > 0) & (x < 1.5)
    assert not (inside[:600] & inside[600:]).any()


def test_unlike_labels_and_weights_stay_apart() -> None:
    X, y = repeated()
    y[600:650] *= -1.0
    form = reduce(SoftMarginDual(X, y, np.linspace(1, 2, 1200), RBF(1.0)), BoxQP).form
    variables = merge(from_form(form)).variables
    assert variables.n == 650
    assert variables.hi.sum() - variables.lo.sum() == pytest.approx(form.ub.sum())


def test_without_upper_bounds_one_of_equals_takes_all() -> None:
    X, y = repeated()
    form = reduce(HardMarginDual(X, y, RBF(50.0)), BoxQP).form
    merged = merge(from_form(form))
    z = np.where(np.isinf(merged.variables.hi), 2.0, -2.0)
    x = merged.spread(z)
    assert np.count_nonzero(x) == 600
    assert x.sum() == pytest.approx(1200.0)


def test_repeating_samples_costs_nothing_in_support() -> None:
    X, y = repeated(copies=3)
    once = solve(SoftMarginDual(X[:600], y[:600], 3.0, RBF(0.5)), SMO(tol=1e-8))
    thrice = solve(SoftMarginDual(X, y, 1.0, RBF(0.5)), SMO(tol=1e-8))
    assert thrice.objective == pytest.approx(once.objective, rel=1e-9)
    assert thrice.verdict == "solved"


def test_repeated_targets_are_shared_out_on_one_side_of_the_tube() -> None:
    X, _ = repeated(copies=1)
    targets = np.round(X[:, 0] ** 2, 1)
    once = solve(SVRDual(X, targets, 2.0, 0.1, RBF(0.3)), SMO(tol=1e-8))
    twice = solve(
        SVRDual(np.tile(X, (2, 1)), np.tile(targets, 2), 1.0, 0.1, RBF(0.3)), SMO(tol=1e-8)
    )
    assert twice.verdict == "solved"
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)


@pytest.mark.parametrize("factored", [0, 3000])
@pytest.mark.parametrize("equality", [True, False])
def test_a_newton_step_inside_the_box_reaches_the_minimum(
    monkeypatch: pytest.MonkeyPatch, equality: bool, factored: int
) -> None:
    monkeypatch.setattr(face, "_FACTORED", factored)
    monkeypatch.setattr(face, "_RESIDUAL", 1e-9)
    monkeypatch.setattr(face, "_ITERATIONS", 500)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 4))
    matrix = RBF(0.5)(X, X)
    g, z, end = rng.standard_normal(40), np.zeros(40), np.full(40, 1e6)

    class Matrix:
        def columns(self, chosen: np.ndarray | None) -> np.ndarray:
            return matrix if chosen is None else matrix[:, chosen]

        def product(self, v: np.ndarray) -> np.ndarray:
            return matrix @ v

    d = face.newton_step(Matrix(), g, z, -end, end, equality)
    assert d is not None
    residual = matrix @ d + g
    residual = residual - residual.mean() if equality else residual
    assert np.abs(residual).max() <= 1e-5
    if equality:
        assert abs(d.sum()) <= 1e-6


def test_single_precision_gives_way_where_it_leads_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "_FUTILE", 0)
    X, y = repeated(1500, 1)
    solution = solve(SoftMarginDual(X, y, 10.0, RBF(1.0)), SMO(tol=1e-9))
    assert solution.claimed == "optimal"
    assert solution.counters["bits"] == 64
    assert solution.certificate.relative_gap <= 1e-9


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_few_active_variables_and_little_memory_reach_the_same_optimum(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(state, "_MOST_ACTIVE", 600)
    X, y = repeated(2500, 1)
    problem = (
        SoftMarginDual(X, y, 5.0, RBF(1.0))
        if kind == "classification"
        else SVRDual(X, X[:, 0] * X[:, 1], 5.0, 0.05, RBF(0.3))
    )
    solution = solve(problem, SMO(tol=1e-6, cache_size=2.0))
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"


def test_linear_algebra_gets_its_threads_back_between_blocks_of_work() -> None:
    threads = Threads()

    def work() -> object:
        assert Threads().count == 1
        yield FormPoint(None)
        assert Threads().count == 1

    for _ in threads.one_at_a_time(work()):
        assert Threads().count == threads.count
    assert Threads().count == threads.count
