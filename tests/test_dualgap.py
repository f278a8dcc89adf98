"""`import dualgap` offers every public name and works beside packages named alike."""

import importlib
import subprocess
import sys

import pytest

import dualgap
from dualgap import experiments, problems, solvers

CLI = [sys.executable, "-m", "dualgap.experiments.cli"]


@pytest.mark.parametrize("package", [problems, solvers, experiments])
def test_every_public_name_is_exported(package):
    assert set(package.__all__) <= set(dir(dualgap))
    assert all(getattr(dualgap, name) is getattr(package, name) for name in package.__all__)


def test_a_star_import_has_all_names_and_all_solver_classes():
    for package in (problems, solvers, experiments):
        names = {}
        exec(f"from {package.__name__} import *", names)
        assert set(package.__all__) <= names.keys()
        assert len(set(package.__all__)) == len(package.__all__)
    assert {cls.__name__ for cls in solvers.SOLVERS.built_in.values()} <= set(solvers.__all__)
    assert {"SMO", "solve", "NotInstalled"} <= set(solvers.__all__)


def test_all_solver_classes_and_the_datasets_and_estimators_modules_are_exported():
    assert dualgap.SMO is solvers.find_solver("smo")
    assert dualgap.datasets.make("two_moons", n=10).load().n == 10
    assert dualgap.estimators.SVC().C == 1.0
    assert importlib.import_module("dualgap.estimators") is dualgap.estimators
    assert importlib.import_module("dualgap.datasets") is problems.datasets
    with pytest.raises(AttributeError, match=r"module 'dualgap' has no attribute 'SMOO'"):
        dualgap.SMOO  # noqa: B018


@pytest.mark.exhaustive
def test_dualgap_works_next_to_packages_called_problems_solvers_and_experiments(tmp_path):
    for name in ("problems", "solvers", "experiments"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ImportError('the other {name}')\n")
    (tmp_path / "mine.py").write_text("from dualgap import SMO\n\nclass Mine(SMO): pass\n")
    (tmp_path / "small.yaml").write_text(
        "name: small\n"
        "problems: [{formulation: soft_margin_dual, dataset: {name: two_moons, n: 20}, C: 1}]\n"
        "solvers: [smo, 'mine.py:Mine']\n"
    )
    for out, more in (("local", []), ("dask", ["--executor", "dask"])):
        command = [*CLI, "run", "small.yaml", "--out", out, *more]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
