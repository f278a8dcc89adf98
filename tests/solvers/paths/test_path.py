"""Certified paths: at every value of C, lam or epsilon there is an answer within the gap."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.problems import (
    RBF,
    Formulation,
    HardMarginDual,
    Hinge,
    HingeERM,
    OneVsRest,
    Precomputed,
    RegularizedERM,
    Risk,
    SoftMarginDual,
    SoftmaxERM,
    SVRDual,
    one_offset,
)
from dualgap.problems.answers.interpolation import with_value
from dualgap.problems.losses import SquaredEpsilonInsensitive
from dualgap.problems.problem.task import TARGETS as REAL_TARGETS
from dualgap.solvers import SMO, InteriorPoint, NoPath, Path, Pegasos, solve, solve_path


@dataclass(frozen=True, eq=False)
class SquaredTube(Formulation):
    """Regression with a squared tube, which changes with epsilon as no path follows."""

    X: Any
    y: Any
    C: float
    epsilon: float

    task = REAL_TARGETS

    def build_risk(self) -> Risk:
        loss = SquaredEpsilonInsensitive(self.epsilon)
        return Risk(self.samples, self.y, loss, self.C, one_offset(True))


@dataclass(frozen=True, eq=False)
class OneCost(Formulation):
    """A soft margin in which C is the weight of the negative samples alone."""

    X: Any
    y: Any
    C: float

    def build_risk(self) -> Risk:
        C = np.where(self.y > 0, 10.0, self.C)
        return Risk(self.samples, self.y, Hinge(), C, one_offset(True))


RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.5 * RNG.standard_normal(120) > 0, 1.0, -1.0)
TARGETS = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(120)
WEIGHTS = RNG.uniform(0.5, 2.0, 120)
TUBES = {"epsilon": (0.0, 0.5), "gap": 0.02}
FOLLOWED = {
    "linear, C": (SoftMarginDual(X, Y), {"C": (0.01, 100.0)}),
    "linear without intercept, C": (SoftMarginDual(X, Y, intercept=False), {"C": (0.01, 10.0)}),
    "kernel, C": (SoftMarginDual(X, Y, kernel=RBF(0.3)), {"C": (0.01, 100.0)}),
    "weights, C": (SoftMarginDual(X, Y, C=WEIGHTS, kernel=RBF(0.3)), {"C": (0.1, 10.0)}),
    "Gram matrix, C": (SoftMarginDual(X @ X.T, Y, kernel=Precomputed()), {"C": (0.1, 10.0)}),
    "regression, C": (SVRDual(X, TARGETS, 1.0, 0.1, RBF(0.3)), {"C": (0.01, 100.0)}),
    "regression far from 0, C": (SVRDual(X, TARGETS + 1e3, 1.0, 0.1), {"C": (0.01, 0.1)}),
    "regression, epsilon": (
        SVRDual(X, TARGETS, 1.0, 0.1, RBF(0.3)),
        {"epsilon": (0.0, 0.5), "gap": 0.02},
    ),
    "linear regression, epsilon": (
        SVRDual(X, TARGETS, 1.0, 0.1),
        {"epsilon": (0.1, 0.6), "gap": 0.02},
    ),
    "hinge risk, lam": (HingeERM(X, Y, 1.0, intercept=True), {"lam": (1e-4, 1.0)}),
    "logistic risk, lam": (RegularizedERM(X, Y, 1.0), {"lam": (1e-4, 1.0)}),
    "squared loss, lam": (RegularizedERM(X, TARGETS, 1.0, "squared"), {"lam": (1e-3, 1.0)}),
    "Gram matrix, squared hinge, lam": (
        RegularizedERM(X @ X.T, Y, 1.0, "squared_hinge", kernel=Precomputed()),
        {"lam": (1e-3, 1.0)},
    ),
}

# a kernel, weights, a tube and two risks; the others are variants of these
FEW = ("kernel, C", "weights, C", "regression, epsilon", "hinge risk, lam", "logistic risk, lam")


@cache
def path_of(name: str) -> Path:
    problem, interval = FOLLOWED[name]
    return solve_path(problem, **{"gap": 3e-3, **interval})


@pytest.mark.parametrize("name", quick_cases(FOLLOWED, FEW))
def test_the_optimum_at_any_value_is_within_the_bounds_of_the_path(name: str) -> None:
    path = path_of(name)
    ends = np.sqrt([path.low, path.high])
    values = [path.low, path.high, *path.breakpoints[1:3], *RNG.uniform(*ends, 3) ** 2]
    for value in values:
        bounds = path.at(value).certificate
        assert bounds.relative_gap <= path.gap
        exact = solve(path.at(value).problem, target_gap=1e-8)
        assert bounds.dual_objective <= exact.certificate.primal_objective
        assert exact.certificate.dual_objective <= bounds.primal_objective


def test_the_answers_cover_the_interval_in_order() -> None:
    path = path_of("kernel, C")
    values = [answer.value for answer in path.answers]
    assert (path.low, path.high, path.breakpoints[0], path.breakpoints[-1]) == (
        0.01,
        100,
        0.01,
        100,
    )
    assert [segment.values for segment in path.segments] == [*pairwise(values)]
    assert (np.diff(values) > 0).all()
    for value, low, high in zip(values, path.breakpoints, path.breakpoints[1:], strict=False):
        assert low <= value <= high
    table = path.table()
    assert len(table) == len(path.answers)
    assert table["worst_gap"].max() <= 3e-3
    assert table["worst_gap"].max() == max(segment.relative_gaps.max() for segment in path.segments)


def test_the_answer_at_a_value_that_was_computed_is_the_one_that_was() -> None:
    path = path_of("kernel, C")
    for answer in (path.answers[0], path.answers[3], path.answers[-1]):
        np.testing.assert_array_equal(path.at(answer.value).point.alpha, answer.alpha)


def test_the_number_of_answers_falls_as_the_root_of_the_gap() -> None:
    counts = [
        len(solve_path(SoftMarginDual(X, Y), C=(0.1, 10.0), gap=g).answers) for g in (3e-4, 3e-2)
    ]
    assert 3 < counts[0] / counts[1] < 14


def test_the_decision_function_at_a_value_is_that_of_the_certified_weights() -> None:
    path = path_of("kernel, C")
    first, second = (answer.solution for answer in path.answers[3:5])
    at = path.at(0.5 * (first.problem.C + second.problem.C))
    middle = 0.5 * (first.decision_function(X) - first.b + second.decision_function(X) - second.b)
    np.testing.assert_allclose(at.decision_function(X) - at.b, middle, atol=1e-12)
    np.testing.assert_allclose(at.decision_function(X), at.geometry.decision)


def test_kernel_values_are_reused_along_the_path() -> None:
    problem, path = FOLLOWED["kernel, C"][0], path_of("kernel, C")
    total = max(answer.solution.counters["kernel_evaluations"] for answer in path.answers)
    cold = solve(with_value(problem, "C", 1.0), SMO(gap=3e-3)).counters["kernel_evaluations"]
    assert total < 3 * cold
    assert len(path.answers) > 10


@pytest.mark.parametrize("solver", [SMO(tol=1e-6), InteriorPoint()])
def test_any_solver_of_sufficient_accuracy_follows_the_path(solver: object) -> None:
    path = solve_path(SoftMarginDual(X, Y), C=(0.1, 10.0), gap=1e-2, solver=solver)  # type: ignore[arg-type]
    assert path.at(3.0).certificate.relative_gap <= 1e-2


@pytest.mark.exhaustive
def test_an_inaccurate_solver_reports_where_the_path_stopped() -> None:
    with pytest.raises(NoPath, match=r"pegasos at lam = 0\.01 reached a certified relative gap of"):
        solve_path(HingeERM(X, Y, 1.0), lam=(0.01, 1.0), gap=1e-6, solver=Pegasos(max_iter=100))
    with pytest.raises(NoPath, match="gave no answer"):
        solve_path(SoftMarginDual(X, Y), C=(0.01, 1.0), solver=Pegasos())


@pytest.mark.exhaustive
def test_a_path_reaches_an_optimum_of_0_in_the_unit_of_the_data() -> None:
    problem = SVRDual(X[:20], TARGETS[:20], 1.0, 0.1)
    path = solve_path(problem, epsilon=(0.5, 3.0), gap=0.2)
    certificates = [path.at(epsilon).certificate for epsilon in (0.5, 0.9, 1.0, 3.0)]
    assert all(c.relative_gap <= 0.2 for c in certificates)
    assert certificates[-1].primal_objective <= 1e-12


def test_a_value_outside_the_path_is_refused() -> None:
    path = solve_path(SoftMarginDual(X, Y), C=(0.1, 0.2), gap=1e-2)
    with pytest.raises(ValueError, match=r"C: must be within \[0.1, 0.2\]"):
        path.at(0.3)
    assert "answers in" in repr(path)


@pytest.mark.parametrize(
    ("problem", "interval", "message"),
    [
        (SoftMarginDual(X, Y), {}, "give the interval of one"),
        (SoftMarginDual(X, Y), {"C": (1, 2), "epsilon": (0, 1)}, "give the interval of one"),
        (SoftMarginDual(X, Y), {"C": (0, 1)}, "above 0"),
        (SoftMarginDual(X, Y), {"C": (2, 1)}, "above 0"),
        (SoftMarginDual(X, Y), {"C": 3.0}, "interval"),
        (SoftMarginDual(X, Y), {"lam": (1, 2)}, "has none; follow its C"),
        (SVRDual(X, TARGETS, 1.0, 0.1), {"lam": (1, 2)}, "follow its C or its epsilon"),
        (SoftMarginDual(X, Y), {"C": (1, 2), "gap": 1.5}, "between 0 and 1"),
        (HardMarginDual(X, Y), {"C": (1, 2)}, "finite loss"),
        (OneVsRest(X, (Y + 1) / 2 + (X[:, 0] > 1), 1.0), {"C": (1, 2)}, "one function"),
        (SoftmaxERM(X, (Y + 1) / 2 + (X[:, 0] > 1), 1.0), {"lam": (1, 2)}, "one function"),
        (SquaredTube(X, TARGETS, 1.0, 0.1), {"epsilon": (0.1, 0.4)}, "the bounds along it"),
        (OneCost(X, Y, 1.0), {"C": (0.1, 10)}, "the bounds along it"),
    ],
)
def test_a_problem_or_interval_without_a_path_is_refused(
    problem: object, interval: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        solve_path(problem, **interval)  # type: ignore[arg-type]


@pytest.mark.parametrize("gap", [3e-3, 0.05])
def test_an_answer_at_any_value_has_the_verdict_for_the_gap_of_the_path(gap: float) -> None:
    path = solve_path(SoftMarginDual(X, Y), C=(0.1, 10.0), gap=gap)
    assert {path.at(value).verdict for value in path.breakpoints} == {"solved"}
