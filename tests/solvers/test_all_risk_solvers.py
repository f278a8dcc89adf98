"""Solvers of regularised risks against scikit-learn and closed forms, judged by certificates."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR, LinearSVC, LinearSVR

from dualgap.problems import (
    ERM,
    Point,
    RegularizedERM,
    SoftmaxERM,
    certify,
    datasets,
    reduce,
)
from dualgap.problems.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from dualgap.solvers import (
    LBFGS,
    SDCA,
    CvxpyERM,
    FiniteNewton,
    NewtonCG,
    Pegasos,
    Status,
    StochasticSubgradient,
    solve,
)

CANCER = datasets.load("breast_cancer", standardize=True, limit=200, seed=0)
DIABETES = datasets.load("diabetes", standardize=True, limit=200, seed=0)
WINE = datasets.load("wine", standardize=True, multiclass=True)
X, Y, N = CANCER.X, CANCER.y, CANCER.n
Z, T = DIABETES.X, DIABETES.y / 100.0
LAM = 0.01
C = 1 / (N * LAM)
TIGHT = {"tol": 1e-12, "max_iter": 100_000}
RISKS = {
    "hinge": RegularizedERM(X, Y, LAM, "hinge"),
    "squared_hinge": RegularizedERM(X, Y, LAM, "squared_hinge"),
    "logistic": RegularizedERM(X, Y, LAM, "logistic"),
    "logistic, sparse": RegularizedERM(sp.csr_array(X), Y, LAM, "logistic"),
    "logistic, intercept": RegularizedERM(X, Y, LAM, "logistic", intercept=True),
    "squared": RegularizedERM(Z, T, LAM, "squared"),
    "squared, intercept": RegularizedERM(Z, T, LAM, "squared", intercept=True),
    "tube": RegularizedERM(Z, T, LAM, EpsilonInsensitive(0.3)),
    "tube, intercept": RegularizedERM(Z, T, LAM, EpsilonInsensitive(0.3), intercept=True),
    "squared tube": RegularizedERM(Z, T, LAM, SquaredEpsilonInsensitive(0.3)),
    "softmax": SoftmaxERM(WINE.X, WINE.y, LAM),
}
BASELINES = {
    "hinge": lambda: LinearSVC(
        loss="hinge", C=C, fit_intercept=False, random_state=0, tol=1e-7, max_iter=1_000_000
    ),
    "squared_hinge": lambda: LinearSVC(C=C, fit_intercept=False, dual=False, **TIGHT),
    "logistic": lambda: LogisticRegression(C=C, fit_intercept=False, **TIGHT),
    "logistic, sparse": lambda: LogisticRegression(C=C, fit_intercept=False, **TIGHT),
    "logistic, intercept": lambda: LogisticRegression(C=C, **TIGHT),
    "squared": lambda: Ridge(N * LAM, fit_intercept=False),
    "squared, intercept": lambda: Ridge(N * LAM),
    "tube": lambda: LinearSVR(epsilon=0.3, C=C, fit_intercept=False, random_state=0, **TIGHT),
    "tube, intercept": lambda: SVR(kernel="linear", epsilon=0.3, C=C, tol=1e-8),
    "squared tube": lambda: LinearSVR(
        epsilon=0.3,
        C=C,
        loss="squared_epsilon_insensitive",
        fit_intercept=False,
        dual=False,
        **TIGHT,
    ),
    "softmax": lambda: LogisticRegression(C=1 / (WINE.n * LAM), fit_intercept=False, **TIGHT),
}


@pytest.mark.parametrize("name", RISKS)
def test_the_default_solves_it_and_scikit_learn_agrees(name):
    """Primal objectives are 1-strongly convex in w: ½‖w − w*‖² is at most the certified gap."""
    problem = RISKS[name]
    solution = solve(problem)
    baseline = BASELINES[name]().fit(problem.X, problem.y)
    w = baseline.coef_.T if name == "softmax" else np.ravel(baseline.coef_)
    theirs = certify(problem, Point(w=w))
    assert solution.verdict == "solved"
    assert theirs.relative_gap <= 1e-5
    rounding = 1e-14 * solution.certificate.primal_objective
    reach = sum(np.sqrt(2 * (c.gap + rounding)) for c in (solution.certificate, theirs))
    assert np.linalg.norm(solution.w - w) <= reach
    if problem.intercept:
        assert solution.b == pytest.approx(float(np.ravel(baseline.intercept_)[0]), abs=1e-2)


@pytest.mark.parametrize("solver", [SDCA(tol=1e-10), LBFGS(), NewtonCG(), FiniteNewton()])
def test_an_optimal_start_needs_fewer_steps(solver):
    first = solve(RISKS["squared_hinge"], solver)
    assert solve(RISKS["squared_hinge"], solver, initial=first).iterations < first.iterations


@pytest.mark.parametrize("name", [name for name, risk in RISKS.items() if risk.outputs == 1])
def test_stochastic_steps_approach_the_optimum(name):
    problem = RISKS[name]
    solution = solve(problem, StochasticSubgradient(epochs=300))
    if problem.intercept:
        assert solution.status is Status.UNSUPPORTED
        return
    best = solve(problem, CvxpyERM()).certificate.dual_objective
    suboptimality = solution.certificate.primal_objective - best
    assert solution.claimed == "stopped"
    assert suboptimality <= 0.06 * best


def test_stochastic_steps_on_the_hinge_are_those_of_pegasos():
    """The same steps and projection; Pegasos averages with t³ and samples by its own stream."""
    risk = RISKS["hinge"]
    best = solve(risk, CvxpyERM()).certificate.dual_objective
    ours, pegasos = (
        solve(risk, solver).certificate.primal_objective - best
        for solver in (StochasticSubgradient(epochs=60), Pegasos(epochs=60, sampling="iid"))
    )
    assert ours <= 3 * pegasos + 1e-3 * best


@pytest.mark.parametrize("solver", [CvxpyERM(), SDCA(), StochasticSubgradient()])
def test_the_perceptron_risk_stops_at_its_optimum_of_zero_with_a_note(solver):
    solution = solve(RegularizedERM(X, Y, LAM, "perceptron"), solver)
    assert solution.verdict == "solved"
    assert np.linalg.norm(solution.w) <= 1e-3
    assert "w = 0 is optimal" in solution.reason


def test_the_prediction_of_softmax_is_its_largest_score():
    solution = solve(RISKS["softmax"])
    scores = solution.decision_function(WINE.X)
    assert solution.w.shape == (WINE.d, 3)
    assert np.mean(scores.argmax(axis=1) == WINE.y) > 0.98


@pytest.mark.parametrize(
    "solver",
    [Pegasos(), Pegasos(batch_size=32), SDCA(tol=1e-15), StochasticSubgradient()],
    ids=repr,
)
def test_max_iter_is_respected_and_reported(solver):
    solution = solve(RISKS["hinge"], solver, max_iter=11)
    assert solution.iterations == 11
    assert solution.status is Status.MAX_ITER


def test_coordinate_ascent_never_lowers_the_dual():
    problem = RISKS["logistic"]
    points = SDCA(tol=1e-10).iterates(reduce(problem, ERM).form)
    duals = [certify(problem, Point(problem.risk.alpha(p.beta))).dual_objective for p in points]
    assert len(duals) > 5
    assert all(new >= old * (1 - 1e-14) for old, new in pairwise(duals))
