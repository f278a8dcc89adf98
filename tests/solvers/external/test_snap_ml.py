"""Snap ML's linear support vector machine."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from problems import Formulation, HingeERM
from solvers import SnapML, Solution, Solver, Status, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("snapml") is None, reason="snapml is not installed"
)


@NEEDED
@pytest.mark.parametrize("name", ["one C", "sparse", "flipped", "risk"])
def test_snap_ml_solves_the_same_problem(
    linear: dict[str, Formulation], excess: Callable[[Solution], float], name: str
) -> None:
    solution = solve(linear[name], SnapML(tol=1e-9, max_iter=100_000))
    assert solution.claimed == "stopped"
    assert abs(excess(solution)) <= 1e-3


@NEEDED
def test_snap_ml_leaves_subnormal_numbers_to_others(linear: dict[str, Formulation]) -> None:
    solve(linear["one C"], SnapML())
    assert sys.float_info.min / 2 > 0


@NEEDED
def test_snap_ml_has_one_precision_that_of_single_samples(linear: dict[str, Formulation]) -> None:
    for name in ("one C", "sparse"):
        finer = replace(linear[name], X=linear[name].X * (1 + 1e-9))
        first, second = (solve(problem, SnapML()).w for problem in (linear[name], finer))
        assert np.array_equal(first, second)
        assert not np.array_equal(first, first.astype(np.float32))


@NEEDED
def test_snap_ml_stops_at_its_limit(linear: dict[str, Formulation]) -> None:
    solution = solve(linear["one C"], SnapML(tol=1e-12), max_iter=3)
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3
    with pytest.raises(ValueError, match="threads"):
        SnapML(threads=0)


def test_what_snap_ml_cannot_do_is_refused(
    linear: dict[str, Formulation],
    kernel: dict[str, Formulation],
    refused: Callable[[Solver, Formulation], str],
) -> None:
    one_class = HingeERM(linear["one C"].X, np.ones(linear["one C"].n), 0.1)
    assert "only approximates kernels" in refused(SnapML(), kernel["rbf, a C for each"])
    assert "regularises its intercept" in refused(SnapML(), kernel["linear"])
    assert "no support vector regression" in refused(SnapML(), linear["regression"])
    assert "one C for all" in refused(SnapML(), linear["a C for each"])
    assert "both classes" in refused(SnapML(), one_class)


def test_an_absent_package_is_named(
    linear: dict[str, Formulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "snapml", None)
    solution = solve(linear["one C"], SnapML())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install snapml" in solution.note
