"""`import dualgap` offers every public name, loads little, and refuses packages that are not its own."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dualgap
import experiments
import problems
import solvers


def python(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("package", [problems, solvers, experiments])
def test_every_public_name_is_offered(package):
    assert set(package.__all__) <= set(dir(dualgap))
    assert all(getattr(dualgap, name) is getattr(package, name) for name in package.__all__)


def test_a_star_brings_all_names_of_a_package_and_solvers_those_of_all_solver_classes():
    for package in (problems, solvers, experiments):
        names = {}
        exec(f"from {package.__name__} import *", names)
        assert set(package.__all__) <= names.keys()
        assert len(set(package.__all__)) == len(package.__all__)
    assert {cls.__name__ for cls in solvers.SOLVERS.own.values()} <= set(solvers.__all__)
    assert {"SMO", "solve", "NotInstalled"} <= set(solvers.__all__)


def test_every_solver_class_and_the_modules_of_data_sets_and_estimators_are_offered():
    assert dualgap.SMO is solvers.find_solver("smo")
    assert dualgap.datasets.make("two_moons", n=10).load().n == 10
    assert dualgap.estimators.SVC().C == 1.0
    assert importlib.import_module("dualgap.estimators") is dualgap.estimators
    assert importlib.import_module("dualgap.datasets") is problems.datasets
    with pytest.raises(AttributeError, match=r"module 'dualgap' has no attribute 'SMOO'"):
        dualgap.SMOO  # noqa: B018


def test_the_import_loads_no_numerical_library_and_a_star_brings_all_names(tmp_path):
    heavy = "{'numpy', 'numba', 'scipy', 'sklearn', 'pandas', 'matplotlib'}"
    done = python(f"import sys, dualgap; print({heavy} & sys.modules.keys())", tmp_path)
    assert done.stdout == "set()\n", done.stderr
    done = python("from dualgap import *; print(certify, SMO, datasets)", tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", ["solvers/__init__.py", "problems.py", "experiments/__init__.py"])
def test_another_package_of_one_of_the_names_is_refused_with_both_files(file, tmp_path):
    other = tmp_path / file
    other.parent.mkdir(exist_ok=True)
    other.touch()
    ours = Path(problems.__file__).parents[1] / Path(file).parts[0].removesuffix(".py")
    error = python("import dualgap", tmp_path).stderr.splitlines()[-1]
    assert error.startswith(f"ImportError: dualgap: {other} shadows {ours / '__init__.py'}, ")


def test_an_empty_folder_of_one_of_the_names_does_no_harm(tmp_path):
    (tmp_path / "solvers").mkdir()
    assert python("import dualgap; dualgap.SMO", tmp_path).returncode == 0
