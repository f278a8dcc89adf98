"""The accuracy of a solver that is given none follows the target gap; one that is given is kept."""

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.halves import quick_cases
from tests.small_problems import SEPARABLE, TARGETS, X, Y

from dualgap.problems import RBF, HardMarginDual, HingeERM, RegularizedERM, SoftMarginDual, SVRDual
from dualgap.problems.losses import Logistic
from dualgap.solvers import (
    LBFGS,
    SDCA,
    SMO,
    CvxoptQP,
    DualCoordinateDescent,
    InteriorPoint,
    LibLinear,
    LibSVM,
    OneDAL,
    PlattSMO,
    ProjectedGradient,
    Solver,
    all_solvers,
    solve,
)

KERNEL = SoftMarginDual(X, Y, 10.0, RBF(0.5))
LINEAR = HingeERM(X, Y, 0.01)
PROBLEMS = [
    KERNEL,
    SoftMarginDual(X, Y, 0.1, RBF(0.05)),
    SVRDual(X, TARGETS, 10.0, 0.1, RBF(0.1)),
    HardMarginDual(SEPARABLE, Y, RBF(0.1)),
    LINEAR,
    RegularizedERM(X, Y, 0.01, Logistic()),
]
# single precision leaves LIBSVM no gap of 1e-9
FINE = [
    SMO(),
    DualCoordinateDescent(),
    ProjectedGradient(),
    PlattSMO(),
    InteriorPoint(),
    CvxoptQP(),
]
FINE += [LibLinear(), SDCA(), LBFGS()]


def test_no_solver_has_a_default_tolerance() -> None:
    defaults = {(cls, f.name): f.default for cls in all_solvers().values() for f in fields(cls)}
    assert not {
        cls for (cls, name), value in defaults.items() if name == "tol" and value is not None
    }


@pytest.mark.parametrize("target", quick_cases([1e-3, 1e-6, 1e-9], [1e-6]))
@pytest.mark.parametrize("solver", FINE, ids=lambda solver: solver.name)
def test_a_solver_without_a_tolerance_reaches_the_target(solver: Solver, target: float) -> None:
    solutions = [solve(problem, solver, target_gap=target) for problem in PROBLEMS]
    supported = [solution for solution in solutions if solution.status != "unsupported"]
    assert supported
    assert all(solution.verdict == "solved" for solution in supported)


@pytest.mark.parametrize("target", [1e-3, 1e-6])
def test_libsvm_reaches_the_limit_of_single_precision(target: float) -> None:
    assert solve(KERNEL, LibSVM(), target_gap=target).verdict == "solved"


def test_the_accuracy_that_was_used_can_be_read_from_the_solution() -> None:
    solution = solve(KERNEL, SMO(), target_gap=1e-4)
    assert solution.solver == SMO(tol=1e-7, gap=5e-5)
    assert solution.derived_tol == 1e-7
    assert solve(KERNEL, SMO(tol=0.1), target_gap=1e-4).derived_tol is None


def test_the_default_solver_gets_the_same_tolerance_as_a_named_one():
    chosen = solve(KERNEL, target_gap=1e-4).solver
    named = solve(KERNEL, SMO(), target_gap=1e-4).solver
    assert isinstance(chosen, SMO)
    assert replace(chosen, max_iter=SMO.max_iter) == named


def test_an_explicit_tolerance_and_gap_are_not_changed():
    for solver in (SMO(tol=0.1), SMO(tol=0.1, gap=0.2), LibSVM(tol=1e-12), InteriorPoint(tol=1e-3)):
        assert solver.aimed_at(1e-9) is solver
    assert SMO(gap=0.01).aimed_at(1e-6) == SMO(tol=1e-9, gap=0.01)


def test_a_hard_margin_that_has_no_gap_to_end_by_needs_a_tenth_of_the_target():
    hard = PROBLEMS[3]
    assert solve(hard, SMO(), target_gap=1e-3).solver == SMO(tol=1e-4)
    assert isinstance(solve(hard).solver, SMO)
    assert solve(hard).solver.tol == 1e-7


@pytest.mark.parametrize("solver", [LibSVM(), OneDAL(dtype="float32")])
def test_the_derived_tolerance_is_at_least_the_resolution_of_the_solver(solver: Solver):
    assert solver.aimed_at(1e-12).tolerance == solver.tol_for(1e-15)


def test_a_missed_target_is_explained_with_the_setting_to_change():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    problem = SoftMarginDual(X, y, 1e4, RBF(0.05))
    coarse = solve(problem, LibSVM(), target_gap=1e-4)
    assert coarse.verdict == "inaccurate"
    assert (
        "is above the target 0.0001 although the tolerance, 1e-07, was derived from it; set tol below"
        in coarse.reason
    )
    fine = solve(problem, LibSVM(), target_gap=1e-5)  # needs a tol of 2e-10
    assert "; set tol to 1e-09, the finest that the solver resolves, or raise" in fine.reason
    finest = solve(problem, LibSVM(), target_gap=1e-9)  # needs a tol of 2e-15
    assert finest.reason.endswith(
        "is above the target 1e-09 although the tolerance, 1e-09, was derived from it; scale the "
        "features, choose another solver, or raise target_gap."
    )
    as_fine = solve(problem, LibSVM(tol=1e-9), target_gap=1e-9)
    assert "above the target 1e-09; scale the features, choose another solver" in as_fine.reason
    explicit = solve(KERNEL, LibSVM(tol=1e-3), target_gap=1e-9)
    assert explicit.verdict == "inaccurate"
    assert explicit.reason.endswith(
        "is above the target 1e-09; set a smaller tol, or raise target_gap."
    )
