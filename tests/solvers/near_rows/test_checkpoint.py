"""A driver that is killed, and another that goes on from its last iteration."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.small_problems import two_classes

from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.forms import Sharded
from dualgap.problems.losses import Hinge, Logistic
from dualgap.solvers.near_rows import NearRows

X, Y = two_classes(n=300, d=5)


def _form(loss, C=1.0):
    return Sharded(Blocks.checked(ArraySource(X, Y, None, 100)), C, loss, intercept=True)


@pytest.fixture(params=[Hinge(), Logistic()], ids=["hinge", "logistic"])
def loss(request):
    return request.param


def _solver(folder):
    return NearRows(near=20, tol=1e-9, checkpoints=str(folder))


def _numbers(point):
    return np.concatenate([point.x, point.beta, [point.b]])


def test_what_goes_on_from_a_stopped_run_ends_at_the_same_answer(loss, tmp_path):
    *_, whole = NearRows(near=20, tol=1e-9).points(_form(loss))
    stopped = _solver(tmp_path).points(_form(loss))
    while next(stopped).iterations < 4:
        pass
    stopped.close()
    first, *rest = _solver(tmp_path).points(_form(loss))
    assert first.iterations >= 3
    assert "continued from round" in first.note
    np.testing.assert_array_equal(_numbers(rest[-1]), _numbers(whole))
    assert list(tmp_path.iterdir()) == []  # nothing to go on from is left


def test_another_problem_does_not_go_on_from_it(tmp_path):
    stopped = _solver(tmp_path).points(_form(Hinge()))
    while next(stopped).iterations < 4:
        pass
    first = next(_solver(tmp_path).points(_form(Hinge(), C=2.0)))
    assert (first.iterations, first.note) == (1, "")


@pytest.mark.parametrize("content", [b"", b"no archive", None], ids=["empty", "other", "cut"])
def test_a_damaged_file_is_begun_anew(content, tmp_path):
    stopped = _solver(tmp_path).points(_form(Hinge()))
    while next(stopped).iterations < 4:
        pass
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-100] if content is None else content)
    assert next(_solver(tmp_path).points(_form(Hinge()))).iterations == 1


@pytest.mark.exhaustive
def test_a_killed_driver_is_gone_on_from_by_resume(tmp_path):
    (tmp_path / "here.yaml").write_text(
        "name: here\ntrace: false\nproblems:\n  - formulation: soft_margin_primal\n"
        "    dataset: {name: generated_blocks, n: 100000, d: 20, rows: 20000}\n    C: 1\n"
        "solvers:\n  - {name: near_rows, near: 200, tol: 1e-8}\n"
    )
    command = [sys.executable, "-m", "dualgap.experiments.cli", "run", "here.yaml", "--out", "out"]
    run = subprocess.Popen(command, cwd=tmp_path, env=os.environ, start_new_session=True)
    while run.poll() is None and not list(tmp_path.glob("out/checkpoints/*/*.npz")):
        pass
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert list(tmp_path.glob("out/checkpoints/*/*.npz"))
    subprocess.run([*command, "--resume"], cwd=tmp_path, check=True)
    log = (tmp_path / "out" / "runs.jsonl").read_text()
    assert "continued from round" in log
    assert '"solved"' in log
    assert not (tmp_path / "out" / "checkpoints").exists()
