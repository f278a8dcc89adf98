"""Formulations, losses, kernels and data sets from a file beside the experiment file."""

from __future__ import annotations

import pytest

from experiments.cases.case import run_case
from experiments.cases.plan import outside_files, plan
from experiments.commands.dry_run import impossible
from experiments.files.experiment import ConfigError, read_experiment
from experiments.files.specs import build_kernel
from experiments.store.folder import Store, load_model

FILE = '''\
from dataclasses import dataclass
from typing import Any, ClassVar
import numpy as np
from problems import Formulation, Kernel, Linear, Matrix, RBF, SoftMarginDual, Vector
from problems.datasets import Raw, Source
from problems.losses import Hinge, Piece, PiecewiseLinear
{before}

@dataclass(frozen=True)
class Pinball(PiecewiseLinear):
    """max(tau·e, (tau − 1)·e) for e = y − f."""

    tau: float
    is_regression: ClassVar[bool] = True

    def dual_pieces(self, y):
        return [Piece(np.ones(y.size), y, 0.0, self.tau - 1.0, self.tau)]


@dataclass(frozen=True, eq=False)
class QuantileSVR(Formulation):
    """min ½‖w‖² + Σ Cᵢ·pinball."""

    X: Matrix
    y: Vector
    C: Any
    tau: float
    kernel: Kernel = Linear()
    intercept: bool = True

    @property
    def loss(self):
        return Pinball(self.tau)


@dataclass(frozen=True)
class Narrow(RBF):
    """An RBF kernel by another name."""


@dataclass(frozen=True, kw_only=True)
class Line(Source):
    """Points on a line."""

    n: int = 12

    def read(self):
        X = np.linspace(-1.0, 1.0, self.n)[:, None] * [1.0, 2.0]
        return Raw(X, np.where(X[:, 0] > 0, 1, -1))
'''
FORMULATION = (
    "{formulation: mine.py:QuantileSVR, dataset: {name: regression, n: 20, d: 2}, C: 1, tau: 0.3}"
)
KERNEL = (
    "{formulation: soft_margin_dual, dataset: {name: two_moons, n: 20}, "
    "kernel: {name: sum, left: linear, right: {name: mine.py:Narrow, gamma: 1}}}"
)
LOSS = (
    "{formulation: regularized_erm, dataset: {name: regression, n: 20, d: 2}, lam: 0.1, "
    "loss: {name: mine.py:Pinball, tau: 0.5}, intercept: true}"
)
DATASET = "{formulation: soft_margin_dual, dataset: {name: mine.py:Line, n: [10, 20]}}"
NAMED = {"formulation": FORMULATION, "kernel": KERNEL, "loss": LOSS, "data set": DATASET}


@pytest.fixture
def experiment(write, tmp_path):
    """Write an experiment with one problem, and the file that it names; return it as it was read."""

    def _experiment(problem, before=""):
        (tmp_path / "mine.py").write_text(FILE.format(before=before))
        return read_experiment(write(f"name: x\nproblems:\n  - {problem}\nsolvers: [cvxopt_qp]\n"))

    return _experiment


@pytest.mark.parametrize("kind", NAMED)
def test_a_class_from_a_file_beside_the_experiment_file_is_run(experiment, kind, tmp_path):
    case = plan(experiment(NAMED[kind]))[0]
    assert outside_files([case]) == {tmp_path / "mine.py"}
    assert "mine.py:" in str(case.problem)
    record = run_case(case).record
    assert record["verdict"] == "solved", record["reason"]
    assert impossible([case]) == {}


def test_a_kernel_from_outside_comes_back_with_the_model(experiment, tmp_path):
    case = plan(experiment(KERNEL))[0]
    store = Store.open(tmp_path / "out", "", [case.run_id])
    store.append(run_case(case))
    store.close()
    model = load_model(tmp_path / "out", case.run_id)
    assert model is not None
    assert model["kernel"] == build_kernel(case.problem.parameters["kernel"], case.folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("mine.py", "nowhere.py"), "there is no file"),
        (("QuantileSVR", "Median"), "mine.py has QuantileSVR, not 'Median'"),
        (("tau: 0.3", "tau: low"), "tau: must be a number, got 'low'"),
        (("tau: 0.3", "tua: 0.3"), "unknown setting 'tua'; did you mean 'tau'"),
        (("name: regression, n: 20", "name: regresion"), "did you mean 'regression'"),
    ],
)
def test_a_bad_entry_is_refused_at_its_line(experiment, change, words):
    with pytest.raises(ConfigError, match=words) as refusal:
        experiment(FORMULATION.replace(*change))
    assert "small.yaml:3: " in str(refusal.value)


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("before", ["import os; os._exit(3)", "raise KeyError('x')"])
def test_a_file_that_cannot_be_imported_is_left_to_its_runs(experiment, kind, before):
    described = experiment(NAMED[kind], before)
    assert "mine.py:" in str(described.problems)
    if before.startswith("raise"):
        assert run_case(plan(described)[0]).record["status"] == "crashed"
