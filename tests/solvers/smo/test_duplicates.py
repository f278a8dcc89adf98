"""Equal samples share one variable, of which the form's are made; contradictory labels get a tube."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.halves import quick_cases

from dualgap.problems import RBF, HardMarginDual, KernelQP, SoftMarginDual, SVRDual, certify, reduce
from dualgap.solvers import SMO, solve
from dualgap.solvers.smo import variables
from dualgap.solvers.smo.variables import joined, merged


def repeated(n: int = 600, copies: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    return np.vstack([X] * copies), np.tile(y, copies)


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_samples_are_merged_into_one_variable(sparse: bool) -> None:
    X, y = repeated()
    form = reduce(SoftMarginDual(sp.csr_array(X) if sparse else X, y, 1.5, RBF(1.0)), KernelQP).form
    merged_form = merged(form)
    assert merged_form.form.n == 600
    z = np.random.default_rng(0).uniform(merged_form.form.lo, merged_form.form.hi)
    beta = merged_form.to_original(z)
    assert (beta >= form.lo).all()
    assert (beta <= form.hi).all()
    assert np.allclose(np.sort(beta[:600] + beta[600:]), np.sort(z))
    inside = (beta != 0) & (np.abs(beta) < 1.5)
    assert not (inside[:600] & inside[600:]).any()


def test_unlike_weights_are_merged_and_unlike_labels_get_a_tube() -> None:
    X, y = repeated()
    y[600:650] *= -1.0
    form = reduce(SoftMarginDual(X, y, np.linspace(1, 2, 1200), RBF(1.0)), KernelQP).form
    smaller = joined(form).form
    assert smaller.n == 600
    assert np.count_nonzero(smaller.eps) == 50
    assert smaller.hi.sum() - smaller.lo.sum() == pytest.approx(form.hi.sum() - form.lo.sum())


def test_without_upper_bounds_one_duplicate_carries_the_multiplier() -> None:
    X, y = repeated()
    form = reduce(HardMarginDual(X, y, RBF(50.0)), KernelQP).form
    merged_form = merged(form)
    z = np.where(np.isinf(merged_form.form.hi), 2.0, -2.0)
    beta = merged_form.to_original(z)
    assert np.count_nonzero(beta) == 600
    assert np.abs(beta).sum() == pytest.approx(1200.0)


def test_repeating_samples_costs_nothing_in_support() -> None:
    X, y = repeated(copies=3)
    once = solve(SoftMarginDual(X[:600], y[:600], 3.0, RBF(0.5)), SMO(tol=1e-8))
    thrice = solve(SoftMarginDual(X, y, 1.0, RBF(0.5)), SMO(tol=1e-8))
    assert thrice.objective == pytest.approx(once.objective, rel=1e-9)
    assert thrice.verdict == "solved"


def test_repeated_targets_are_divided_on_one_side_of_the_tube() -> None:
    X, _ = repeated(copies=1)
    targets = np.round(X[:, 0] ** 2, 1)
    once = solve(SVRDual(X, targets, 2.0, 0.1, RBF(0.3)), SMO(tol=1e-8))
    twice = solve(
        SVRDual(np.tile(X, (2, 1)), np.tile(targets, 2), 1.0, 0.1, RBF(0.3)), SMO(tol=1e-8)
    )
    assert twice.verdict == "solved"
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)


def contradicting(C: object = 2.0, intercept: bool = True) -> SoftMarginDual:
    """Of 500 samples 200 twice with one label, and 300 of all with the other label too."""
    X, y = repeated(500, 1)
    rows = np.concatenate([np.arange(500), np.arange(200), np.arange(100, 400), np.arange(100)])
    labels = np.where(np.arange(1100) < 700, y[rows], -y[rows])
    return SoftMarginDual(X[rows], labels, C, RBF(0.5), intercept)


OF_PAIRS = [(0.3, True), (10.0, False), (0.3, False), (10.0, True)]


@pytest.mark.parametrize(("C", "intercept"), quick_cases(OF_PAIRS, OF_PAIRS[:1]))
def test_the_optimum_is_that_of_two_variables(
    monkeypatch: pytest.MonkeyPatch, C: float, intercept: bool
) -> None:
    problem = contradicting(C, intercept)
    solver = SMO(tol=1e-12, gap=5e-10)
    together = solve(problem, solver)
    again = solve(problem, SMO(tol=1e-2), initial=together)
    assert again.iterations == 0
    monkeypatch.setattr(variables, "opposite_pairs", lambda *_: (np.arange(0), np.arange(0)))
    separate = solve(problem, solver)
    assert together.claimed == separate.claimed == "optimal"
    # proven, as rounding of sums in float64, which depends on the processor, is of the size of the gap
    assert certify(problem, together, rigorous=True).relative_gap <= 5e-10
    assert together.certificate.dual_objective <= separate.certificate.primal_objective
    assert separate.certificate.dual_objective <= together.certificate.primal_objective


def test_the_stopping_gap_includes_the_centres() -> None:
    problem = contradicting(5.0)
    solution = solve(problem, SMO(tol=1e-12, gap=1e-4))
    assert 0.0 < solution.certificate.relative_gap <= 1.01e-4


def test_the_stopping_gap_includes_the_multiplier_of_the_centres() -> None:
    x = np.random.default_rng(0).standard_normal((700, 3))
    # two of three targets of each sample agree
    targets = 2000 + 3 * np.sin(2 * x[:, :1]) + np.array([2.0, 2.0, -2.0])
    problem = SVRDual(np.repeat(x, 3, axis=0), targets.ravel(), 1.0, 0.0, RBF(0.5))
    solution = solve(problem, SMO(tol=1e-12, gap=1e-3))
    assert solution.certificate.relative_gap <= 1e-3
