"""What comes through the extension points is certified as what it is, or refused by name."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.differential.grouped import Grouped, Pinball
from tests.problems.blocks.files import in_blocks
from tests.shown import in_tutorial
from tests.small_problems import two_classes

from dualgap.problems import (
    RBF,
    TARGETS,
    Formulation,
    Kernel,
    Linear,
    Point,
    RegularizedERM,
    Risk,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    certify,
    one_offset,
)
from dualgap.problems.arithmetic import entropy
from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.losses import (
    EpsilonInsensitive,
    PiecewiseLinear,
    ScalarLoss,
    SquaredHinge,
    Terms,
)
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows

X, Y = two_classes(n=40, d=2)


@dataclass(frozen=True, eq=False)
class Dear(Formulation):
    """Regression in which targets above 105 count ten times."""

    X: Any
    y: Any
    C: float = 1.0

    task = TARGETS

    def build_risk(self):
        C = self.C * np.where(self.y > 105, 10.0, 1.0)
        return Risk(self.samples, self.y, EpsilonInsensitive(0.0), C, one_offset(True))


def test_weights_derived_from_targets_use_the_unshifted_targets():
    problem = Dear(np.zeros((5, 1)), [100.0, 101.0, 102.0, 110.0, 111.0])
    answer = certify(problem, Point([-1.0, -1.0, 0.0, 1.0, 1.0]))
    assert answer.primal_objective == pytest.approx(37.0)
    assert answer.relative_gap > 0.1


@pytest.mark.parametrize("cost", [inf, np.nan, 0.0, -1.0])
def test_weights_unsupported_by_bounds_are_refused(cost):
    namespace = {"__name__": "cost_sensitive"}
    exec(in_tutorial("add_a_problem", "cost_sensitive.py"), namespace)
    with pytest.raises(ValueError, match="C: must be 40 finite numbers above 0"):
        namespace["CostSensitiveMargin"](X, Y, cost_positive=cost)


@dataclass(frozen=True, eq=False)
class Dearer(SoftMarginPrimal):
    """The soft margin with five times the weights."""

    def build_risk(self):
        risk = super().build_risk()
        return replace(risk, C=5.0 * risk.C)


def test_weights_of_a_plug_in_formulation_apply_to_blocks_too(tmp_path):
    dearer = Dearer(in_blocks(tmp_path, X, Y, (10, 20)), None, C=0.5)
    answer = [
        solve(p, NearRows()) for p in (dearer, Dearer(X, Y, C=0.5), SoftMarginPrimal(X, Y, C=2.5))
    ]
    assert all(one.verdict == "solved" for one in answer)
    assert [one.objective for one in answer] == pytest.approx([answer[2].objective] * 3, rel=1e-5)


def test_weights_that_are_too_large_for_bounds_are_refused_in_blocks_too(tmp_path):
    with pytest.raises(ValueError, match="lam: is 1e-300"):
        RegularizedERM(in_blocks(tmp_path, X, Y, (10, 20)), None, 1e-300)


@dataclass(frozen=True)
class Lacking(ScalarLoss):
    """½·max(0, y − f)², which states no dual_range."""

    is_regression: ClassVar[bool] = True
    lipschitz: ClassVar[float] = inf  # type: ignore[misc]
    smoothness: ClassVar[float] = 1.0  # type: ignore[misc]

    def value(self, y, f):
        return 0.5 * np.maximum(y - f, 0.0) * np.maximum(y - f, 0.0)

    def subgradient(self, y, f):
        return -np.maximum(y - f, 0.0)

    def curvature(self, y, f):
        return np.where(f < y, 1.0, 0.0)

    def conjugate(self, y, s):
        return y * s + 0.5 * s * s

    def dual_step(self, y, m, t):
        return np.maximum(y - m, 0.0) / (1.0 + t)


@pytest.mark.parametrize("rigorous", [False, True])
def test_a_conjugate_is_not_evaluated_outside_its_domain(rigorous):
    problem = RegularizedERM([[1.0]], [-1.0], 1.0, Lacking())  # the optimum is 0
    answer = certify(problem, Point([-0.5], [1.0]), rigorous)
    assert not answer.dual_objective > 0
    assert "its dual_range" in answer.reason


class Positive(PiecewiseLinear):
    """Terms without 0 within [lo, hi]."""

    def terms(self, y):
        return Terms(-y, 0.0, 0.5, 1.0)


def test_terms_without_a_conjugate_are_refused():
    with pytest.raises(ValueError, match=r"eps ≥ 0 and lo ≤ 0 ≤ hi"):
        RegularizedERM([[0.1]], [1.0], 1.0, Positive())


@dataclass(frozen=True)
class SoftLabels(ScalarLoss):
    """ln(1 + eᶠ) − y·f for shares y, whose least value is the entropy of y."""

    is_regression: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0  # type: ignore[misc]
    smoothness: ClassVar[float] = 0.25  # type: ignore[misc]

    def value(self, y, f):
        return np.logaddexp(0.0, f) - y * f

    def subgradient(self, y, f):
        return 1.0 / (1.0 + np.exp(-f)) - y

    def curvature(self, y, f):
        return 0.25 / np.cosh(0.5 * f) ** 2

    def conjugate(self, y, s):
        return entropy(s + y) + entropy(1.0 - (s + y))

    def dual_step(self, y, m, t):
        raise NotImplementedError


def test_a_loss_that_is_never_0_has_no_false_bound_in_blocks():
    blocks = Blocks.checked(ArraySource(np.ones((60, 1)), np.full(60, 0.5), None, 15))
    problem = RegularizedERM(blocks, None, 1.0, SoftLabels())  # the optimum is ln 2, at w = 0
    answer = certify(problem, Point(w=np.ones(1)))
    assert not answer.dual_objective > np.log(2.0)
    assert "the minimum of the loss" in answer.reason


@dataclass(frozen=True)
class Epanechnikov(Kernel):
    """max(0, 1 − ‖x − z‖²), which is not semidefinite and does not say so."""

    def __call__(self, X, Z):
        return np.maximum(1.0 - ((X[:, None, :] - Z) ** 2).sum(axis=2), 0.0)

    def diagonal(self, X):
        return np.ones(X.shape[0])


@pytest.mark.parametrize("kernel", [Epanechnikov(), 2.0 * Epanechnikov() + Linear()])
def test_a_falsely_declared_semidefinite_kernel_is_detected(kernel):
    samples, y = np.arange(4.0)[:, None] / 2, [1.0, -1.0, 1.0, -1.0]
    message = "kernel: Epanechnikov is declared symmetric and positive semidefinite"
    with pytest.raises(ValueError, match=message):
        SoftMarginDual(samples, y, 1.0, kernel)


def test_subclassing_a_built_in_kernel_is_refused():
    with pytest.raises(TypeError, match=r"Laplacian: .* have their own code for RBF"):

        class Laplacian(RBF):
            def __call__(self, X, Z):
                return np.exp(-self.gamma * np.abs(X[:, None] - Z).sum(axis=2))


def test_a_smooth_loss_has_an_offset_for_each_group():
    y, prices = np.append(np.ones(100), -1.0), (1.0, -1.0)
    problem = Grouped(np.zeros((101, 1)), y, 1.0, (0,) * 100 + (1,), prices, SquaredHinge())
    answer = certify(problem, Point(np.append(np.full(100, 0.01), 1.0)))
    assert answer.primal_objective == pytest.approx(1.7475)
    assert answer.relative_gap < 1e-9
    three = Grouped(X, Y, 1.0, tuple(np.arange(40) % 3), (0.0,) * 3, SquaredHinge())
    assert len(certify(three, Point(np.zeros(40))).offsets) == 3


@dataclass(frozen=True, eq=False)
class Quantile(SVRDual):
    """A subclass of ours with another loss, and a setting of it."""

    tau: float = 0.5

    def build_risk(self):
        return replace(super().build_risk(), loss=Pinball(self.tau))


def test_a_subclass_with_another_loss_is_another_problem():
    machines = [Quantile(X, X[:, 0], 1.0, 0.0, tau=tau) for tau in (0.1, 0.5)]
    families = {problem.family_hash for problem in (*machines, SVRDual(X, X[:, 0], 1.0, 0.0))}
    assert len(families) == 3
