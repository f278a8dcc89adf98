"""Plug-ins: an installed package offers classes as entry points, and what is broken is left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dualgap.experiments import load_results
from dualgap.problems.registry import Registry
from dualgap.solvers import Solver

MODULE = '''
from dataclasses import dataclass

from dualgap.problems import SoftMarginDual
from dualgap.problems.datasets import TwoMoons
from dualgap.solvers import SMO


@dataclass(frozen=True)
class Quick(SMO):
    """SMO, by another name."""


@dataclass(frozen=True, eq=False)
class Soft(SoftMarginDual):
    """The soft margin, by another name."""


@dataclass(frozen=True, kw_only=True)
class Moons(TwoMoons):
    """Two moons, by another name."""

    kind = "of a plug-in"

print("helpful is imported")
'''
ENTRY_POINTS = """\
[dualgap.solvers]
quick = helpful:Quick
gone = helpful:Gone
smo = helpful:Quick
soft = helpful:Soft
[dualgap.formulations]
soft = helpful:Soft
[dualgap.datasets]
moons = helpful:Moons
"""
EXPERIMENT = """\
name: plugged
problems: [{formulation: soft, dataset: {name: moons, n: 30, noise: 0.1}}]
solvers: [{name: quick, tol: 1e-8}, cvxopt_qp]
"""


@pytest.fixture
def installed(tmp_path):
    """Return where a package is installed that offers a class of each kind, and three faulty ones."""
    metadata = tmp_path / "target" / "helpful_solvers-1.2.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: helpful-solvers\nVersion: 1.2\n"
    )
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (metadata.parent / "helpful.py").write_text(MODULE)
    return metadata.parent


@pytest.fixture
def registry(installed, monkeypatch):
    """Return the solvers as a process finds them that begins with the package installed."""
    monkeypatch.syspath_prepend(installed)
    yield Registry(Solver, "solver", "dualgap.solvers", skip="estimators", group="dualgap.solvers")
    sys.modules.pop("helpful", None)


def test_a_plug_in_is_imported_when_its_class_is_first_used(registry):
    assert registry["libsvm"].__module__ == "dualgap.solvers.external.libsvm"
    assert "nothing" not in registry
    assert "helpful" not in sys.modules
    assert registry.find("quick").__module__ == "helpful"
    assert list(registry)[-1] == "quick"
    assert registry["smo"].__module__ == "dualgap.solvers.smo"


def test_a_broken_plug_in_is_ignored_with_one_log_line(registry, caplog):
    assert "quick" in registry.all()
    assert registry.all().keys().isdisjoint({"gone", "soft"})
    smo, missing, soft = (record.getMessage() for record in caplog.records)
    prefix = "the solver 'gone' of the plug-in helpful-solvers (helpful:Gone) is ignored: "
    assert missing == f"{prefix}AttributeError: module 'helpful' has no attribute 'Gone'"
    assert smo.endswith("(helpful:Quick) is ignored: dualgap defines a solver of that name")
    assert soft.endswith("(helpful:Soft) is ignored: TypeError: it is not a subclass of Solver")
    with pytest.raises(ValueError, match=r"unknown solver 'gone'; .*accepted are .*, quick$"):
        registry.find("gone")


@pytest.mark.exhaustive
def test_an_experiment_uses_solvers_of_an_installed_plug_in(installed, tmp_path):
    (tmp_path / "plugged.yaml").write_text(EXPERIMENT)
    result = subprocess.run(
        [Path(sys.executable).with_name("dualgap"), "run", "plugged.yaml", "--out", "runs"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("is ignored") == 1  # nobody has asked for the other two
    results = load_results(tmp_path / "runs")
    assert set(results["solver"]) == {"quick", "cvxopt_qp"}
    assert (results["verdict"] == "solved").all()
    assert json.loads(results["versions"][0])["helpful-solvers"] == "1.2"
    # imported anew for each run, in copies of a process that has none of its code
    (log,) = (tmp_path / "runs").glob("sessions/*/runs.jsonl")
    lines = log.read_text().splitlines()
    assert all("helpful is imported" in json.loads(line)["output"] for line in lines)
