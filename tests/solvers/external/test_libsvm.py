"""LIBSVM as a baseline: it must be given the same problem, weights, kernel and all."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    BoxQP,
    Formulation,
    HardMarginDual,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    SVRDual,
    reduce,
)
from problems.gram.gram import Gram, SignedGram
from solvers import SMO, LibSVM, Solution, Status, solve

KERNELS = [Linear(), RBF(0.3), Polynomial(3, 0.5, 1.0), 0.5 * Linear() + RBF(1.0)]


def samples(n: int = 80, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y


def reachable(solution: Solution, tol: float) -> float:
    """LIBSVM keeps Q in single precision: each gradient is off by up to eps·Σ|Qᵢⱼ|xⱼ."""
    problem = solution.problem
    rows = np.abs(problem.gram().dense()) @ np.abs(solution.alpha)
    return tol + np.finfo(np.float32).eps * float(rows.max())


def weights(n: int = 80) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 3.0, n)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_finds_the_optimum_of_smo(kernel: Kernel, sparse: bool) -> None:
    X, y = samples()
    X = sp.csr_array(np.where(X > 0, X, 0.0)) if sparse else X
    for problem in (
        SoftMarginDual(X, y, 2.0, kernel),
        SoftMarginDual(X, y, weights(), kernel),
        SVRDual(X, X[:, [0]].sum(axis=1) + 2.0, weights(), 0.1, kernel),
    ):
        baseline, ours = solve(problem, LibSVM(tol=1e-6)), solve(problem, SMO(tol=1e-6))
        assert baseline.claimed == "optimal"
        assert baseline.certificate.violating_pair <= reachable(baseline, 1e-6)
        gaps = baseline.certificate.gap + ours.certificate.gap
        assert abs(baseline.objective - ours.objective) <= gaps


def test_the_answer_meets_its_tolerance_as_far_as_single_precision_goes() -> None:
    problem = SoftMarginDual(*samples(), 1.0, RBF(0.3))
    for tol in (1e-1, 1e-3, 1e-6, 1e-9):
        solution = solve(problem, LibSVM(tol=tol))
        assert solution.certificate.violating_pair <= reachable(solution, tol)


def test_shrinking_changes_the_way_and_not_the_answer() -> None:
    problem = SoftMarginDual(*samples(), 100.0, RBF(0.3))
    for shrinking in (True, False):
        solution = solve(problem, LibSVM(tol=1e-7, shrinking=shrinking, cache_size=1.0))
        assert solution.certificate.violating_pair <= reachable(solution, 1e-7)


def test_an_indefinite_kernel_is_solved_to_stationarity() -> None:
    solution = solve(SoftMarginDual(*samples(), 1.0, Sigmoid(0.5, -1.0)), LibSVM(tol=1e-6))
    assert solution.verdict == "uncertified"
    assert solution.certificate.violating_pair <= 1e-5


def test_max_iter_is_honoured() -> None:
    problem = SoftMarginDual(*samples(), 1.0, RBF(0.3))
    solution = solve(problem, LibSVM(), max_iter=5)
    assert solution.iterations == 5
    assert solution.claimed == "stopped"
    assert solution.status is Status.MAX_ITER


def test_what_libsvm_cannot_do_is_refused_in_a_sentence() -> None:
    X, y = samples()
    refused = {
        "always has an intercept": SoftMarginDual(X, y, intercept=False),
        "no hard margin": HardMarginDual(X, y),
        "both classes": SoftMarginDual(X, np.ones(y.size)),
    }
    for words, problem in refused.items():
        solution = solve(problem, LibSVM())
        assert solution.status is Status.UNSUPPORTED
        assert words in solution.note


def test_box_qps_of_another_kind_are_refused() -> None:
    form = reduce(SoftMarginDual(*samples(), 1.0), BoxQP).form
    n, ones = form.n, np.ones(form.n)
    others = [
        BoxQP(form.Q, form.p, form.a, None, np.ones(1), form.lb, form.ub),
        BoxQP(form.Q, form.p, form.a, None, form.delta, form.lb - 1, form.ub),
        BoxQP(form.Q, 2 * form.p, form.a, None, form.delta, form.lb, form.ub),
        BoxQP(form.Q, form.p, 2 * ones, None, form.delta, form.lb, form.ub),
        BoxQP(
            SignedGram(Gram(np.eye(n), Precomputed())),
            form.p,
            form.a,
            None,
            form.delta,
            form.lb,
            form.ub,
        ),
    ]
    for other in others:
        assert "solves only the duals of C-SVC" in str(LibSVM().refuses(other))


def test_every_formulation_is_solved_or_refused(box_problem: Formulation) -> None:
    solution = solve(box_problem, LibSVM(tol=1e-7))
    if solution.status is Status.UNSUPPORTED:
        assert not box_problem.intercept or box_problem.problem_class == "hard_margin"
    else:
        assert solution.verdict == "solved"


def test_without_scikit_learn_the_run_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    solution = solve(SoftMarginDual(*samples()), LibSVM())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install scikit-learn" in solution.note
