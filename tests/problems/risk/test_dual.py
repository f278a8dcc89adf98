"""What follows from what a formulation says of itself: forms, bounds and proofs, for other offsets.

The optimum is that of CVXOPT on the dual, written down here from the papers: quantile regression
(Takeuchi et al. 2006), the one-class SVM, ν-SVC and ν-SVR (Schölkopf et al. 2000, 2001), SVDD (Tax &
Duin 2004).
"""

from itertools import product
from typing import Any

import cvxopt
import numpy as np
import pytest
from tests.differential.grouped import Grouped
from tests.shown import in_tutorial

from dualgap.problems import (
    ERM,
    QP,
    RBF,
    SVDD,
    BoxQP,
    Formulation,
    Kernel,
    KernelQP,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Point,
    Unsupported,
    certify,
    reduce,
)
from dualgap.problems.losses import Perceptron
from dualgap.problems.risk.dual_point import infeasibility
from dualgap.solvers import SMO, solve

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (40, 2))
LABELS = np.where(X[:, 0] + 0.4 * RNG.standard_normal(40) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + 0.3 * RNG.standard_normal(40)
KERNELS = [Linear(), RBF(1.0)]

SHOWN: dict[str, Any] = {}
exec(in_tutorial("add_a_problem", "quantile_svr.py"), SHOWN)
Pinball, QuantileSVR = SHOWN["Pinball"], SHOWN["QuantileSVR"]


def problems(kernel: Kernel) -> dict[str, Formulation]:
    return {
        "quantile": QuantileSVR(X, TARGETS, 2.0, 0.3, kernel),
        "quantile with weights": QuantileSVR(
            X, TARGETS, np.linspace(0.5, 2, 40), 0.8, kernel, False
        ),
        "one class": OneClassSVM(X + 1.0, 0.3, kernel),
        "nu-SVC": NuSVC(X, LABELS, 0.4, kernel),
        "nu-SVR": NuSVR(X, TARGETS, 0.4, 2.0, kernel),
        "nu-SVR with weights": NuSVR(X, 3.0 + TARGETS, 0.2, np.linspace(0.5, 2, 40), kernel),
        "nu-SVR without a tube": NuSVR(X, TARGETS, 1.0, 2.0, kernel),
        "SVDD": SVDD(X + 1.0, 0.3, kernel),
    }


def optimum(problem: Formulation) -> float:
    """Return the optimum of the dual as the papers have it, in LIBSVM's scaling."""
    K, n, y = problem.kernel(problem.X, problem.X), problem.n, problem.y
    p, low, high, budget_rows = np.zeros(n), np.zeros(n), np.ones(n), np.zeros((0, n))
    A, b_eq, budget = np.ones((1, n)), np.zeros(1), np.zeros(0)
    if isinstance(problem, QuantileSVR):
        p, C = -y, problem.risk.C
        low, high = (problem.tau - 1) * C, problem.tau * C
        A, b_eq = A[: int(problem.intercept)], b_eq[: int(problem.intercept)]
    elif isinstance(problem, OneClassSVM | SVDD):
        b_eq = np.array([problem.nu * n])
        p = -0.5 * b_eq * np.diag(K) if isinstance(problem, SVDD) else p
    elif isinstance(problem, NuSVC):
        K, A, b_eq = y[:, None] * K * y, np.vstack([y, np.ones(n)]), np.array([0, problem.nu * n])
    else:  # α and α*, whose sum is at most ν·ΣC
        assert isinstance(problem, NuSVR)
        K, A = np.block([[K, -K], [-K, K]]), np.repeat([[1.0, -1.0]], n, axis=1)
        p, low, high = np.append(-y, y), np.zeros(2 * n), np.tile(problem.risk.C, 2)
        budget_rows, budget = np.ones((1, 2 * n)), np.array([problem.nu * problem.risk.C.sum()])
    G = np.vstack([np.eye(p.size), -np.eye(p.size), budget_rows.reshape(-1, p.size)])
    h = np.concatenate([high, -low, budget])
    arrays = [K, p[:, None], G, h[:, None]] + ([A, b_eq[:, None]] if len(A) else [])
    options = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
    qp_solution = cvxopt.solvers.qp(*[cvxopt.matrix(a) for a in arrays], options=options)
    return -qp_solution["primal objective"]


NAMES = list(problems(Linear()))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", NAMES)
def test_certified_and_proven_bounds_enclose_the_optimum_of_the_explicit_program(name, kernel):
    problem = problems(kernel)[name]
    best = optimum(problem)
    solution = solve(problem, SMO(tol=1e-10))
    plain, proven = solution.certificate, certify(problem, solution, rigorous=True)
    for certificate in (plain, proven):
        slack = 1e-7 * (1 + abs(best))
        assert certificate.dual_objective - slack <= best <= certificate.primal_objective + slack
        assert certificate.gap <= 1e-4 * abs(best)
    assert plain.kkt_violation <= 1e-4
    assert proven.bound_source.startswith("proven: alpha")
    assert plain.reason == proven.reason == ""


@pytest.mark.parametrize("name", NAMES)
def test_weak_duality_holds_at_any_point(name):
    problem = problems(Linear())[name]
    best, rng = optimum(problem), np.random.default_rng(1)
    for size in (1e-2, 1.0, 1e2):
        point = Point(size * rng.standard_normal(40), size * rng.standard_normal(2))
        points = point, Point(point.alpha), Point(w=point.w)
        for start, rigorous in product(points, (False, True)):
            certificate = certify(problem, start, rigorous)
            assert certificate.dual_objective <= best + 1e-9
            assert best <= certificate.primal_objective + 1e-9
            assert certificate.primal_objective - certificate.dual_objective == pytest.approx(
                certificate.gap, rel=1e-9
            )


@pytest.mark.parametrize("name", NAMES)
def test_the_primal_bound_is_the_primal_objective_at_the_best_offsets(name):
    problem = problems(Linear())[name]
    w = np.array([0.7, -0.2])
    certificate = certify(problem, Point(w=w))

    def primal(offsets):
        decision = problem.X @ w
        if problem.risk.groups is not None:
            decision = decision + offsets[problem.risk.groups]
        elif problem.risk.costs.size:
            decision = decision + offsets[0]
        if isinstance(problem, NuSVR):  # the offsets are b + epsilon and b - epsilon
            b, epsilon = np.mean(offsets), -0.5 * np.diff(offsets)
            decision = problem.X @ w + b
            losses = problem.risk.C @ np.maximum(0, np.abs(problem.y - decision) - epsilon)
        else:
            losses = problem.risk.C @ problem.risk.loss.value(problem.risk.y, decision)
        return 0.5 * w @ w + problem.risk.costs @ offsets + losses

    best = np.array(certificate.offsets)
    assert certificate.primal_objective == pytest.approx(primal(best), rel=1e-12)
    lower_limit = certificate.primal_objective - 1e-12 * abs(certificate.primal_objective)
    for shift in 1e-3 * np.eye(best.size):
        assert primal(best + shift) >= lower_limit
        assert primal(best - shift) >= lower_limit


def test_a_tau_of_the_targets_lies_below_the_quantile():
    solution = solve(problems(RBF(1.0))["quantile"], SMO(tol=1e-9))
    assert (solution.geometry.decision - 1e-6 > TARGETS).mean() <= 0.3
    assert (solution.geometry.decision + 1e-6 >= TARGETS).mean() >= 0.3
    assert set(solution.geometry.kinds) == {"free", "bounded"}


def test_forms_are_those_of_the_terms():
    form = reduce(problems(Linear())["quantile"], KernelQP).form
    assert form.n == 40
    np.testing.assert_allclose(form.lo, -0.7 * 2.0)
    np.testing.assert_allclose(form.hi, 0.3 * 2.0)
    split = form.box
    assert not split.lb.any()
    np.testing.assert_allclose(split.ub, np.repeat([0.3 * 2.0, 0.7 * 2.0], 40))
    beta = np.linspace(-1.0, 1.0, 40)
    np.testing.assert_array_equal(form.joined_point(form.split_point(beta)), beta)
    grouped = reduce(problems(Linear())["nu-SVC"], BoxQP).form
    np.testing.assert_array_equal(grouped.delta, [8.0, -8.0])
    np.testing.assert_array_equal(grouped.a, LABELS)
    assert reduce(problems(Linear())["nu-SVC"], QP).form.A.shape == (2, 40)
    with pytest.raises(Unsupported, match="one intercept, without a cost"):
        reduce(problems(Linear())["one class"], ERM)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_value_subgradient_and_conjugate_follow_from_the_terms(tau):
    loss, f = Pinball(tau), np.linspace(-3, 3, 13)
    y, e = np.full(13, 0.5), 0.5 - f
    value = np.maximum(tau * e, (tau - 1) * e)
    np.testing.assert_allclose(loss.value(y, f), value, atol=1e-15)
    slope = loss.subgradient(y, f)
    np.testing.assert_allclose(slope, np.where(e > 0, -tau, np.where(e < 0, 1 - tau, 0.0)))
    np.testing.assert_allclose(slope * f - loss.conjugate(y, slope), value, atol=1e-12)
    assert not loss.in_domain(y[:1], np.array([1.0 - tau + 0.1])).any()
    t = np.full(13, 0.7)
    s = loss.dual_step(y, f, t)  # s is −ℓ' at f + ts, at the kink anything between
    moved = f + t * s
    at_kink = np.abs(moved - 0.5) < 1e-12
    np.testing.assert_allclose(-loss.subgradient(y, moved)[~at_kink], s[~at_kink])
    assert (s[at_kink] <= tau).all()
    assert (s[at_kink] >= tau - 1).all()


def test_a_last_group_without_samples_misses_its_cost():
    """Its sum is 0, and a vector of sums that ended with the last sample's group would hide that."""

    problem = Grouped(X, np.ones(40), 1.0, (0,) * 40, (0.2, -0.2), Perceptron())
    alpha = np.full(40, 0.2 / 40)  # Σ β = 0.2 in the group that there is
    assert infeasibility(problem.risk, alpha) == pytest.approx(0.2)  # |0 − (−0.2)|
    assert infeasibility(problem.risk, 2 * alpha) == pytest.approx(0.2)
    assert infeasibility(problem.risk, 3 * alpha) == pytest.approx(0.4)
