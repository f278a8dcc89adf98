"""All baselines: the optimum they find, and without which package they do not run."""

import sys
from functools import partial

import numpy as np
import pytest
from tests.small_problems import NU, TARGETS, X, Y
from tests.solvers.external.baseline_problems import (
    KERNEL,
    LINEAR,
    QUADRATIC,
    excess,
    solve_installed,
)

from dualgap.problems import (
    RBF,
    Formulation,
    Point,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRPrimal,
    certify,
)
from dualgap.solvers import (
    SGD,
    LibLinear,
    LibLinearIntercept,
    LibLinearMulticore,
    LibSVM,
    LibSVMOpenMP,
    Mystic,
    OneDAL,
    QPSolversQP,
    SnapML,
    Solver,
    Status,
    solve,
)
from dualgap.solvers.numerics import timing

PLAIN = {name: LINEAR[name] for name in ("one C", "sparse", "risk")}
ITERATIVE = ["clarabel", "ecos", "osqp", "piqp", "proxqp", "qpalm", "scs"]  # of qpsolvers
FEW = {"rbf": SoftMarginDual(X[:40], Y[:40], 1.0, RBF(0.3))}


@pytest.mark.parametrize(
    ("solver", "problems", "claim", "max_gap"),
    [
        (SGD(epochs=200), PLAIN, "stopped", 0.02),
        pytest.param(SGD(epochs=200), LINEAR, "stopped", 0.02, marks=pytest.mark.exhaustive),
        (SnapML(tol=1e-9, max_iter=100_000), PLAIN, "stopped", 1e-3),
        (OneDAL(tol=1e-8), KERNEL, "optimal", 1e-6),
        (Mystic(), FEW, "stopped", 0.1),
    ],
    ids=lambda value: value.name if isinstance(value, Solver) else "",
)
def test_a_baseline_finds_the_optimum(
    solver: Solver, problems: dict[str, Formulation], claim: str, max_gap: float
) -> None:
    for name, problem in problems.items():
        solution = solve_installed(problem, solver)
        assert solution.claimed == claim, name
        assert -1e-6 <= excess(solution) <= max_gap, name


@pytest.mark.parametrize("solver", [LibSVM(tol=1e-7), OneDAL(tol=1e-7), LibSVMOpenMP(tol=1e-7)])
@pytest.mark.parametrize("name", NU)
def test_machines_with_nu_are_solved(solver: Solver, name: str) -> None:
    solution = solve_installed(NU[name], solver)
    if name == "svdd" or (isinstance(solver, OneDAL) and name == "one_class"):
        assert solution.status is Status.UNSUPPORTED
    else:
        assert (solution.claimed, solution.verdict) == ("optimal", "solved")


def test_liblinear_is_more_accurate_with_a_smaller_tolerance() -> None:
    for name in ("one C", "regression"):
        errors = [excess(solve(LINEAR[name], LibLinear(tol=tol))) for tol in (1e-1, 1e-3, 1e-6)]
        assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("targets", ["classes", "numbers"])
def test_liblinear_regularises_an_intercept_as_the_weight_of_a_constant_feature(
    targets: str,
) -> None:
    kind = SoftMarginPrimal if targets == "classes" else partial(SVRPrimal, epsilon=0.2)
    y = Y if targets == "classes" else TARGETS
    problem, excesses = kind(X + 2.0, y, C=1.0), []
    for scaling in (1.0, 3.0):
        solution = solve(problem, LibLinearIntercept(1e-8, intercept_scaling=scaling))
        constant = np.full((len(X), 1), scaling)
        augmented = kind(np.hstack([problem.X, constant]), y, C=1.0, intercept=False)
        point = Point(w=np.append(solution.w, solution.point.b / scaling))
        theirs = certify(augmented, point).primal_objective
        assert theirs == pytest.approx(solve(augmented).objective, rel=1e-6)
        assert solution.claimed == "stopped"
        assert f"an intercept_scaling above {scaling:g}" in solution.reason
        excesses.append(excess(solution))
    assert excesses[0] > 5 * excesses[1]


@pytest.mark.parametrize(
    ("solver", "problem", "module", "package"),
    [
        (LibLinear(), LINEAR["one C"], "sklearn.svm", "scikit-learn"),
        (LibSVM(), KERNEL["linear"], "sklearn.svm", "scikit-learn"),
        (SGD(), LINEAR["one C"], "sklearn.linear_model", "scikit-learn"),
        (OneDAL(), KERNEL["linear"], "sklearnex.svm", "scikit-learn-intelex"),
        (SnapML(), LINEAR["one C"], "snapml", "snapml"),
        (LibSVMOpenMP(), KERNEL["linear"], "libsvm.svm", "libsvm-official"),
        (LibLinearMulticore(), LINEAR["one C"], "liblinear.liblinear", "liblinear-multicore"),
        (QPSolversQP(), KERNEL["linear"], "qpsolvers", "qpsolvers clarabel"),
    ],
)
def test_an_absent_package_is_named(
    solver: Solver,
    problem: Formulation,
    module: str,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    solution = solve(problem, solver)
    assert solution.status is Status.NOT_INSTALLED
    assert f"pip install {package}" in solution.note


@pytest.mark.parametrize(
    ("solver", "problem", "limit"),
    [
        (LibLinear(tol=1e-12), LINEAR["one C"], 3),
        (LibLinearIntercept(tol=1e-12), KERNEL["linear"], 3),
        (LibSVM(), KERNEL["rbf, a C for each"], 5),
        (OneDAL(tol=1e-9), KERNEL["rbf, a C for each"], 2),
        (SnapML(tol=1e-12), LINEAR["one C"], 3),
        *((QPSolversQP(name, tol=1e-10), QUADRATIC["dual"], 2) for name in ITERATIVE),
    ],
)
def test_at_its_iteration_limit_a_baseline_claims_nothing(
    solver: Solver, problem: Formulation, limit: int
) -> None:
    solution = solve_installed(problem, solver, max_iter=limit)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == limit


@pytest.mark.parametrize("cls", [LibSVM, LibSVMOpenMP, OneDAL])
def test_the_warm_up_of_a_baseline_does_not_depend_on_its_tolerance(
    cls: type[Solver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fine one oneDAL may never end in float32, and nothing has a time limit yet."""
    tolerances = []
    monkeypatch.setattr(timing, "_warm", set())
    monkeypatch.setattr(cls, "prepare", lambda solver, _form: tolerances.append(solver.tol))
    timing.warm_up(cls(tol=1e-13), KERNEL["linear"])
    assert tolerances == [0.1]
