"""Dual coordinate descent: optima by certificate, starts, limits, refusals, odd data."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.small_problems import two_classes

from dualgap.problems import (
    BoxQP,
    SoftMarginDual,
    SVRDual,
    reduce,
)
from dualgap.problems.gram.threads import Pool
from dualgap.solvers import SMO, DualCoordinateDescent, Status, solve
from dualgap.solvers.dual_coordinate_descent import descent
from dualgap.solvers.dual_coordinate_descent.blocks import (
    combine,
    dense_normal_matrix,
    scores,
    whole_block,
)
from dualgap.solvers.dual_coordinate_descent.face import Face
from dualgap.solvers.dual_coordinate_descent.tuning import TUNING

TIGHT = DualCoordinateDescent(tol=1e-9)


def sparse(n: int, d: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = sp.csr_array(sp.random_array((n, d), density=0.1, rng=rng))
    return X, np.where(X @ rng.standard_normal(d) + 0.2 * rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_large_problem_starts_from_a_subsample_and_stops_at_the_gap(intercept: bool) -> None:
    X, y = two_classes(40_000, 8)
    problem = SoftMarginDual(X, y, 1.0, intercept=intercept)
    solution = solve(problem, DualCoordinateDescent(tol=1e-12, gap=1e-6))
    assert solution.claimed == "optimal"
    assert solution.certificate.relative_gap <= 1e-6
    assert solution.counters["epochs"] == 5


@pytest.mark.parametrize("C", [1e-3, 100.0])
def test_the_first_step_is_enlarged_if_most_variables_end_at_C(C: float) -> None:
    """Labels at random: nearly all variables end at C, which short steps do not reach."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 5)), np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    form = reduce(SoftMarginDual(X, y, C, intercept=False), BoxQP).form
    state = descent.Descent(whole_block(form), 0.0, False, form.first_point())
    for _ in state.epochs(5, rng):
        pass
    short = state.sigma
    state.lengthen(state.narrow())
    assert short <= state.sigma <= 3.0 * short * state.across
    assert (state.sigma > short) == (C == 100.0)


def test_large_systems_take_no_newton_step_if_epochs_reach_the_gap() -> None:
    X, y = sparse(1200, 2000)
    solution = solve(SoftMarginDual(X, y, 10.0), DualCoordinateDescent(tol=1e-12, gap=1e-3))
    assert solution.certificate.relative_gap <= 1e-3
    assert solution.counters["epochs"] < 500
    assert solution.counters["newton_steps"] == 0


@pytest.mark.parametrize("rho", [0.0, 2.0])
def test_a_step_on_a_face_reaches_its_minimum(rho: float) -> None:
    X, y = sparse(30, 100)
    form = reduce(SoftMarginDual(X, y), BoxQP).form
    block = whole_block(form)._replace(lb=np.full(30, -1e4), ub=np.full(30, 1e4))
    x = np.ones(30)
    Q = form.Q.dense() + rho * np.outer(form.a, form.a)
    slope = Q @ x + form.p
    face = Face(block, rho, 100, Pool(1))
    step, w, t = face.step(x, slope, 1 / np.diag(Q), 200)
    assert np.linalg.norm(Q @ step + slope) <= 0.2 * np.linalg.norm(slope)
    assert np.allclose(w, (X * y[:, None]).T @ step)
    assert np.isclose(t, form.a @ step)
    again, _, _ = face.step(x, np.zeros(30), 1 / np.diag(Q), 200)
    assert not again.any()


def test_a_warm_start_of_a_large_system_takes_no_newton_step() -> None:
    X, y = sparse(1200, 2000)
    solver = DualCoordinateDescent(tol=1e-12, gap=1e-6)
    start = solve(SoftMarginDual(X, y, 0.1), solver).point
    solution = solve(SoftMarginDual(X, y, 1.0), solver, initial=start)
    assert solution.certificate.relative_gap <= 1e-6
    assert solution.counters["newton_steps"] == 0


def test_gathered_rows_give_the_same_products() -> None:
    X, y = sparse(50, 40)
    block = whole_block(reduce(SoftMarginDual(X, y), BoxQP).form).take(np.arange(3, 50, 4))
    gathered, w = block.gathered(), np.arange(40.0)
    assert gathered.rows.indices.dtype == block.rows.indices.dtype
    assert np.array_equal(scores(gathered, w, 0.5), scores(block, w, 0.5))


@pytest.mark.parametrize("C", [0.01, 100.0])
def test_large_systems_with_more_samples_than_features_reach_a_fine_gap(C: float) -> None:
    X, y = sparse(3000, 1100)
    solution = solve(SoftMarginDual(X, y, C), DualCoordinateDescent(tol=1e-12, gap=1e-8))
    assert solution.certificate.relative_gap <= 1e-8


def test_an_intercept_takes_few_more_epochs_on_large_systems() -> None:
    X, y = sparse(1200, 2000)
    epochs = {
        intercept: solve(
            SoftMarginDual(X, y, 1.0, intercept=intercept),
            DualCoordinateDescent(tol=1e-12, gap=1e-6),
        ).counters["epochs"]
        for intercept in (False, True)
    }
    assert epochs[True] <= 1.5 * epochs[False]


def test_a_tol_below_rounding_stops_without_a_claim() -> None:
    X, y = two_classes(300, 5)
    for intercept in (True, False):
        problem = SoftMarginDual(X, y, 10.0, intercept=intercept)
        solution = solve(problem, DualCoordinateDescent(tol=1e-300, max_iter=1000))
        assert solution.claimed == "stopped"
        assert solution.status is Status.FINISHED
        assert solution.certificate.relative_gap <= 1e-12


def test_products_of_15000_rows_are_computed_in_threads() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30_000, 40)), rng.choice([-1.0, 1.0], 30_000)
    part = whole_block(reduce(SoftMarginDual(X, y, 1.0), BoxQP).form).take(np.arange(0, 30_000, 2))
    M, x, w = (y[:, None] * X)[::2], rng.standard_normal(15_000), rng.standard_normal(40)
    with Pool(2) as pool:
        np.testing.assert_allclose(scores(part, w, 0.5, pool), M @ w + 0.5 * y[::2])
        total = np.ones(40)
        assert combine(part, x, total, pool) == pytest.approx(y[::2] @ x)
        np.testing.assert_allclose(total, 1.0 + M.T @ x, atol=1e-9)
        root, extra = rng.random(15_000), rng.standard_normal(15_000)
        Z = np.column_stack([root[:, None] * M, extra])
        H = dense_normal_matrix(part, root, extra, pool)
        np.testing.assert_allclose(H, Z.T @ Z, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("factor", [1e-3, 0.5, 3.0, 1e3])
def test_a_start_from_another_box_leads_to_the_optimum(factor: float, intercept: bool) -> None:
    X, y = two_classes(1500, 5)
    solver = DualCoordinateDescent(tol=1e-12, gap=1e-8)
    first = solve(SoftMarginDual(X, y, 0.1, intercept=intercept), solver)
    second = solve(SoftMarginDual(X, y, 0.1 * factor, intercept=intercept), solver, initial=first)
    assert second.claimed == "optimal"
    assert second.certificate.relative_gap <= 1.1e-8


def test_pauses_within_an_epoch_do_not_change_its_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = two_classes(300, 5)
    form = reduce(SoftMarginDual(X, y, 1.0), BoxQP).form
    whole_epochs = list(TIGHT.iterates(form))
    monkeypatch.setattr(descent, "TUNING", replace(TUNING, entries_per_pause=500))
    in_blocks = list(TIGHT.iterates(form))
    assert len(in_blocks) >= len(whole_epochs) + 5
    assert in_blocks[-1].iterations == whole_epochs[-1].iterations
    np.testing.assert_array_equal(in_blocks[-1].x, whole_epochs[-1].x)


def test_a_start_of_zero_dual_objective_is_not_claimed_optimal_for_tiny_targets():
    X = np.random.default_rng(0).standard_normal((100, 3))
    problem = SVRDual(X, 1e-4 * X[:, 0], 1.0, 0.0)
    for solver in (DualCoordinateDescent(), SMO()):
        solution = solve(problem, solver, initial=np.zeros(100))
        assert solution.verdict != "wrong"
