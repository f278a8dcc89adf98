"""Projected gradient: every variant, shifted boxes, limits, and what the notebook's loop solves."""

from dataclasses import replace

import numpy as np
import pytest
from tests.halves import quick_cases
from tests.small_problems import BINARY, two_classes
from tests.solvers.boxes import shifted_box

from dualgap.problems import (
    RBF,
    BoxQP,
    FormPoint,
    HardMarginDual,
    Point,
    Precomputed,
    SoftMarginDual,
    SVRDual,
    certify,
    reduce,
)
from dualgap.problems.box import violating_pair
from dualgap.problems.risk.risk import decision_exponent
from dualgap.solvers import ProjectedGradient, Status, projected_gradient, solve

EXACT = ["plain", "accelerated", "barzilai_borwein"]


def points(solver: ProjectedGradient, form: BoxQP) -> list[FormPoint]:
    return list(solver.iterates(solver.prepare(form)))


def objective(form: BoxQP, x: np.ndarray) -> float:
    return 0.5 * float(x @ form.Q.matvec(x)) + float(form.p @ x)


def test_every_point_is_feasible_and_the_plain_objective_never_rises() -> None:
    form = shifted_box("a coefficient of 0", 40, 4)
    for variant in EXACT:
        path = points(ProjectedGradient(variant, tol=1e-6), form)
        assert all((p.x >= form.lb).all() and (p.x <= form.ub).all() for p in path)
        if variant == "plain":
            values = [objective(form, p.x) for p in path]
            assert np.diff(values).max() <= 1e-12 * abs(values[-1])


def test_rate_scales_the_step() -> None:
    form = shifted_box("a coefficient of 0", 40, 5)
    once, twice = (
        points(ProjectedGradient("plain", rate=r, max_iter=1), form) for r in (1e-6, 2e-6)
    )
    assert np.array_equal(once[0].x, twice[0].x)
    ratio = np.linalg.norm(twice[1].x - twice[0].x) / np.linalg.norm(once[1].x - once[0].x)
    assert ratio == pytest.approx(2, rel=1e-4)
    full, tenth = (len(points(ProjectedGradient("accelerated", rate=r), form)) for r in (1.0, 0.1))
    assert full < tenth


def test_small_problems_are_solved_in_subsets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected_gradient, "_MIN_SUBSET_VARIABLES", 1)
    for name, problem in BINARY.items():
        solution = solve(problem, ProjectedGradient(tol=1e-6))
        assert solution.claimed == "optimal", name
        assert solution.certificate.violating_pair <= 2e-6 * 2.0 ** decision_exponent(
            problem.risk
        ), name
        assert solution.certificate.projection_distance <= 1e-9 * np.linalg.norm(solution.alpha)


def test_at_rounding_level_it_stops_without_a_claim() -> None:
    form = shifted_box("a coefficient of 0", 40, 6)
    answer = points(ProjectedGradient(tol=1e-300, max_iter=5000), form)[-1]
    g = form.Q.matvec(answer.x) + form.p
    assert answer.claim == "stopped"
    assert violating_pair(g, form.a, answer.x - form.lb, form.ub - answer.x) <= 1e-9


@pytest.mark.parametrize("C", quick_cases([1.0, 10.0], [1.0]))
@pytest.mark.parametrize("intercept", [True, False])
def test_1500_samples_are_solved_with_a_cache_of_1_megabyte(C: float, intercept: bool) -> None:
    X, y = two_classes(1500, 3)
    problem = SoftMarginDual(X, y, C, RBF(0.5), intercept)
    solution = solve(problem, ProjectedGradient(tol=5e-4, cache_size=1.0))
    assert solution.claimed == "optimal"
    assert solution.certificate.violating_pair <= 5e-4 * (1 + 1e-6)
    # to a looser tolerance, as scores that are computed again differ by rounding
    looser = ProjectedGradient(tol=1e-3, cache_size=1.0)
    assert solve(problem, looser, initial=solution).iterations == 0


def test_regression_with_600_samples_is_solved() -> None:
    X, y = two_classes(600, 3)
    problem = SVRDual(X, y + X[:, 0], 1.0, 0.1, RBF(0.5))
    solution = solve(problem, ProjectedGradient(tol=1e-7))
    assert "newton_steps" in solution.counters, "it moved some at a time"
    assert solution.certificate.relative_gap <= 1e-7


def as_in_the_notes(K: np.ndarray, T: np.ndarray, rho: float, steps: int) -> np.ndarray:
    """The loop of the notes, line for line."""
    N = T.size
    T = T.reshape(-1, 1)
    alpha = np.array([0.5] * N).reshape((-1, 1))
    for _ in range(steps):
        dLddak = 1 - T * (alpha.T @ (T * K)).T
        alpha += rho / N * dLddak
        alpha -= rho / N * (alpha.T @ T) * T
        alpha[alpha < 0] = 0
    return alpha.ravel()


@pytest.mark.parametrize("rate", [None, 0.5])
def test_the_notebook_takes_the_steps_of_the_notes(rate: float | None) -> None:
    X, y = two_classes(40, 3)
    form = reduce(HardMarginDual(X, y, RBF(1.0)), BoxQP).form
    answer = points(ProjectedGradient("notebook", tol=1e-12, max_iter=300, rate=rate), form)[-1]
    noted = as_in_the_notes(form.gram.dense(), y, 0.1 if rate is None else rate, 300)
    np.testing.assert_allclose(answer.x, noted, rtol=1e-10, atol=1e-12)


def test_the_notebook_solves_the_problem_without_intercept_of_a_kernel_with_a_constant() -> None:
    X, y = two_classes(20, 3)
    rate = 1.0
    problem = HardMarginDual(X, y, RBF(1.0))
    form = reduce(problem, BoxQP).form
    solver = ProjectedGradient("notebook", tol=1e-11, rate=rate)
    answer = points(solver, form)[-1]
    alpha, K, step = answer.x, form.gram.dense(), rate / 20
    assert answer.iterations < solver.max_iter, "the loop has come to its fixed point"

    c = 1 + step * float(y @ (1 - form.Q.matvec(alpha))) / float(y @ alpha)
    other = HardMarginDual(K + c, y, Precomputed(), intercept=False)
    assert c > 0
    assert certify(other, Point(alpha)).relative_gap <= 1e-8
    assert solve(problem, solver).certificate.relative_gap >= 1e-3


def test_too_large_a_rate_in_the_notebook_diverges() -> None:
    X, y = two_classes(40, 3)
    # far from each other, or an evaluation may prove the problem infeasible first
    separable = HardMarginDual(100 * (X + 5 * y[:, None]), y)
    solution = solve(separable, ProjectedGradient("notebook", rate=1e6))
    assert solution.status is Status.DIVERGED


def test_a_modified_copy_of_a_large_form_is_solved_with_its_current_values() -> None:
    rng = np.random.default_rng(7)
    samples = rng.standard_normal((600, 3))
    problem = SoftMarginDual(samples, np.sign(samples[:, 0]), 1.0, RBF(0.5))
    form = reduce(problem, BoxQP).form
    changed = replace(form, ub=0.5 * form.ub)
    answer = points(ProjectedGradient(tol=1e-3), changed)[-1]
    assert answer.claim == "optimal"
    assert answer.x is not None
    assert answer.x.max() <= 0.5
