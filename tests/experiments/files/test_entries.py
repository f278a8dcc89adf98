"""A formulation, a loss, a kernel and a data set from a file outside, wherever a name may stand."""

from pathlib import Path

import pytest

from experiments.cases.case import run_case
from experiments.cases.plan import plan
from experiments.commands.dry_run import impossible
from experiments.files.experiment import ConfigError, read_experiment
from experiments.files.specs import build_kernel
from experiments.store.folder import Store
from experiments.store.inputs import input_files
from experiments.store.reading import load_model
from tests.shown import in_tutorial

QUANTILE_SVR = in_tutorial("add_a_problem", "quantile_svr.py")
OURS = f'''{QUANTILE_SVR}
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems import Kernel
from problems.datasets.source import Raw, Source
from problems.losses import IntervalLoss


@dataclass(frozen=True)
class Shifted(Kernel):
    """xᵀz + shift."""

    shift: float = 1.0

    def __call__(self, X, Z):
        return X @ Z.T + self.shift

    def diagonal(self, X):
        return np.einsum("ij,ij->i", X, X) + self.shift


@dataclass(frozen=True)
class Deadzone(IntervalLoss):
    """A squared tube of fixed width."""

    smoothing: ClassVar[float] = 1.0
    is_regression: ClassVar[bool] = True

    def ends(self, y):
        return y - 0.5, y + 0.5


@dataclass(frozen=True, kw_only=True)
class Ramp(Source):
    """Targets on a line."""

    task: ClassVar = "regression"
    n: int = 20

    def read(self):
        x = np.linspace(-1, 1, self.n)
        return Raw(np.column_stack([x, x**2]), x + 0.1 * np.sin(9 * x))
'''
FILE = """
name: outside
problems:
  - formulation: "ours.py:QuantileSVR"
    dataset: {{name: "ours.py:Ramp", n: [20, 30]}}
    C: 2
    tau: 0.3
    kernel: {kernel}
  - {{formulation: regularized_erm, dataset: "ours.py:Ramp", lam: 0.1, loss: "ours.py:Deadzone"}}
solvers: [{{name: smo, tol: 1e-8}}, lbfgs]
"""
KERNELS = [
    '{name: "ours.py:Shifted", shift: 2}',
    '{name: sum, left: linear, right: "ours.py:Shifted"}',
]


def experiment(folder: Path, text: str):
    (folder / "ours.py").write_text(OURS)
    (folder / "experiment.yaml").write_text(text)
    return read_experiment(folder / "experiment.yaml")


@pytest.mark.parametrize("kernel", KERNELS)
def test_everything_from_outside_runs_and_is_certified(tmp_path: Path, kernel: str) -> None:
    cases = plan(experiment(tmp_path, FILE.format(kernel=kernel)))
    assert {file.path for file in input_files(cases).values()} == {tmp_path / "ours.py"}
    outcomes = [run_case(case).record for case in cases]
    verdicts = {
        (record["formulation"], record["solver"]): record["verdict"]
        for record in outcomes
        if record["status"] != "unsupported"
    }
    assert verdicts == {
        ("ours.py:QuantileSVR", "smo"): "solved",
        ("regularized_erm", "lbfgs"): "solved",
    }
    first = outcomes[0]
    assert first["dataset"] == "ours.py:Ramp"
    assert first["family_hash"] != outcomes[-1]["family_hash"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ours.py:QuantileSVR", "ours.py:Quantile", "has QuantileSVR, not 'Quantile'"),
        ("ours.py:QuantileSVR", "none.py:X", "there is no file"),
        ("ours.py:Ramp", "ours.py:Pinball", "not 'Pinball'"),
        ("ours.py:Deadzone", "ours.py:Shifted", "not 'Shifted'"),
        ("tau: 0.3", "tua: 0.3", "tua"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_runs(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = FILE.format(kernel="linear").replace(old, new)
    with pytest.raises(ConfigError, match=message):
        experiment(tmp_path, text)


FORGING = """
import os, pickle, socket
from experiments.files.specs import ProblemSpec
from experiments.workers.wire import frame, pack

class Code:
    def __reduce__(self):
        return os.mkdir, ({mark!r},)

for number in os.listdir("/proc/self/fd"):
    try:
        socket.socket(fileno=os.dup(int(number))).sendall({sent})
    except OSError:
        pass
"""
# what a file sends to the command when it is merely imported
FORGED = [
    "pickle.dumps((True, Code()))",
    "frame(b'r', pickle.dumps((True, Code())))",
    "frame(b'e', pickle.dumps((True, Code())))",
    "frame(b'r', pack(['no', 'description']))",
    "frame(b'r', pack(ProblemSpec('x', {'n': 3}, {})))",
    "frame(b'r', pack(ProblemSpec('x', {'name': 'x'}, {'kernel': [{'name': {}}]})))",
]


@pytest.mark.parametrize("sent", FORGED)
def test_nothing_that_a_file_sends_while_it_is_imported_runs_in_the_command(
    tmp_path: Path, sent: str
) -> None:
    mark = tmp_path / "mark"
    found = experiment(tmp_path, FILE.format(kernel="linear"))
    (tmp_path / "ours.py").write_text(FORGING.format(mark=str(mark), sent=sent) + OURS)
    again = read_experiment(tmp_path / "experiment.yaml")
    assert len(plan(again)) == len(plan(found))
    assert not mark.exists()


@pytest.mark.parametrize("broken", ["raise RuntimeError('broken')", "import os; os._exit(3)"])
def test_a_file_that_cannot_be_imported_fails_in_its_own_runs(tmp_path: Path, broken: str) -> None:
    found = experiment(tmp_path, FILE.format(kernel="linear"))
    (tmp_path / "ours.py").write_text(broken)
    again = read_experiment(tmp_path / "experiment.yaml")
    assert len(again.problems) == len(found.problems)
    if broken.startswith("raise"):
        assert run_case(plan(again)[0]).record["status"] == "crashed"


def test_a_fault_in_an_entry_is_at_its_line(tmp_path: Path) -> None:
    text = FILE.format(kernel="linear").replace("tau: 0.3", "tau: low")
    with pytest.raises(ConfigError, match=r":7: ours.py:QuantileSVR: tau: must be a number"):
        experiment(tmp_path, text)


def test_a_kernel_from_outside_comes_back_with_the_model(tmp_path: Path) -> None:
    cases = plan(experiment(tmp_path, FILE.format(kernel=KERNELS[1])))
    assert impossible(cases) == {}  # nothing is known of what is outside
    case = next(c for c in cases if c.solver.name == "smo" and "kernel" in c.problem.parameters)
    store = Store.open(tmp_path / "out", "", [case.run_id])
    store.append(run_case(case))
    store.close()
    model = load_model(tmp_path / "out", case.run_id)
    assert model is not None
    assert model["kernel"] == build_kernel(case.problem.parameters["kernel"], str(tmp_path))
