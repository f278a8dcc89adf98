"""SMO: shifted problems, caches, limits, and what it guarantees along the way."""

from dataclasses import replace

import numpy as np
import pytest
from tests.halves import quick_cases
from tests.small_problems import two_classes

from dualgap.problems import (
    RBF,
    KernelQP,
    NuSVC,
    NuSVR,
    OneClassSVM,
    SoftMarginDual,
    SVRDual,
    reduce,
)
from dualgap.solvers import SMO, solve
from dualgap.solvers.smo import newton
from dualgap.solvers.smo.tuning import TUNING

_LARGE = 1100  # variables, from which rows are in float32


@pytest.mark.parametrize("cache_size", [1.0, 1000.0])
@pytest.mark.parametrize("kind", ["classification", "regression", "regression with nu"])
def test_working_sets_give_the_same_optimum_with_any_cache(kind: str, cache_size: float) -> None:
    X, y = two_classes(_LARGE + 50, 5)
    problem = {
        "classification": SoftMarginDual(X, y, 5.0, RBF(0.2)),
        "regression": SVRDual(X, X[:, 0] * X[:, 1], 5.0, 0.1, RBF(0.2)),
        "regression with nu": NuSVR(X, X[:, 0] * X[:, 1], 0.3, 5.0, RBF(0.2)),
    }[kind]
    solution = solve(problem, SMO(tol=1e-7, cache_size=cache_size))
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"


@pytest.mark.parametrize(
    "kind", ["classification", "without intercept", "regression", "two groups"]
)
def test_smo_stops_soon_after_the_gap_is_reached(kind: str) -> None:
    X, y = two_classes(_LARGE + 300, 5)
    problem = {
        "classification": SoftMarginDual(X, y, 5.0, RBF(0.2)),
        "without intercept": SoftMarginDual(X, y, 5.0, RBF(0.2), intercept=False),
        "regression": SVRDual(X, X[:, 0] * X[:, 1], 5.0, 0.1, RBF(0.2)),
        "two groups": NuSVC(X, y, 0.3, RBF(0.2)),
    }[kind]
    soon, late = (solve(problem, SMO(tol=1e-9, gap=gap), target_gap=1e-3) for gap in (1e-3, None))
    assert soon.claimed == "optimal"
    assert soon.verdict == "solved"
    assert soon.iterations < 0.5 * late.iterations


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("kind", ["one class", "two groups"])
def test_variables_that_are_all_at_their_upper_bounds_are_optimal(kind: str, n: int) -> None:
    X, y = two_classes(n, 5)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    problem = OneClassSVM(X, 1.0, RBF(0.2)) if kind == "one class" else NuSVC(X, y, 1.0, RBF(0.2))
    solution = solve(problem, SMO())
    assert (solution.claimed, solution.verdict) == ("optimal", "solved")


def test_the_dual_never_falls_and_weak_duality_holds_at_every_evaluation() -> None:
    X, y = two_classes(_LARGE + 200, 5)
    reduction = reduce(SoftMarginDual(X, y, 10.0, RBF(0.5)), KernelQP)
    solver, form = SMO(tol=1e-6), reduction.form
    values = [
        0.5 * p.x @ (form.gram.matvec(p.x) + 2 * form.q)
        for p in solver.iterates(solver.prepare(form))
    ]
    assert len(values) > 3
    assert (np.diff(values) <= 1e-9 * abs(values[-1])).all()

    solution = solve(
        SoftMarginDual(X, y, 10.0, RBF(0.5)), SMO(tol=1e-6), callback=lambda evaluation: None
    )
    assert all(evaluation.certificate.gap >= 0 for evaluation in solution.trace)


VIEWS = [("classification", True), ("regression", False)]
VIEWS += [("classification", False), ("regression", True)]


@pytest.mark.parametrize(("view", "intercept"), quick_cases(VIEWS, VIEWS[:1]))
def test_newton_steps_on_the_packed_triangle_do_not_change_the_optimum(
    monkeypatch: pytest.MonkeyPatch, view: str, intercept: bool
) -> None:
    X, y = two_classes(_LARGE + 200, 5)
    if view == "classification":
        problem = SoftMarginDual(X, y, 30.0, RBF(0.2), intercept)
    else:
        problem = SVRDual(X, np.sin(X[:, 0]) + 0.1 * y, 30.0, 0.02, RBF(0.2), intercept)
    plain = solve(problem, SMO(tol=1e-9, gap=1e-7))
    monkeypatch.setattr(newton, "TUNING", replace(TUNING, min_free=10, patience=3, max_factored=0))
    stepping = solve(problem, SMO(tol=1e-9, gap=1e-7))
    assert stepping.counters["newton_steps"] > plain.counters["newton_steps"]
    assert stepping.verdict == plain.verdict == "solved"
    assert stepping.certificate.dual_objective <= plain.certificate.primal_objective
    assert plain.certificate.dual_objective <= stepping.certificate.primal_objective


@pytest.mark.parametrize("n", [200, 1500])
def test_a_start_that_is_too_long_is_shortened_to_its_best_multiple(n):
    X = np.random.default_rng(0).standard_normal((n, 2))
    X, y = X + 2 * np.sign(X), np.sign(X[:, 0])  # separable: above some C the optimum stays
    first, cold = (solve(SoftMarginDual(X, y, C, RBF(0.1)), SMO(gap=1e-4)) for C in (1e4, 1e5))
    warm = solve(SoftMarginDual(X, y, 1e5, RBF(0.1)), SMO(gap=1e-4), initial=first)
    assert warm.certificate.relative_gap <= 1e-4
    assert warm.iterations < 0.25 * cold.iterations
