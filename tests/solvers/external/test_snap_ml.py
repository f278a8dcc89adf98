"""Snap ML's linear support vector machine."""

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.solvers.external.baseline_problems import LINEAR

from dualgap.solvers import SnapML, solve

NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("snapml") is None, reason="snapml is not installed"
)


@NEEDED
def test_snap_ml_restores_subnormal_arithmetic() -> None:
    solve(LINEAR["one C"], SnapML())
    assert sys.float_info.min / 2 > 0


@NEEDED
def test_snap_ml_computes_in_single_precision_of_the_samples() -> None:
    for name in ("one C", "sparse"):
        finer = replace(LINEAR[name], X=LINEAR[name].X * (1 + 1e-9))
        first, second = (solve(problem, SnapML()).w for problem in (LINEAR[name], finer))
        assert np.array_equal(first, second)
        assert not np.array_equal(first, first.astype(np.float32))
