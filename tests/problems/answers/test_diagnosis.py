"""What is wrong with an answer: every condition is distinguished; a right answer has nothing."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    HardMarginDual,
    Linear,
    NuSVR,
    OneClassSVM,
    Point,
    RegularizedERM,
    SoftMarginDual,
    SVRDual,
    certify,
    datasets,
)
from dualgap.problems.answers.diagnosis import Diagnosis, diagnose, most_frequent
from dualgap.problems.risk.dual_point import project_dual
from dualgap.solvers import SMO, solve

DATA = datasets.load("two_gaussians", n=60, d=3, distance=2.0)
PROBLEM = SoftMarginDual(DATA.X, DATA.y, 1.0)
CURVE = SVRDual(DATA.X, DATA.X[:, 0] ** 2, 1.0, 0.1)


def diagnosis_of(alpha, b=None, claimed="optimal", problem=PROBLEM):
    point = Point(alpha, b=b)
    return diagnose(problem, point, certify(problem, point), claimed)


@cache
def optimum(problem=PROBLEM):
    return solve(problem, SMO(tol=1e-9)).point.alpha


def optimum_of(**changes):
    fields = {"X": DATA.X, "y": DATA.y, "C": 1.0, "kernel": Linear(), "intercept": True} | changes
    return optimum(SoftMarginDual(**fields))


def free():
    """Return the first sample whose multiplier is well inside its box."""
    return int(np.flatnonzero((optimum() > 0.01) & (optimum() < 0.99))[0])


def one(alpha, i, value):
    changed = alpha.copy()
    changed[i] = value
    return changed


@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM,
        SoftMarginDual(DATA.X, DATA.y, 100.0, RBF(0.1), intercept=False),
        HardMarginDual(DATA.X, DATA.y, RBF(5.0)),
        CURVE,
    ],
)
def test_a_correct_answer_has_no_diagnosis(problem):
    solution = solve(problem, SMO(tol=1e-8))
    assert solution.verdict in ("solved", "inaccurate")
    assert solution.diagnosis is None


SEPARATE = datasets.load("two_gaussians", n=60, d=3, distance=8.0)
SMALL_C = SoftMarginDual(SEPARATE.X, SEPARATE.y, 1e-3)
OFF_CENTRE = SoftMarginDual(DATA.X + 4.0, DATA.y, 1.0)
HARD_RBF = HardMarginDual(SEPARATE.X, SEPARATE.y, RBF(0.05))
FAULTS = {
    "a multiplier below 0": (
        PROBLEM,
        lambda: one(optimum(), free(), -0.5),
        "box",
        "L and H: for equal labels",
    ),
    "a multiplier lost": (
        PROBLEM,
        lambda: one(optimum(), free(), 0.99),
        "equality",
        "the second multiplier",
    ),
    "all signs": (PROBLEM, lambda: -optimum(), "box", "the sign of the answer"),
    "all signs of a regression": (
        CURVE,
        lambda: -optimum(CURVE),
        "stationarity",
        "the sign of the answer",
    ),
    "coefficients αy": (PROBLEM, lambda: optimum() * DATA.y, "box", "αᵢ ≥ 0, not αᵢyᵢ"),
    "labels 0 and 1": (
        PROBLEM,
        lambda: np.where(DATA.y > 0, optimum(), 0.0),
        "equality",
        "the labels",
    ),
    "no intercept": (
        OFF_CENTRE,
        lambda: optimum_of(X=OFF_CENTRE.X, intercept=False),
        "equality",
        "the problem without one",
    ),
    "no intercept, hard margin": (
        HARD_RBF,
        lambda: optimum(replace(HARD_RBF, intercept=False)),
        "equality",
        "the problem without one",
    ),
    "no C": (
        SMALL_C,
        lambda: optimum_of(X=SEPARATE.X, C=1e9),
        "box",
        "the hard margin, which has no C",
    ),
    "the mean of the losses": (
        PROBLEM,
        lambda: optimum_of(C=1.0 / 60),
        "scale",
        "that of their mean",
    ),
    "another C": (PROBLEM, lambda: optimum_of(C=0.1), "scale", "C"),
    "no step": (PROBLEM, lambda: np.zeros(60), "stationarity", "sign of η"),
    "all at C": (
        PROBLEM,
        lambda: project_dual(PROBLEM.risk, np.ones(60)),
        "stationarity",
        "L and H: for equal labels",
    ),
    "no targets": (CURVE, lambda: 1e-4 * optimum(CURVE), "stationarity", "the linear term form.p"),
    "downhill": (
        PROBLEM,
        lambda: project_dual(PROBLEM.risk, 0.9 - 0.8 * optimum()),
        "stationarity",
        "the error cache",
    ),
}


@pytest.mark.parametrize(("problem", "alpha", "condition", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named(problem, alpha, condition, words):
    diagnosis = diagnosis_of(alpha(), problem=problem)
    assert diagnosis is not None
    assert (diagnosis.condition, words in diagnosis.step) == (condition, True), diagnosis.text


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.0, 1e6])
def test_an_intercept_of_a_solver_is_compared_with_the_optimal_one(factor):
    best = certify(OFF_CENTRE, Point(optimum_of(X=OFF_CENTRE.X))).point.b
    diagnosis = diagnosis_of(optimum_of(X=OFF_CENTRE.X), factor * best, problem=OFF_CENTRE)
    if factor == 1.0:
        assert diagnosis is None
    else:
        assert diagnosis.condition == "intercept"
        assert diagnosis.amount == pytest.approx(abs(best * (1 - factor)))
        assert ("the sign of b" in diagnosis.step) == (factor == -1.0)


def test_a_diagnosis_names_sample_and_amount():
    box = diagnosis_of(one(optimum(), free(), -0.5))
    assert (box.sample, box.amount) == (free(), 0.5)
    assert (
        box.finding
        == f"violates its constraints by 0.5 (α = -0.5 at sample {free()}, must be 0 ≤ α ≤ 1)"
    )
    lost = one(optimum(), free(), 0.99)
    equality = diagnosis_of(lost)
    assert equality.amount == pytest.approx(abs(lost @ DATA.y))
    assert (
        equality.finding == f"violates its constraints by {equality.amount:.3g} (Σαᵢyᵢ must be 0)"
    )


def test_the_reason_of_a_solution_names_violated_constraints():
    solution = solve(PROBLEM, SMO(tol=1e-9))
    assert solution.reason == ""
    forgot = replace(solution, point=Point(one(optimum(), free(), 0.99)))
    assert forgot.reason.startswith("violates its constraints by ")
    assert "(Σαᵢyᵢ must be 0)" in forgot.reason


@pytest.mark.parametrize("claimed", ["stopped", "none"])
def test_an_answer_that_is_not_called_optimal_may_be_far_from_it(claimed):
    fractions = np.random.default_rng(0).uniform(0.5, 1.0, 60)
    early = project_dual(PROBLEM.risk, fractions * optimum())
    called_optimal = diagnosis_of(early)
    assert called_optimal.condition == "stationarity"
    assert called_optimal.finding.startswith(
        f"not stationary: sample {called_optimal.sample} has α = "
    )
    assert diagnosis_of(early, claimed=claimed) is None
    assert (
        "error cache"
        in diagnosis_of(project_dual(PROBLEM.risk, 0.9 - 0.8 * optimum()), claimed=claimed).step
    )
    assert diagnosis_of(one(optimum(), free(), -0.5), claimed=claimed).condition == "box"
    # the dual bound of 0 may lie below the optimum by rounding
    assert diagnosis_of(np.zeros(60), claimed="none") is None


HARD = {
    "too small": lambda alpha, i: one(alpha, i, 0.3 * alpha[i]),
    "too large": lambda alpha, i: one(alpha, i, 3.0 * alpha[i]),
    "missing": lambda alpha, i: one(alpha, i, 0.0),
    "missing, all doubled": lambda alpha, i: 2.0 * one(alpha, i, 0.0),
}
SENTENCE = re.compile(r"sample (\d+) has α = (\S+) although yf = ([^,; ]+)")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("fault", HARD.values(), ids=HARD)
def test_the_most_violating_pair_of_a_hard_margin_is_named(fault, kernel, intercept):
    problem = HardMarginDual(SEPARATE.X, SEPARATE.y, kernel, intercept)
    right = solve(problem, SMO(tol=1e-9)).point.alpha
    alpha = project_dual(problem.risk, fault(right, int(right.argmax())))
    diagnosis = diagnosis_of(alpha, problem=problem)
    assert diagnosis.condition == "stationarity"
    named = [(int(i), float(a), float(m)) for i, a, m in SENTENCE.findall(diagnosis.finding)]
    assert (diagnosis.sample, len(named)) == (named[0][0], 1 + intercept)
    b = float(re.search(r"with b = (\S+):", diagnosis.finding)[1]) if intercept else 0.0
    f = kernel(problem.X, problem.X) @ (problem.y * alpha)
    for i, value, margin in named:
        assert value == pytest.approx(alpha[i], rel=5e-3)
        assert margin == pytest.approx(problem.y[i] * (f[i] + b), rel=1e-2, abs=1e-2)
        assert margin < 0.99 if value == 0 else abs(margin - 1) > 0.01
    # −yE of each variable that can rise in y·α, and of each that can fall
    residuals = problem.y - f
    up, down = ((alpha > 0) | (sign * problem.y > 0) for sign in (1, -1))
    if intercept:
        violation = residuals[named[0][0]] - residuals[named[1][0]]
        assert violation == pytest.approx(residuals[up].max() - residuals[down].min())
    else:
        wrong = np.where(alpha > 0, np.abs(residuals), np.maximum(problem.y * residuals, 0.0))
        assert named[0][0] == wrong.argmax()


def test_without_a_dual_point_or_a_box_nothing_is_diagnosed():
    assert diagnose(PROBLEM, Point(w=np.zeros(3)), certify(PROBLEM, Point(w=np.zeros(3)))) is None
    risk = RegularizedERM(DATA.X, DATA.y, 0.1, "logistic")
    assert diagnosis_of(np.full(60, -5.0), problem=risk) is None


def test_the_commonest_step_is_represented_by_its_first_diagnosis():
    steps = ["a", "b", "b", "a", "b"]
    several = [Diagnosis("box", float(i), None, "", step) for i, step in enumerate(steps)]
    pairs = [(f"problem {i}", diagnosis) for i, diagnosis in enumerate(several)]
    assert most_frequent(pairs) == (3, "problem 1", several[1])
    assert most_frequent([]) is None


def test_an_intercept_is_diagnosed_with_the_cost_of_its_offset():
    machine = OneClassSVM(DATA.X, 0.3, RBF(0.5))
    solution = solve(machine, SMO(tol=1e-9))
    assert diagnosis_of(solution.alpha, solution.b, problem=machine) is None
    assert "the sign of b" in diagnosis_of(solution.alpha, -solution.b, problem=machine).step


def test_no_intercept_is_diagnosed_with_two_offsets():
    y = np.where(np.arange(40) < 36, 0.0, -10.0)  # all on the tube, its middle is not the median
    tube = NuSVR(np.zeros((40, 1)), y, 0.05, 1.0)
    alpha = np.zeros(40)
    alpha[[0, 36]] = 1.0, -1.0
    best = certify(tube, Point(alpha))
    assert best.relative_gap < 1e-9
    assert best.point.b == pytest.approx(-5.0)
    assert diagnosis_of(alpha, best.point.b, problem=tube) is None
