"""oneDAL's solvers of C-SVC, epsilon-SVR, ν-SVC and ν-SVR."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from problems import Formulation, HardMarginDual, Precomputed, SoftMarginDual
from solvers import SGD, OneDAL, Solution, Solver, Status, solve
from solvers.base import Precision

PRECISIONS = get_args(Precision)
NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("sklearnex") is None, reason="sklearnex is not installed"
)


@NEEDED
def test_one_dal_finds_the_optimum_of_smo(
    excess: Callable[[Solution], float], kernel_problem: Formulation
) -> None:
    solution = solve(kernel_problem, OneDAL(tol=1e-7))
    assert solution.claimed == "optimal"
    assert solution.certificate.violating_pair <= 1e-6
    assert abs(excess(solution)) <= 1e-6


@NEEDED
@pytest.mark.parametrize("name", ["classification", "regression"])
def test_one_dal_solves_machines_with_nu(nu: dict[str, Formulation], name: str) -> None:
    solution = solve(nu[name], OneDAL(tol=1e-7))
    assert (solution.claimed, solution.verdict) == ("optimal", "solved")


@NEEDED
def test_one_dal_leaves_scikit_learn_as_it_is_and_never_falls_back_on_it(
    kernel: dict[str, Formulation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    svm = importlib.import_module("sklearn.svm")
    before = svm.SVC, svm.SVC.fit
    assert solve(kernel["linear"], OneDAL(tol=1e-7)).verdict == "solved"
    assert (svm.SVC, svm.SVC.fit) == before
    baseline = importlib.import_module("sklearnex.svm").SVC
    monkeypatch.setattr(baseline, "fit", lambda self, X, y, sample_weight: self)
    with pytest.raises(RuntimeError, match="did not run"):
        solve(kernel["linear"], OneDAL())


@NEEDED
def test_one_dal_is_given_samples_in_single_precision_and_judged_by_them_as_they_are(
    kernel_problem: Formulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, given = importlib.import_module("sklearnex.svm"), []
    for estimator in (module.SVC, module.SVR):
        original = estimator.fit

        def recording(self, X, *arguments, fit=original, **weights):
            given.append(X.dtype.name)
            return fit(self, X, *arguments, **weights)

        monkeypatch.setattr(estimator, "fit", recording)
    problem = replace(kernel_problem, X=kernel_problem.X * (1 + 1e-6))  # not of single precision
    double, single = (solve(problem, OneDAL(tol=1e-4, dtype=dtype)) for dtype in PRECISIONS)
    assert set(given[: len(given) // 2]) == {"float64"}
    assert set(given[len(given) // 2 :]) == {"float32"}
    assert single.problem.X.dtype == np.float64
    assert single.certificate.relative_gap <= 1e-3
    assert not np.array_equal(single.alpha, double.alpha)


@pytest.mark.parametrize("solver", [OneDAL, SGD])
def test_a_precision_that_is_none_is_refused_by_the_names_of_those_there_are(solver) -> None:
    with pytest.raises(ValueError, match="dtype: must be one of float64, float32, got 'single'"):
        solver(dtype="single")


@NEEDED
def test_one_dal_stops_at_its_limit_of_rounds(kernel: dict[str, Formulation]) -> None:
    solution = solve(kernel["rbf, a C for each"], OneDAL(tol=1e-9), max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.claimed == "stopped"
    assert solution.iterations == 2


def test_what_one_dal_cannot_do_is_refused(
    linear: dict[str, Formulation],
    nu: dict[str, Formulation],
    refused: Callable[[Solver, Formulation], str],
) -> None:
    X, y = linear["one C"].X, linear["one C"].y
    assert "only the duals of C-SVC, epsilon-SVR, ν-SVC and ν-SVR" in refused(
        OneDAL(), nu["one class"]
    )
    precomputed = SoftMarginDual(X @ X.T, y, 1.0, Precomputed())
    only = "linear, RBF, polynomial and sigmoid kernels only"
    assert only in refused(OneDAL(), precomputed)
    assert "oneDAL always has an intercept" in refused(OneDAL(), linear["one C"])
    assert "oneDAL has no hard margin" in refused(OneDAL(), HardMarginDual(X, y))


def test_an_absent_package_is_named(
    kernel: dict[str, Formulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearnex.svm", None)
    solution = solve(kernel["linear"], OneDAL())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install scikit-learn-intelex" in solution.note


def test_a_cache_must_be_positive() -> None:
    with pytest.raises(ValueError, match="cache_size"):
        OneDAL(cache_size=0.0)
