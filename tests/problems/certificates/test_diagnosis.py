"""What is wrong with an answer: every condition is distinguished; a right answer has nothing."""

from dataclasses import replace

import numpy as np
import pytest

from problems import (
    RBF,
    HardMarginDual,
    Linear,
    Point,
    RegularizedERM,
    SoftMarginDual,
    SVRDual,
    certify,
    datasets,
)
from problems.certificates.diagnosis import Diagnosis, diagnose, most_frequent
from solvers import SMO, solve

DATA = datasets.load("two_gaussians", n=60, d=3, distance=2.0)
PROBLEM = SoftMarginDual(DATA.X, DATA.y, 1.0)
RIGHT = solve(PROBLEM, SMO(tol=1e-9)).point.alpha
CURVE = SVRDual(DATA.X, DATA.X[:, 0] ** 2, 1.0, 0.1)
FITTED = solve(CURVE, SMO(tol=1e-9)).point.alpha


def found(alpha, b=None, claimed="optimal", problem=PROBLEM):
    point = Point(alpha, b=b)
    return diagnose(problem, point, certify(problem, point), claimed)


def optimum_of(**changes):
    fields = {"X": DATA.X, "y": DATA.y, "C": 1.0, "kernel": Linear(), "intercept": True} | changes
    return solve(SoftMarginDual(**fields), SMO(tol=1e-9)).point.alpha


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
def test_a_right_answer_has_nothing_wrong(problem):
    solution = solve(problem, SMO(tol=1e-8))
    assert solution.verdict in ("solved", "inaccurate")
    assert solution.diagnosis is None


FREE = int(np.flatnonzero((RIGHT > 0.01) & (RIGHT < 0.99))[0])
SEPARATE = datasets.load("two_gaussians", n=60, d=3, distance=8.0)
SMALL_C = SoftMarginDual(SEPARATE.X, SEPARATE.y, 1e-3)
OFF_CENTRE = SoftMarginDual(DATA.X + 4.0, DATA.y, 1.0)
CENTRED = optimum_of(X=OFF_CENTRE.X, intercept=False)
FAULTS = {
    "a multiplier below 0": (PROBLEM, one(RIGHT, FREE, -0.5), "box", "L and H: for equal labels"),
    "a multiplier lost": (PROBLEM, one(RIGHT, FREE, 0.99), "equality", "the second multiplier"),
    "all signs": (PROBLEM, -RIGHT, "box", "the sign of the answer"),
    "all signs of a regression": (CURVE, -FITTED, "stationarity", "the sign of the answer"),
    "coefficients αy": (PROBLEM, RIGHT * DATA.y, "box", "αᵢ ≥ 0, not αᵢyᵢ"),
    "labels 0 and 1": (PROBLEM, np.where(DATA.y > 0, RIGHT, 0.0), "equality", "the labels"),
    "no intercept": (OFF_CENTRE, CENTRED, "equality", "the problem without one"),
    "no C": (SMALL_C, optimum_of(X=SEPARATE.X, C=1e9), "box", "the hard margin, which has no C"),
    "the mean of the losses": (PROBLEM, optimum_of(C=1.0 / 60), "scale", "that of their mean"),
    "another C": (PROBLEM, optimum_of(C=0.1), "scale", "C"),
    "no step": (PROBLEM, np.zeros(60), "stationarity", "sign of η"),
    "all at C": (
        PROBLEM,
        PROBLEM.feasible(np.ones(60)),
        "stationarity",
        "L and H: for equal labels",
    ),
    "downhill": (PROBLEM, PROBLEM.feasible(0.9 - 0.8 * RIGHT), "stationarity", "the error cache"),
}


@pytest.mark.parametrize(("problem", "alpha", "condition", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named(problem, alpha, condition, words):
    diagnosis = found(alpha, problem=problem)
    assert diagnosis is not None
    assert (diagnosis.condition, words in diagnosis.step) == (condition, True), diagnosis.text


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.0, 1e6])
def test_an_own_intercept_is_held_to_the_best_one(factor):
    best = certify(OFF_CENTRE, Point(optimum_of(X=OFF_CENTRE.X))).point.b
    diagnosis = found(optimum_of(X=OFF_CENTRE.X), factor * best, problem=OFF_CENTRE)
    if factor == 1.0:
        assert diagnosis is None
    else:
        assert diagnosis.condition == "intercept"
        assert diagnosis.amount == pytest.approx(abs(best * (1 - factor)))
        assert ("the sign of b" in diagnosis.step) == (factor == -1.0)


def test_what_is_off_is_said_with_its_sample_and_amount():
    box = found(one(RIGHT, FREE, -0.5))
    assert (box.sample, box.amount) == (FREE, 0.5)
    assert (
        box.finding == f"off its constraints by 0.5 (α = -0.5 at sample {FREE}, must be 0 ≤ α ≤ 1)"
    )
    lost = one(RIGHT, FREE, 0.99)
    equality = found(lost)
    assert equality.amount == pytest.approx(abs(lost @ DATA.y))
    assert equality.finding == f"off its constraints by {equality.amount:.3g} (Σαᵢyᵢ must be 0)"


def test_the_reason_of_a_solution_says_that_it_is_off_its_constraints():
    solution = solve(PROBLEM, SMO(tol=1e-9))
    assert solution.reason == ""
    forgot = replace(solution, point=Point(one(RIGHT, FREE, 0.99)))
    assert forgot.reason.startswith("off its constraints by ")
    assert "(Σαᵢyᵢ must be 0)" in forgot.reason


@pytest.mark.parametrize("claimed", ["stopped", "none"])
def test_an_answer_that_is_not_called_optimal_may_be_far_from_it(claimed):
    share = np.random.default_rng(0).uniform(0.5, 1.0, 60)
    early = PROBLEM.feasible(share * RIGHT)
    called_optimal = found(early)
    assert called_optimal.condition == "stationarity"
    assert called_optimal.finding.startswith(
        f"not stationary: sample {called_optimal.sample} has α = "
    )
    assert found(early, claimed=claimed) is None
    assert "error cache" in found(PROBLEM.feasible(0.9 - 0.8 * RIGHT), claimed=claimed).step
    assert found(one(RIGHT, FREE, -0.5), claimed=claimed).condition == "box"


def test_without_a_dual_point_or_a_box_nothing_is_diagnosed():
    assert diagnose(PROBLEM, Point(w=np.zeros(3)), certify(PROBLEM, Point(w=np.zeros(3)))) is None
    risk = RegularizedERM(DATA.X, DATA.y, 0.1, "logistic")
    assert found(np.full(60, -5.0), problem=risk) is None


def test_the_most_frequent_step_is_named_by_its_first_diagnosis():
    steps = ["a", "b", "b", "a", "b"]
    several = [Diagnosis("box", float(i), None, "", step) for i, step in enumerate(steps)]
    assert most_frequent(several) == (3, several[1])
    assert most_frequent([]) is None
