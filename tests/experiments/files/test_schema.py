"""The JSON schema says of experiment files what reading them says."""

from dataclasses import fields
from textwrap import dedent
from typing import get_args

import jsonschema
import pytest
from tests.halves import quick_cases

from dualgap.experiments.analysis.labels import kind_of
from dualgap.experiments.files.experiment import CONFIGS, ConfigError, read_experiment
from dualgap.experiments.files.schema import experiment_schema
from dualgap.experiments.files.yaml import parse
from dualgap.solvers import all_solvers
from dualgap.solvers.base import Precision

FILES = sorted(CONFIGS.rglob("*.yaml"))
BENCHMARKS = [file for file in FILES if file.stem.startswith("bench_")]
FRAME = """\
name: small
problems:
  - {problem}
solvers:
  - {solver}
{more}
"""
PROBLEM = "{formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}}"
MOONS = "formulation: soft_margin_dual, dataset: two_moons"
GOOD = {
    "solver": [
        "smo",
        "{name: smo, label: Ours}",
        "{name: smo, slurm: {cpus: 2, mem: 8GiB, time: 90m, partition: long}}",
        "{name: smo, tol: [1e-3, 1e-6]}",
        "{name: [smo, platt_smo], tol: 1e-6}",
    ],
    "problem": [
        "{formulation: [soft_margin_dual, soft_margin_primal], dataset: two_moons, C: [1, 10]}",
        "{formulation: soft_margin_dual, dataset: [two_moons, {name: iris, positive: [0, setosa]}]}",
        f"{{{MOONS}, kernel: [linear, {{name: rbf, gamma: 1}}]}}",
        f"{{{MOONS}, kernel: {{name: sum, left: linear, right: {{name: rbf, gamma: [1, 2]}}}}}}",
        f"{{{MOONS}, kernel: {{name: polynomial_of, kernel: linear, coefficients: [[1, 2], [0, 1]]}}}}",
        "{formulation: regularized_erm, dataset: two_moons, lam: 0.1, loss: [hinge, {name: logistic}]}",
        f"{{{MOONS}, path: {{C: [0.1, 1], gap: [1e-2, 0.1]}}}}",
        "{formulation: hinge_erm, dataset: two_moons, path: {lam: [[0.1, 1], [1, 2]]}}",
    ],
    "more": ["memory_limit: 4GiB", "memory_limit: 4000000", "time_limit: 3\ntarget: proven"],
}
BAD = {
    "solver": [
        "no_such_solver",
        "{name: smo, label: a/b}",
        "{name: smo, slurm: {mem: much}}",
        "{tol: 1e-3}",
        "{name: smo, tolerance: 1e-3}",
        "{name: smo, tol: small}",
        "{name: smo, tol: []}",
        "{name: [smo, pegasos], epochs: 10}",
        "3",
    ],
    "problem": [
        "{formulation: soft_margin, dataset: wine}",
        "{formulation: soft_margin_dual}",
        "{formulation: hinge_erm, dataset: two_moons}",
        f"{{{MOONS}, path: {{C: 3}}}}",
        f"{{{MOONS}, path: {{C: [1, 2], tol: 1}}}}",
        "{formulation: soft_margin_dual, dataset: no_such_set}",
        "{formulation: soft_margin_dual, dataset: {name: wine, n: 7}}",
        f"{{{MOONS}, lam: 1}}",
        f"{{{MOONS}, C: many}}",
        f"{{{MOONS}, kernel: rbf}}",
        f"{{{MOONS}, kernel: {{name: rbf, gamma: yes}}}}",
        f"{{{MOONS}, kernel: {{name: sum, left: linear}}}}",
        f"{{{MOONS}, kernel: {{name: sum, left: linear, right: {{name: rbf, gama: 1}}}}}}",
        "{formulation: hinge_erm, dataset: wine}",
    ],
    "more": [
        *("repetitions: 0", "target_gap: 1", "target: exact", "trace: 1", "memory_limit: much"),
        *("memory_limit: 4", "time: 3", "seed: -1"),
    ],
}


@pytest.fixture(scope="module")
def validator():
    schema = experiment_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def _file(part: str, text: str) -> str:
    parts = {"problem": PROBLEM, "solver": "smo", "more": ""} | {part: text}
    filled = FRAME
    for name, content in parts.items():
        filled = filled.replace(f"{{{name}}}", content)
    return filled


def _cases(samples: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(part, text) for part, texts in samples.items() for text in texts]


@pytest.mark.parametrize("file", quick_cases(FILES, FILES[::4]), ids=lambda file: file.stem)
def test_every_bundled_experiment_satisfies_the_schema(file, validator):
    assert list(validator.iter_errors(parse(file.read_bytes()).value)) == []


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_benchmarks_are_repeated_with_equal_caches_both_precisions_and_searched_tolerances(file):
    content = parse(file.read_bytes()).value
    assert content["repetitions"] >= 3
    assert content["noise"] is True
    solvers = [entry for entry in content["solvers"] if ":" not in entry["name"]]
    classes = [all_solvers()[entry["name"]] for entry in solvers]
    settings = [{field.name for field in fields(cls)} for cls in classes]
    pairs = list(zip(solvers, settings, strict=True))
    caches = [entry.get("cache_size") for entry, names in pairs if "cache_size" in names]
    sizes = [set(v) if isinstance(v, list) else {v} for v in caches]
    assert not sizes or set.intersection(*sizes), "a baseline may be asked with another one too"
    precisions = [entry.get("dtype") for entry, names in pairs if "dtype" in names]
    assert all(set(v or ()) == set(get_args(Precision)) for v in precisions)
    ours = [entry for entry in solvers if kind_of(entry["name"]) == "ours"]
    assert all(not isinstance(entry.get("cache_size"), list) for entry in ours)
    listed = {
        entry["name"] for entry, names in pairs if "tol" in names and "auto" not in entry.values()
    }
    # its gap of 1e-9 is what distances are taken to; quadprog has no tolerance
    assert listed <= {"dual_coordinate_descent", "qpsolvers_qp"}


@pytest.mark.parametrize(("part", "text"), _cases(GOOD))
def test_accepted_files_satisfy_the_schema(part, text, validator, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(_file(part, text))
    read_experiment(path)
    assert list(validator.iter_errors(parse(path.read_bytes()).value)) == []


@pytest.mark.parametrize(("part", "text"), _cases(BAD))
def test_refused_files_violate_the_schema(part, text, validator, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(_file(part, text))
    with pytest.raises(ConfigError):
        read_experiment(path)
    assert not validator.is_valid(parse(path.read_bytes()).value)


def test_a_solver_from_a_file_may_have_any_settings(validator):
    text = _file("solver", "{name: my/solver.py:Mine, anything: [1, two]}")
    assert validator.is_valid(parse(dedent(text).encode()).value)


def test_an_error_names_the_path_and_the_key(validator):
    text = _file("problem", "{formulation: soft_margin_dual, dataset: {name: wine, size: 7}}")
    (error,) = validator.iter_errors(parse(text.encode()).value)
    assert list(error.absolute_path) == ["problems", 0, "dataset"]
    assert "'size' was unexpected" in error.message
