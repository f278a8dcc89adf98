"""A formulation, a loss, a kernel and a data set from a file outside, wherever a name may stand."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.experiments.functions import run_case, yaml
from tests.experiments.rows import recorded
from tests.halves import quick_cases
from tests.shown import in_tutorial

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import ConfigError, read_experiment
from dualgap.experiments.files.specs import build_kernel
from dualgap.experiments.operations.dry_run import impossible
from dualgap.experiments.store.inputs import input_files
from dualgap.experiments.store.reading import RunFolder

QUANTILE_SVR = in_tutorial("add_a_problem", "quantile_svr.py")
OURS = f'''{QUANTILE_SVR}
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems import Kernel
from dualgap.problems.datasets.source import Raw, Source
from dualgap.problems.losses import IntervalLoss


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


def experiment(folder: Path, text: str, ours: str = OURS):
    (folder / "ours.py").write_text(ours)
    (folder / "experiment.yaml").write_text(text)
    return read_experiment(folder / "experiment.yaml")


@pytest.mark.usefixtures("in_process")
def test_plug_ins_of_every_kind_are_run_certified_and_stored(tmp_path: Path) -> None:
    cases = plan(experiment(tmp_path, FILE.format(kernel=f"[{', '.join(KERNELS)}]")))
    assert impossible(cases) == {}  # nothing is known of what is outside
    assert {file.path for file in input_files(cases).values()} == {tmp_path / "ours.py"}
    outcomes = [run_case(case) for case in cases]
    rows = [outcome.record for outcome in outcomes]
    verdicts = {(row["formulation"], row["solver"], row["status"], row["verdict"]) for row in rows}
    assert {printed_line for printed_line in verdicts if printed_line[2] != "unsupported"} == {
        ("ours.py:QuantileSVR", "smo", "finished", "solved"),
        ("regularized_erm", "lbfgs", "finished", "solved"),
    }
    assert rows[0]["dataset"] == "ours.py:Ramp"
    assert rows[0]["family_hash"] != rows[-1]["family_hash"]
    folder, kernels = recorded(tmp_path / "out", outcomes), set()
    for case in cases:
        model = RunFolder(folder).model(case.run_id)
        if model is not None:
            kernels.add(model.problem.kernel.name)
            kernel = model.problem.kernel
            assert kernel == build_kernel(case.problem.parameters["kernel"], str(tmp_path))
    assert kernels == {"linear", "shifted", "sum"}


@pytest.mark.usefixtures("in_process")
def test_reading_a_folder_never_executes_its_plug_in_kernels(tmp_path: Path) -> None:
    """Even if its models say that their experiment file is in the folder."""
    cases = plan(experiment(tmp_path, FILE.format(kernel=KERNELS[-1])))
    folder = recorded(tmp_path / "out", [run_case(case) for case in cases])
    stored = [case.run_id for case in cases if RunFolder(folder).model(case.run_id)]
    assert stored
    received = tmp_path.rename(tmp_path.with_name("received"))  # ours.py is within it
    (received / "out/sessions").rename(received / "sessions")
    for run_id in stored:
        (path,) = received.glob(f"sessions/*/models/{run_id}.npz")
        arrays = dict(np.load(path))
        spec, _ = json.loads(str(arrays["problem"]))
        np.savez(path, **arrays | {"problem": json.dumps([spec, str(received)])})
        assert (RunFolder(received).model(run_id) is None) == ("ours.py" in json.dumps(spec))


QUANTILE = {"formulation": '"ours.py:QuantileSVR"', "dataset": '"ours.py:Ramp"', "C": 2, "tau": 0.3}
RISK = {"formulation": "regularized_erm", "dataset": '"ours.py:Ramp"', "lam": 0.1}
WRONG = [  # an entry of `problems`, and what is said of it
    (QUANTILE | {"formulation": '"ours.py:Quantile"'}, "defines QuantileSVR, not 'Quantile'"),
    (QUANTILE | {"formulation": '"none.py:X"'}, "there is no file"),
    (QUANTILE | {"dataset": '"ours.py:Pinball"'}, "not 'Pinball'"),
    (RISK | {"loss": '"ours.py:Shifted"'}, "not 'Shifted'"),
    (QUANTILE | {"tua": 0.3}, "tua"),
    (QUANTILE | {"tau": "low"}, "ours.py:QuantileSVR: tau: must be a number"),
]


@pytest.mark.usefixtures("in_process")
def test_a_fault_of_a_plug_in_entry_is_reported_at_its_line(tmp_path: Path) -> None:
    entries = "".join(f"  - {yaml(entry)}\n" for entry, _ in WRONG)
    with pytest.raises(ConfigError) as refusal:
        experiment(tmp_path, f"name: outside\nproblems:\n{entries}solvers: [smo]\n")
    messages = str(refusal.value).splitlines()
    for line, (printed_line, (_, words)) in enumerate(zip(messages, WRONG, strict=True), 3):
        assert printed_line.startswith(f"{tmp_path / 'experiment.yaml'}:{line}: ")
        assert words in printed_line


FORGING = """
import os, pickle
from dualgap.experiments.files.specs import ProblemSpec
from dualgap.experiments.workers.wire import frame, pack

class Code:
    def __reduce__(self):
        return os.mkdir, ({mark!r},)

for number in range(3, 50):
    try:
        os.write(number, {sent})
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


@pytest.mark.parametrize("sent", quick_cases(FORGED, FORGED[1:4:2]))
def test_bytes_sent_by_a_plug_in_at_import_are_not_executed_in_the_command(
    tmp_path: Path, sent: str
) -> None:
    mark = tmp_path / "mark"
    ours = FORGING.format(mark=str(mark), sent=sent) + OURS
    assert len(plan(experiment(tmp_path, FILE.format(kernel="linear"), ours))) == 6
    assert not mark.exists()


@pytest.mark.usefixtures("in_process")
def test_a_plug_in_that_cannot_be_imported_fails_only_its_runs(tmp_path: Path) -> None:
    broken = "raise RuntimeError('broken')"
    cases = plan(experiment(tmp_path, FILE.format(kernel="linear"), broken))
    assert len(cases) == 6
    assert run_case(cases[0]).record["status"] == "crashed"
