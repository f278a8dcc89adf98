"""Semismooth Newton has the optimum of other methods, and says what it cannot take."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import (
    RBF,
    SoftMarginDual,
    SVRDual,
)
from dualgap.solvers import SMO, SemismoothNewton, Status, default_solver, semismooth_newton, solve
from dualgap.solvers.semismooth_newton.tuning import TUNING

TARGET = 1e-9


def samples(n: int, seed: int = 0, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_nearly_diagonal_kernel_needs_few_products(sparse: bool) -> None:
    X, y = samples(900, d=15)
    X[450:] = X[:450]  # some of them with opposite labels
    S = sp.csr_array(X) if sparse else X
    answer = solve(
        SoftMarginDual(S, y, 64.0, RBF(4.0)), SemismoothNewton(tol=1e-9), target_gap=TARGET
    )
    assert answer.verdict == "solved"
    assert answer.counters["products"] <= 150
    assert answer.counters["entries"] <= 0.2 * 450**2


def test_float32_entries_are_replaced_by_float64_if_too_coarse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(semismooth_newton, "TUNING", replace(TUNING, min_float32_variables=100))
    X, y = samples(300)
    coarse = solve(SoftMarginDual(X, y, 1.0, RBF(3.0)), SemismoothNewton(tol=1e-3), target_gap=1e-2)
    assert (coarse.verdict, coarse.counters["bits"]) == ("solved", 32)
    problem = SVRDual(X, y, 1e2, 1e-4, RBF(3.0))
    large = solve(problem, SemismoothNewton(tol=1e-7), target_gap=1e-2)
    assert (large.verdict, large.counters["bits"]) == ("solved", 64)


def test_more_entries_than_the_cache_holds_are_refused() -> None:
    problem = SoftMarginDual(*samples(400), 1.0, RBF(0.01))
    answer = solve(problem, SemismoothNewton(cache_size=1.0))
    assert answer.status is Status.UNSUPPORTED
    assert "cache_size" in answer.note
    assert solve(problem, SemismoothNewton(cache_size=6.0)).status is Status.FINISHED


def test_solve_picks_semismooth_newton_if_K_is_nearly_diagonal() -> None:
    X, y = samples(3000, d=15)
    narrow = SoftMarginDual(X, y, 64.0, RBF(4.0))
    assert isinstance(default_solver(narrow), SemismoothNewton)
    assert solve(narrow).verdict == "solved"
    assert isinstance(default_solver(SoftMarginDual(X, y, 64.0, RBF(0.05))), SMO)
    assert isinstance(default_solver(SoftMarginDual(X[:900], y[:900], 64.0, RBF(4.0))), SMO)
