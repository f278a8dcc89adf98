"""Data that break solvers: every answer has an honest status and verdict, ours are solved.

Nothing that was accepted as a problem may raise, and no verdict may be "wrong". A solver that cannot
take the problem says so in a sentence.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.halves import quick_cases

from dualgap.problems import (
    RBF,
    HardMarginDual,
    HingeERM,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    SVRDual,
)
from dualgap.solvers import (
    SMO,
    CvxoptQP,
    DualCoordinateDescent,
    Pegasos,
    PlattSMO,
    ProjectedGradient,
    SimplifiedSMO,
    Status,
    default_solver,
    solve,
)

rng = np.random.default_rng(0)
Y = np.where(np.arange(24) % 2 == 0, 1.0, -1.0)
X = rng.standard_normal((24, 3)) + 0.5 * Y[:, None]
T = X @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(24)
SEPARATED = X + 3.0 * Y[:, None]
DUPLICATES = np.repeat(X[:6], 4, axis=0)
CONSTANT = np.hstack([X, np.ones((24, 1)), X[:, :1] - X[:, 1:2], np.zeros((24, 1))])
ZERO_ROWS = np.where(np.arange(24)[:, None] % 3 == 0, 0.0, X)
RARE = rng.standard_normal((1001, 3))
ONE_IN_THOUSAND = np.where(np.arange(1001) == 500, 1.0, -1.0)
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False


def soft(samples, labels=Y, C=1.0, **more):
    return lambda: SoftMarginDual(samples, labels, C, **more)


def tube(samples=X, targets=T, C=1.0, epsilon=0.1, **more):
    return lambda: SVRDual(samples, targets, C, epsilon, **more)


SOLVED = {
    "one class": soft(X, np.ones(24)),
    "one class, rbf": soft(X, -np.ones(24), kernel=RBF(0.5)),
    "n=1": soft(X[:1], Y[:1]),
    "n=1, regression": tube(X[:1], T[:1]),
    "n=2": soft(X[:2], Y[:2]),
    "identical points, equal labels": soft(DUPLICATES, np.repeat(Y[:6], 4)),
    "identical points, opposite labels": soft(DUPLICATES),
    "all points identical": soft(np.ones((24, 3)), kernel=RBF(1.0)),
    "constant and collinear features": soft(CONSTANT),
    "all-zero rows": soft(ZERO_ROWS),
    "all rows zero": soft(np.zeros((24, 3))),
    "all rows zero, sparse": soft(sp.csr_array((24, 3))),
    "scaled by 1e8": soft(1e8 * X, C=1e-16),
    "scaled by 1e-8": soft(1e-8 * X, C=1e16),
    "scaled by 1e-8, C=1": soft(1e-8 * X),
    "scaled by 1e8, rbf": soft(1e8 * X, kernel=RBF(0.5)),
    "features of 1e8 and 1e-8": soft(X * [1e4, 1.0, 1e-8]),
    "float32": soft(X.astype(np.float32)),
    "integers": soft(np.round(10 * X).astype(np.int32), C=0.01),
    "sparse": soft(sp.csc_array(ZERO_ROWS)),
    "Fortran order": soft(np.asfortranarray(X)),
    "read-only": soft(READ_ONLY),
    "1:1000 imbalance": soft(RARE, ONE_IN_THOUSAND),
    "1:1000 imbalance, rbf": soft(RARE, ONE_IN_THOUSAND, kernel=RBF(0.5)),
    "C=1e-12": soft(X, C=1e-12),
    "C=1e-12, rbf": soft(X, C=1e-12, kernel=RBF(0.5)),
    "C=1e12, separable": soft(SEPARATED, C=1e12),
    "C=1e12, rbf": soft(X, C=1e12, kernel=RBF(0.5)),
    "C of 1e-12 and 1e12": soft(SEPARATED, C=np.where(np.arange(24) % 3 == 0, 1e-12, 1e12)),
    "gamma=1e-12": soft(X, kernel=RBF(1e-12)),
    "gamma=1e12": soft(X, kernel=RBF(1e12)),
    "singular Gram matrix": soft(X @ X.T, kernel=Precomputed()),
    "Gram matrix of zeros": soft(np.zeros((24, 24)), kernel=Precomputed()),
    "no free support vector": soft([[-1.0], [1.0]], [-1, 1], C=0.25),
    "non-unique dual": soft(np.vstack([SEPARATED, SEPARATED]), np.tile(Y, 2), C=10.0),
    "epsilon 0": tube(epsilon=0.0),
    "epsilon larger than the range": tube(epsilon=100.0),
    "constant target": tube(targets=np.full(24, 7.0)),
    "constant target, epsilon 0": tube(targets=np.full(24, 7.0), epsilon=0.0),
    "lam=1e-12": lambda: HingeERM(SEPARATED, Y, 1e-12),
    "lam=1e12": lambda: HingeERM(X, Y, 1e12),
}
OTHERS = {
    "C=1e12, not separable": soft(X, C=1e12),
    "hard margin on non-separable data": lambda: HardMarginDual(X, Y),
    "hard margin on duplicates with opposite labels": lambda: HardMarginDual(
        DUPLICATES, Y, RBF(0.5)
    ),
    "hard margin on one class": lambda: HardMarginDual(X, np.ones(24)),
    "hard margin, gamma=1e-12": lambda: HardMarginDual(X, Y, RBF(1e-12)),
    "sigmoid": soft(X, kernel=Sigmoid(1.0, -1.0)),
    "polynomial of degree 20": soft(X, kernel=Polynomial(20)),
    "features of 1e8 and 1e-8, C=1e12": soft(X * [1e8, 1.0, 1e-8], C=1e12),
    "lam=1e-12, not separable": lambda: HingeERM(X, Y, 1e-12),
}
EVERY = SOLVED | OTHERS
# a way to be degenerate each, which all solvers are tried on
FEW = ("one class", "n=1", "n=1, regression", "identical points, opposite labels")
FEW += ("all rows zero, sparse", "scaled by 1e-8", "1:1000 imbalance", "C=1e12, rbf")
FEW += ("C of 1e-12 and 1e12", "gamma=1e-12", "Gram matrix of zeros", "no free support vector")
FEW += ("constant target, epsilon 0", "lam=1e12", "hard margin on non-separable data", "sigmoid")
HONEST = {
    Status.FINISHED,
    Status.MAX_ITER,
    Status.TIME_LIMIT,
    Status.INFEASIBLE,
    Status.UNSUPPORTED,
    Status.DIVERGED,
}
LIMITS = {"time_limit": 0.2, "max_iter": 3000}
CHECKED = {
    "SMO": SMO(),
    "DualCoordinateDescent": DualCoordinateDescent(tol=1e-8),
    "CvxoptQP": CvxoptQP(),
    "ProjectedGradient": ProjectedGradient(),
    "Pegasos": Pegasos(),
    "PlattSMO": PlattSMO(max_iter=3000),
    "SimplifiedSMO": SimplifiedSMO(max_iter=3000),
    "Pegasos, batch larger than n": Pegasos(batch_size=10_000),
}


@pytest.mark.parametrize("name", SOLVED)
def test_the_default_solves_every_solvable_degenerate_problem(name):
    problem = SOLVED[name]()
    solution = solve(problem, target_gap=1e-6, time_limit=20.0)
    assert solution.verdict == "solved", solution
    assert solution.status is Status.FINISHED
    assert np.isfinite(solution.b)


@pytest.mark.parametrize("name", quick_cases(SOLVED, FEW))
def test_the_default_solves_degenerate_problems_without_an_intercept(name):
    problem = replace(SOLVED[name](), intercept=False)
    assert solve(problem, target_gap=1e-6, time_limit=20.0).verdict == "solved"


@pytest.mark.parametrize("name", quick_cases(SOLVED, FEW))
def test_smo_solves_every_solvable_degenerate_problem(name):
    solution = solve(SOLVED[name](), SMO(tol=1e-9, gap=1e-7), max_iter=200_000, time_limit=20.0)
    if name == "features of 1e8 and 1e-8":  # pairs of samples are no way through such a valley
        assert solution.status is Status.MAX_ITER
        assert solution.verdict == "inaccurate"
    else:
        assert solution.verdict == "solved", solution


@pytest.mark.parametrize("solver", CHECKED.values(), ids=CHECKED)
@pytest.mark.parametrize("name", quick_cases(EVERY, FEW))
def test_every_answer_has_an_honest_status_and_verdict(name, solver):
    honest(solve(EVERY[name](), solver, **LIMITS))


@pytest.mark.parametrize("name", quick_cases(OTHERS, FEW))
def test_the_default_is_honest_about_unsolvable_problems(name):
    problem = OTHERS[name]()
    honest(solve(problem, default_solver(problem), time_limit=0.3, max_iter=100_000))


def honest(solution):
    assert solution.status in HONEST
    assert solution.verdict != "wrong", solution
    if solution.status is Status.UNSUPPORTED:
        assert len(solution.note.split()) > 3
    elif solution.verdict == "uncertified":
        assert solution.reason or solution.status is Status.DIVERGED, solution
    elif solution.verdict != "infeasible":
        assert solution.certificate.gap >= 0


@pytest.mark.parametrize("below", [1e-6, 1e-8])
def test_no_optimum_is_claimed_for_a_tube_just_below_half_the_range(below):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 3)), rng.standard_normal(1500)
    problem = SVRDual(X, y, 1.0, 0.5 * np.ptp(y) * (1 - below))
    alone = solve(problem, DualCoordinateDescent(), target_gap=1e-2)
    assert alone.verdict == "solved" or alone.claimed != "optimal"
    assert solve(problem, target_gap=1e-2).verdict == "solved"


def test_a_margin_of_subnormal_features_overflows_without_a_warning():
    tiny = 1e-310 * X
    solution = solve(HardMarginDual(tiny, np.where(X[:, 0] > 0, 1.0, -1.0)), SMO())
    assert solution.verdict == "uncertified"
    assert "infinite" in solution.reason
