"""SMO: shifted problems, caches, limits, and what it guarantees along the way."""

import numpy as np
import pytest

from problems import RBF, BoxQP, FormPoint, HardMarginDual, NuSVR, SoftMarginDual, SVRDual, reduce
from problems.box_gap import kkt_violation
from problems.gram.gram import Gram, SignedGram
from problems.kernels import Precomputed
from solvers import SMO, Status, solve
from solvers.smo import newton_policy

_LARGE = 1100  # variables, from which rows are in float32


def samples(n: int, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def last(solver: SMO, form: BoxQP) -> FormPoint:
    return list(solver.iterates(solver.prepare(form)))[-1]


def shifted_box(n: int, equality: bool, seed: int) -> BoxQP:
    """A box QP with lb ≠ 0, delta ≠ 0, and coefficients of every size and sign."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n + 2))
    lb = rng.uniform(-3, 1, n)
    ub = lb + rng.uniform(0.0, 4, n)
    a = rng.uniform(0.2, 3, n) * rng.choice([-1.0, 1.0], n) if equality else None
    delta = np.zeros(0) if a is None else np.array([a @ rng.uniform(lb, ub)])
    Q = SignedGram(Gram(A @ A.T, Precomputed()))
    return BoxQP(Q, rng.standard_normal(n), a, None, delta, lb, ub)


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_shifted_boxes_are_solved(equality: bool, seed: int) -> None:
    form = shifted_box(30, equality, seed)
    point = last(SMO(tol=1e-9), form)
    x = point.x
    g = form.Q.matvec(x) + form.p
    assert point.claim == "optimal"
    assert (x >= form.lb).all()
    assert (x <= form.ub).all()
    assert kkt_violation(g, form.a, x - form.lb, form.ub - x) <= 1e-8
    if form.a is not None:
        assert form.a @ x == pytest.approx(form.delta[0], abs=1e-12)


@pytest.mark.parametrize("cache_size", [1.0, 1000.0])
@pytest.mark.parametrize("kind", ["classification", "regression", "regression with nu"])
def test_working_sets_give_the_same_optimum_with_any_cache(kind: str, cache_size: float) -> None:
    X, y = samples(_LARGE + 300)
    problem = {
        "classification": SoftMarginDual(X, y, 5.0, RBF(0.2)),
        "regression": SVRDual(X, X[:, 0] * X[:, 1], 5.0, 0.1, RBF(0.2)),
        "regression with nu": NuSVR(X, X[:, 0] * X[:, 1], 0.3, 5.0, RBF(0.2)),
    }[kind]
    solution = solve(problem, SMO(tol=1e-6, cache_size=cache_size))
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"


def test_the_dual_never_falls_and_weak_duality_holds_at_every_evaluation() -> None:
    X, y = samples(_LARGE + 200)
    reduction = reduce(SoftMarginDual(X, y, 10.0, RBF(0.5)), BoxQP)
    solver, form = SMO(tol=1e-6), reduction.form
    values = [
        0.5 * p.x @ (form.Q.matvec(p.x) + 2 * form.p) for p in solver.iterates(solver.prepare(form))
    ]
    assert len(values) > 3
    assert (np.diff(values) <= 1e-9 * abs(values[-1])).all()

    solution = solve(
        SoftMarginDual(X, y, 10.0, RBF(0.5)), SMO(tol=1e-6), callback=lambda evaluation: None
    )
    assert all(evaluation.certificate.gap >= 0 for evaluation in solution.trace)


def test_tol_bounds_the_maximal_violating_pair() -> None:
    X, y = samples(200)
    for tol in (1e-1, 1e-3, 1e-6):
        solution = solve(SoftMarginDual(X, y, 1.0, RBF(0.2)), SMO(tol=tol))
        assert solution.certificate.violating_pair <= tol * (1 + 1e-9)


def test_a_warm_start_at_the_optimum_needs_no_steps() -> None:
    X, y = samples(300)
    problem = SoftMarginDual(X, y, 1.0, RBF(0.2))
    cold = solve(problem, SMO(tol=1e-6))
    again = solve(problem, SMO(tol=1.1e-6), initial=cold)
    nearby = solve(SoftMarginDual(X, y, 1.1, RBF(0.2)), SMO(tol=1e-6), initial=cold)
    assert cold.iterations > 10 * max(1, again.iterations)
    assert nearby.iterations < cold.iterations


def test_iteration_limit_is_exact_and_said() -> None:
    X, y = samples(400)
    solution = solve(SoftMarginDual(X, y, 100.0, RBF(0.5)), SMO(tol=1e-9), max_iter=37)
    assert solution.iterations == 37
    assert solution.status is Status.MAX_ITER
    assert solution.verdict == "inaccurate"


def test_stop_at_target_ends_early() -> None:
    X, y = samples(900)
    problem = SoftMarginDual(X, y, 1000.0, RBF(0.05))
    loose = solve(problem, SMO(tol=1e-10), target_gap=1e-2, stop_at_target=True)
    assert loose.certificate.relative_gap <= 1e-2
    assert loose.certificate.violating_pair > 1e-10


def test_duplicates_with_opposite_labels_make_a_hard_margin_infeasible() -> None:
    X, y = samples(50)
    X = np.vstack([X, X[:1]])
    y = np.append(y, -y[0])
    solution = solve(HardMarginDual(X, y, RBF(0.5)), SMO())
    assert solution.status is Status.INFEASIBLE
    assert solution.verdict == "infeasible"


def test_a_single_class_is_trivially_optimal() -> None:
    X, _ = samples(20)
    solution = solve(SoftMarginDual(X, np.ones(20), 1.0))
    assert solution.certificate.relative_gap < 1e-14
    assert solution.b == pytest.approx(1.0)


def test_duplicated_samples_double_C() -> None:
    X, y = samples(120)
    twice = solve(SoftMarginDual(np.vstack([X, X]), np.tile(y, 2), 1.0, RBF(0.2)), SMO(tol=1e-8))
    doubled = solve(SoftMarginDual(X, y, 2.0, RBF(0.2)), SMO(tol=1e-8))
    assert twice.objective == pytest.approx(doubled.objective, rel=1e-7)


def test_the_violating_pair_is_measured_on_the_feasible_point() -> None:
    form = shifted_box(20, True, 3)
    start = form.project(np.zeros(20))
    g = form.Q.matvec(start) + form.p
    assert form.violating_pair(g, start) > 0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("view", ["classification", "regression"])
def test_newton_steps_from_kept_rows_do_not_change_the_optimum(
    monkeypatch: pytest.MonkeyPatch, view: str, seed: int, intercept: bool
) -> None:
    X, y = samples(_LARGE + 200, seed=seed)
    if view == "classification":
        problem = SoftMarginDual(X, y, 30.0, RBF(0.2), intercept)
    else:
        problem = SVRDual(X, np.sin(X[:, 0]) + 0.1 * y, 30.0, 0.02, RBF(0.2), intercept)
    plain = solve(problem, SMO(tol=1e-9, gap=1e-7))
    monkeypatch.setattr(newton_policy, "_LEAST_FREE", 10)
    monkeypatch.setattr(newton_policy, "_PATIENCE", 3)
    newton = solve(problem, SMO(tol=1e-9, gap=1e-7))
    assert newton.counters["newton_steps"] > plain.counters["newton_steps"]
    assert newton.verdict == plain.verdict == "solved"
    assert newton.certificate.dual_objective <= plain.certificate.primal_objective
    assert plain.certificate.dual_objective <= newton.certificate.primal_objective
