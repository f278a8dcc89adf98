"""Solving several classes part by part: against scikit-learn, and with solvers that lie or run out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dualgap.problems import (
    RBF,
    FormPoint,
    KernelQP,
    Linear,
    OneVsOne,
    OneVsRest,
    Point,
    certify,
    datasets,
)
from dualgap.problems.forms import Claim
from dualgap.solvers import (
    LBFGS,
    SMO,
    CvxoptQP,
    DualCoordinateDescent,
    LibSVM,
    Pegasos,
    Solver,
    Status,
    default_solver,
    solve,
)

DATA = {
    "iris": datasets.load("iris", standardize=True, multiclass=True),
    "wine": datasets.load("wine", standardize=True, multiclass=True),
    "digits": datasets.load("digits", limit=300, seed=0, multiclass=True),
}
KERNELS = {"iris": Linear(), "wine": RBF(0.05), "digits": RBF(0.001)}
IRIS = DATA["iris"]
STRATEGIES = (OneVsRest, OneVsOne)
TIGHT = SMO(tol=1e-10)


def libsvm(kernel) -> SVC:
    """Return scikit-learn's SVC with this kernel; ties are broken by margins, as ours are."""
    plain = {"kernel": "linear"} if isinstance(kernel, Linear) else {"gamma": kernel.gamma}
    return SVC(**plain, C=1.0, tol=1e-10, break_ties=True, decision_function_shape="ovr")


@pytest.mark.parametrize("name", DATA)
def test_one_vs_one_equals_the_svc_of_scikit_learn(name):
    data = DATA[name]
    solution = solve(OneVsOne(data.X, data.y, 1.0, KERNELS[name]), TIGHT)
    svc = libsvm(KERNELS[name]).fit(data.X, data.y)
    assert solution.verdict == "solved"
    assert np.array_equal(solution.predict(data.X), svc.predict(data.X))
    assert np.allclose(solution.decision_function(data.X), svc.decision_function(data.X), atol=1e-5)
    svc.set_params(decision_function_shape="ovo", break_ties=False)
    assert np.allclose(solution.geometry.outputs(data.X), svc.decision_function(data.X), atol=1e-5)


@pytest.mark.parametrize("name", DATA)
def test_one_vs_rest_equals_the_classifier_of_scikit_learn(name):
    data = DATA[name]
    solution = solve(OneVsRest(data.X, data.y, 1.0, KERNELS[name], voting="margin"), TIGHT)
    baseline = OneVsRestClassifier(libsvm(KERNELS[name])).fit(data.X, data.y)
    assert solution.verdict == "solved"
    assert np.array_equal(solution.predict(data.X), baseline.predict(data.X))
    assert np.allclose(
        solution.decision_function(data.X), baseline.decision_function(data.X), atol=1e-5
    )


def test_logistic_parts_are_the_logistic_regressions_of_scikit_learn():
    problem = OneVsRest(IRIS.X, IRIS.y, 1.0, loss="logistic", voting="margin")
    solution = solve(problem)
    baseline = OneVsRestClassifier(LogisticRegression(tol=1e-10, max_iter=1000)).fit(IRIS.X, IRIS.y)
    f = np.column_stack([estimator.decision_function(IRIS.X) for estimator in baseline.estimators_])
    assert isinstance(solution.solver, LBFGS)
    assert solution.verdict == "solved"
    assert np.allclose(solution.decision_function(IRIS.X), f, atol=1e-3)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "solver", [None, TIGHT, DualCoordinateDescent(), LibSVM(tol=1e-5), CvxoptQP()]
)
def test_any_binary_solver_is_certified_part_by_part(strategy, solver):
    problem = strategy(IRIS.X, IRIS.y)
    solution = solve(problem, solver, target_gap=1e-3)
    assert solution.verdict == "solved"
    assert (solution.status, solution.claimed, solution.reason) == ("finished", "optimal", "")
    assert all(part.verdict == "solved" for part in solution.parts)
    assert solution.time_solve == sum(part.time_solve for part in solution.parts)
    assert solution.iterations == sum(part.iterations for part in solution.parts)
    alone = [solve(part.problem, TIGHT).certificate.primal_objective for part in problem.parts]
    assert solution.objective == pytest.approx(sum(alone), rel=2e-3)
    assert default_solver(problem) == default_solver(problem.parts[0].problem)


def test_ambiguous_regions_lie_between_the_classes():
    data = datasets.load("blobs", multiclass=True)
    one_vs_rest, one = (solve(strategy(data.X, data.y)) for strategy in STRATEGIES)
    centre, far = np.zeros((1, 2)), 2.5 * data.X[np.linalg.norm(data.X, axis=1).argmax()][None]
    between = 8.0 * np.column_stack([np.cos(np.pi / 3), np.sin(np.pi / 3)])

    def ambiguous(solution, X):
        return solution.problem.ambiguous(solution.geometry.outputs(X))

    assert ambiguous(one_vs_rest, between).all()  # two classes claim it, or none
    assert ambiguous(one_vs_rest, centre).all()  # none claims it
    assert not ambiguous(one, between).any()
    assert not ambiguous(one_vs_rest, far).any()
    assert 0 < ambiguous(one_vs_rest, data.X).mean() < 0.5
    assert set(one_vs_rest.parts[0].predict(data.X)) == {-1.0, 1.0}


@dataclass(frozen=True)
class LiesInOnePart(Solver):
    """SMO, but of problems with `n` samples it gives `share` of the answer, with a claim of its own."""

    n: int = 0
    fraction: float = 0.9999
    claim: Claim = "optimal"

    form: ClassVar = KernelQP

    def iterates(self, form):
        *_, last = TIGHT.iterates(form)
        lies = form.n == self.n
        yield FormPoint(self.fraction * last.x, claim=self.claim) if lies else last


def unequal() -> OneVsOne:
    """Return three classes of which only the first two are hard to separate."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((400, 2)), [[40.0, 0.0]] * 2])
    y = np.concatenate([rng.integers(2, size=400), [2, 2]])
    y[:199], y[199:400] = 0, 1
    return OneVsOne(X, y.astype(float), C=10.0)


@pytest.mark.parametrize(
    ("claim", "verdict"), [("optimal", "wrong"), ("stopped", "inaccurate"), ("infeasible", "wrong")]
)
def test_a_false_claim_of_one_subproblem_decides_the_verdict(claim, verdict):
    problem = unequal()
    n = problem.parts[1].rows.size  # 0 against 2: its share of the sum is below one in a million
    solution = solve(problem, LiesInOnePart(n=n, claim=claim), target_gap=1e-6)
    assert solution.certificate.relative_gap <= 1e-6  # the sum alone would not show it
    assert solution.verdict == verdict
    assert solution.claimed == claim
    assert "worst subproblem: class 0 against 2" in solution.reason
    assert [part.verdict for part in solution.parts] == ["solved", verdict, "solved"]


def test_a_subproblem_without_an_answer_leaves_the_problem_uncertified():
    problem = unequal()
    n = problem.parts[1].rows.size
    solution = solve(problem, LiesInOnePart(n=n, fraction=np.nan))
    assert (solution.verdict, solution.status) == ("uncertified", Status.DIVERGED)


@pytest.mark.parametrize("limit", [{"max_iter": 60}, {"time_limit": 1e-9}])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_limits_apply_to_all_parts_and_unstarted_ones_keep_their_start(strategy, limit):
    data = DATA["digits"]
    problem = strategy(data.X, data.y, 1.0, RBF(0.001))
    solution = solve(problem, SMO(tol=1e-8), **limit)
    expected = Status.MAX_ITER if "max_iter" in limit else Status.TIME_LIMIT
    assert solution.status == expected
    assert solution.claimed == "none"
    assert solution.verdict == "inaccurate"
    assert len(solution.parts) == problem.outputs
    assert (solution.parts[-1].alpha == 0).all()
    assert solution.certificate.dual_objective >= 0
    assert np.isfinite(solution.certificate.primal_objective)
    assert solution.reason.startswith("worst subproblem: class")


def test_unsupported_pairs_are_reported():
    solution = solve(OneVsRest(IRIS.X, IRIS.y), Pegasos())
    assert solution.status == Status.UNSUPPORTED
    assert solution.reason.startswith("class 0 against the rest: requires")
    assert solution.verdict == "uncertified"
    assert solve(OneVsRest(IRIS.X, IRIS.y, intercept=False), Pegasos()).alpha is not None


@pytest.mark.parametrize("options", [{}, {"stop_at_target": True}])
def test_evaluations_are_of_the_sum_of_all_parts(options):
    data = DATA["digits"]
    problem = OneVsOne(data.X, data.y, 1.0, RBF(0.001))
    evaluations = []
    solution = solve(problem, SMO(tol=1e-6), callback=evaluations.append, **options)
    assert list(solution.trace) == evaluations
    times = [evaluation.time for evaluation in evaluations]
    assert times == sorted(times)
    optimum = solve(problem, TIGHT).certificate.primal_objective
    for evaluation in evaluations:
        c = evaluation.certificate
        assert c.dual_objective <= optimum * (1 + 1e-9)
        assert c.primal_objective >= optimum * (1 - 1e-9)
        assert len(c.parts) == problem.outputs
    assert evaluations[-1].iteration == solution.iterations
    assert evaluations[-1].certificate.gap == pytest.approx(solution.certificate.gap, rel=1e-6)


def test_a_multiclass_solve_starts_at_the_initial_point():
    problem = OneVsOne(IRIS.X, IRIS.y, 1.0, RBF(0.5))
    best = solve(problem, TIGHT)
    for initial in (best, best.alpha, Point(best.alpha), best.point):
        again = solve(problem, SMO(tol=1e-6), initial=initial)
        assert again.verdict == "solved"
        assert again.iterations < best.iterations / 4
    grown = solve(OneVsOne(IRIS.X, IRIS.y, 2.0, RBF(0.5)), TIGHT, initial=best)
    assert grown.verdict == "solved"
    with pytest.raises(ValueError, match=r"^initial: must have .* of shape \(150, 3\)"):
        solve(problem, initial=np.zeros(IRIS.n))


def test_the_answer_is_certified_like_any_point():
    solution = solve(OneVsRest(IRIS.X, IRIS.y), TIGHT)
    again = certify(solution.problem, Point(solution.alpha))
    assert again.gap == pytest.approx(solution.certificate.gap, abs=1e-9)
    assert solution.w.shape == (4, 3)
    assert solution.b.shape == (3,)
    assert set(solution.geometry.kinds) == {"zero", "free", "bounded"}
    with pytest.raises(ValueError, match="hyperplane"):
        _ = solution.geometry.distances
    with pytest.raises(ValueError, match="slacks"):
        _ = solution.geometry.slacks
