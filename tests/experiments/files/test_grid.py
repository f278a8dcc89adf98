"""The interval of a path is a value, and stands in the place of its parameter."""

import pytest

from experiments.cases.plan import plan
from experiments.files.experiment import ConfigError, read_experiment, read_problem

TEXT = """\
name: paths
problems:
  - {PROBLEM}
solvers: [smo]
"""
SOFT = "formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}"


def read(write, problem):
    return read_experiment(write(TEXT.replace("PROBLEM", problem)))


def test_lists_of_intervals_and_gaps_are_axes_and_one_interval_is_not(write):
    one = read(write, f"{SOFT}, path: {{C: [0.1, 10]}}").problems
    assert [spec.path for spec in one] == [{"parameter": "C", "low": 0.1, "high": 10, "gap": 1e-3}]
    assert "C" not in one[0].parameters
    four = read(write, f"{SOFT}, path: {{C: [[0.1, 1], [1, 10]], gap: [1e-2, 1e-3]}}")
    assert len({case.run_id for case in plan(four)}) == len({c.problem_id for c in plan(four)}) == 4
    assert plan(four)[0].problem_id.endswith("path C=0.1..1 gap=0.01")
    assert {case.target_gap for case in plan(four)} == {1e-2, 1e-3}


def test_a_path_is_neither_proven_nor_one_problem(write):
    text = TEXT.replace("PROBLEM", f"{SOFT}, path: {{C: [0.1, 10]}}")
    with pytest.raises(ConfigError, match="yaml:5: target: the bounds of a path"):
        read_experiment(write(text + "target: proven\n"))
    with pytest.raises(ConfigError, match="poses a path"):
        read_problem(write(text))
