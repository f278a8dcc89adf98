import os

import pytest
from tests.experiments.functions import posing

from dualgap.experiments import load_results
from dualgap.experiments.operations.defaults import Defaults, load_defaults
from dualgap.experiments.operations.options import RunOptions


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Write the defaults of a user."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DUALGAP_DATA", raising=False)
    (tmp_path / "config").mkdir()
    return (tmp_path / "config" / "dualgap.yaml").write_text


def test_without_a_user_file_the_built_in_defaults_apply(user):
    assert load_defaults() == Defaults()


@pytest.mark.usefixtures("in_process")
def test_user_defaults_apply_to_options_not_on_the_command_line(command, write, user, tmp_path):
    user(f"workers: 3\nout: mine\ndata: {tmp_path}\n")
    command("run", write(posing()))
    assert len(load_results("mine/small")) == 1
    assert os.environ["DUALGAP_DATA"] == str(tmp_path)
    result = command("run", write(posing()), "--out", "x", "--set", "time_limit=1m", "--dry-run")
    assert "3 processes" in result.output
    result = command("run", write(posing()), "--out", "x", "--workers", 2, "--dry-run")
    assert "2 processes" in result.output


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("workers: 0", "workers: must be greater than or equal to 1, got 0"),
        ("worker: 2", "unknown key 'worker'; did you mean 'workers'?"),
        ("workers: many", "workers: must be a whole number or null, got 'many'"),
        ("- workers", "must have keys such as workers, executor"),
    ],
)
def test_a_fault_of_the_defaults_is_reported_with_file_and_line(command, write, user, text, error):
    user(text)
    refused = command("run", write(posing()), code=2)
    assert f"config/dualgap.yaml:1: {error}" in refused.output


@pytest.mark.parametrize(
    ("values", "used"),
    [
        ((None, None, None), (None, "dask", "tcp://a:1")),
        ((None, "dask", None), (None, "dask", "tcp://a:1")),
        ((None, "local", None), (4, "local", None)),
        ((2, "local", None), (2, "local", None)),
        ((2, None, None), (2, "dask", None)),
        ((None, None, "tcp://b:2"), (None, "dask", "tcp://b:2")),
    ],
)
def test_explicit_options_override_incompatible_defaults(values, used):
    defaults = Defaults(workers=4, executor="dask", address="tcp://a:1")
    names = ("workers", "executor", "address")
    completed = defaults.completed(RunOptions(**dict(zip(names, values, strict=True))))
    assert tuple(getattr(completed, name) for name in names) == used
