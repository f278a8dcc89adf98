"""SMO's outermost level: precision, and more variables than can be active."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.problems import (
    RBF,
    Linear,
    Point,
    Polynomial,
    Precomputed,
    SoftMarginDual,
    SVRDual,
    certify,
    reduce,
)
from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers import SMO, smo, solve
from dualgap.solvers.smo.active import Active, minimise_by_pairs
from dualgap.solvers.smo.conditions import free_variables, slopes
from dualgap.solvers.smo.newton import NewtonStep
from dualgap.solvers.smo.tuning import TUNING
from dualgap.solvers.smo.variables import Scores, joined

INDEFINITE = [(1e3, 1e-5), (1e4, 1e-4)]


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize(("futile", "bits"), [(5, 32), (-1, 64)])
def test_refinement_reaches_a_tight_gap_with_rows_in_single_precision(
    monkeypatch: pytest.MonkeyPatch, futile: int, bits: int
) -> None:
    monkeypatch.setattr(smo, "TUNING", replace(TUNING, max_futile=futile))
    X, y = classes(1200)
    solution = solve(SoftMarginDual(X, y, 10.0, RBF(1.0)), SMO(tol=1e-9))
    assert solution.claimed == "optimal"
    assert solution.counters["bits"] == bits
    assert certify(solution.problem, solution.point, rigorous=True).relative_gap <= 1e-9


def test_a_score_is_refreshed_once_it_approaches_the_margin() -> None:
    X, y = classes(1500)
    form = reduce(SoftMarginDual(X, y, 1.0, RBF(0.05)), KernelQP).form
    with Tiles(form.gram, 1) as tiles:
        scores = Scores(joined(form), tiles)
        scores.violation()
        scores.note_change(np.array([0]), np.array([1e5]))
        list(scores.refresh(np.arange(10)))
        scores.note_change(np.array([0]), np.array([1.0]))
        scores.violation()
        assert scores.errors[:10] == pytest.approx(1e-7)
        assert scores.errors[10:] == pytest.approx(1e-2)
        assert set(scores.doubtful(1e-2)) == set(range(10, 1500))
        assert scores.noise == pytest.approx(1e-2)


def test_rounding_in_scores_is_relative_to_the_values_of_the_kernel() -> None:
    X, y = classes(1500)
    errors = []
    for kernel in (RBF(0.05), 1e4 * RBF(0.05)):
        form = reduce(SoftMarginDual(X, y, 1.0, kernel), KernelQP).form
        with Tiles(form.gram, 1) as tiles:
            scores = Scores(joined(form), tiles)
            scores.note_change(np.array([0]), np.array([1.0]))
            errors.append(scores.errors.max())
    assert errors[1] == pytest.approx(1e4 * errors[0])


def test_kernel_values_beyond_float32_are_computed_in_float64() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1e4, (600, 10)), np.where(rng.random(600) > 0.5, 1.0, -1.0)
    solution = solve(SoftMarginDual(X, y, 1.0, Polynomial(5)))
    assert solution.certificate.relative_gap < 1e-4


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_a_small_active_set_and_cache_reach_the_same_optimum(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(smo, "TUNING", replace(TUNING, max_first_active=600))
    X, y = classes(2500)
    problem = (
        SoftMarginDual(X, y, 5.0, RBF(1.0))
        if kind == "classification"
        else SVRDual(X, X[:, 0] * X[:, 1], 5.0, 0.05, RBF(0.3))
    )
    solution = solve(problem, SMO(tol=1e-7, cache_size=2.0))
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"


def test_the_active_set_grows_on_demand_and_its_memory_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = {"max_first_active": 300, "max_all_active_bytes": 10**6, "max_unchecked_bytes": 10**6}
    monkeypatch.setattr(smo, "TUNING", replace(TUNING, **limits))
    X, y = classes(1500)
    problem = SoftMarginDual(X, y, 5.0, RBF(1.0))
    solution = solve(problem, SMO(tol=1e-6))
    assert solution.verdict == "solved"
    assert 300 < solution.counters["active"] <= 1500
    assert solution.counters["cache_size"] == pytest.approx(4e-6 * 1500**2)
    monkeypatch.setattr(smo, "available", lambda: 8_000_000)
    limited = solve(problem, SMO(tol=1e-6))
    assert limited.verdict == "solved"
    assert limited.counters["cache_size"] == pytest.approx(4.0)


def test_new_members_of_a_working_set_of_all_variables_have_their_rows() -> None:
    X, y = classes(800)
    problem = SoftMarginDual(X, y, 10.0, RBF(1.0))
    solver = SMO(tol=1e-5, cache_size=2.0)  # room for 707 active variables and all of their rows
    solution = solve(problem, solver, max_iter=100_000)
    assert solution.counters["active"] < 800
    assert solution.verdict == "solved"


@pytest.mark.parametrize("tol", [1e-3, 1e-4])
def test_accuracy_lost_to_cancellation_is_not_claimed(tol: float) -> None:
    """With gamma·‖x‖² of 900 values of K in float32 have four digits."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 3))
    X *= 30 / np.sqrt((X**2).sum(axis=1)).max()
    y = np.where(np.sin(X[:, 0]) + 0.5 * rng.standard_normal(1200) > 0, 1.0, -1.0)
    problem = SoftMarginDual(X, y, 100.0, RBF(1.0))
    solution = solve(problem, SMO(tol=tol))
    assert solution.claimed == "optimal"
    assert solution.certificate.violating_pair <= 1.5 * tol


@pytest.mark.parametrize("C", [100.0, 1e3])
@pytest.mark.parametrize("distance", [6.0, 8.0])
def test_clusters_far_from_0_are_as_accurate_as_is_claimed(distance: float, C: float) -> None:
    """With gamma·‖x‖² of 40 to 70 a value of K in float32 has an error of up to 1e-5."""
    rng = np.random.default_rng(0)
    X = 0.4 * rng.standard_normal((2000, 2))
    X[:, 0] += distance * np.where(np.arange(2000) % 2, 1, -1)
    y = np.where(X[:, 1] + 0.3 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    solution = solve(SoftMarginDual(X, y, C, RBF(1.0)), SMO(tol=1e-3))
    assert solution.claimed == "optimal"
    assert solution.certificate.violating_pair <= 1.5e-3


@pytest.mark.parametrize(("C", "tol"), quick_cases(INDEFINITE, INDEFINITE[:1]))
def test_a_kernel_that_is_not_semidefinite_is_as_accurate_as_is_claimed(
    C: float, tol: float
) -> None:
    """Its values are larger than its diagonal; moved by a constant it is the linear kernel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    K = X @ X.T - 0.999
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1e-3)
    solution = solve(SoftMarginDual(K, y, C, Precomputed()), SMO(tol=tol), max_iter=10**6)
    c = certify(SoftMarginDual(X, y, C, Linear()), Point(solution.alpha))
    assert solution.claimed != "optimal" or c.violating_pair <= 2 * tol


def test_rows_computed_by_a_newton_step_are_reused() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    y = np.where(X[:, 0] + rng.standard_normal(600) > 0, 1.0, -1.0)
    alpha = np.zeros(600)
    for sign in (1, -1):
        alpha[np.flatnonzero(y == sign)[:150]] = 0.5
    form = reduce(SoftMarginDual(X, y, 1.0, RBF(0.2)), KernelQP, Point(alpha)).form
    with Tiles(form.gram, 1) as tiles:
        scores = Scores(joined(form), tiles)
        scores.violation()
        active = Active(scores, minimise_by_pairs, 10**7, None)
        active.size = active.capacity = 600**2
        active.take(np.arange(600))
        _, _, active.b, _ = slopes(active.f, active.z, active.terms, 1)
        active._newton_step(free_variables(active.z, active.terms), NewtonStep(True, 0.03))
        active._round(np.arange(600), 1e-6)
        owners = [active.rows.owner[p] for p in active.rows.row_index if p >= 0]
        assert sorted(owners) == np.flatnonzero(active.rows.row_index >= 0).tolist()
        assert np.abs(active.f - RBF(0.2)(X, X) @ active.z).max() < 1e-3


def test_smo_continues_below_tol_until_the_gap_reaches_its_target() -> None:
    X, y = classes(600)
    problem = SVRDual(X, np.sin(X[:, 0]) + 0.1 * y, 100.0, 0.01, RBF(0.2))
    assert solve(problem, SMO(tol=1e-3, gap=1e-5), target_gap=1e-5).verdict == "solved"


def test_a_gap_that_rounding_does_not_permit_is_the_reason() -> None:
    X, y = classes(600)
    solution = solve(SoftMarginDual(X, y, 1e3, RBF(0.2)), SMO(tol=1e-3, gap=1e-19))
    assert solution.claimed == "stopped"
    assert solution.certificate.violating_pair <= 1e-9
    assert "rounding permits no further progress" in solution.note


def test_a_pause_while_the_scores_of_a_start_are_refreshed_yields_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refresh(self: Scores, chosen: np.ndarray) -> Iterator[None]:
        yield
        yield from without_pause(self, chosen)

    X, y = classes(1500)
    problem = SoftMarginDual(X, y, 10.0, RBF(1.0))
    start, without_pause = solve(problem, SMO(tol=1e-9)), Scores.refresh
    monkeypatch.setattr(Scores, "refresh", refresh)
    assert solve(problem, SMO(tol=1e-9), initial=start.point).verdict == "solved"
