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


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (f"{SOFT}, path: {{C: 3}}", "C: must be a list or null, got 3"),
        (f"{SOFT}, path: {{C: [3]}}", "C: must be a list"),
        (f"{SOFT}, path: {{C: [3, 1]}}", "C: must be an interval .low, high. above 0"),
        (f"{SOFT}, path: {{C: [1, 3], gap: 2}}", "gap: must be between 0 and 1"),
        (f"{SOFT}, path: {{lam: [1, 3]}}", "unknown setting 'lam'"),
        (f"{SOFT}, path: {{c: [1, 3]}}", "unknown setting 'c'"),
        (f"{SOFT}, path: {{gap: 0.1}}", "give the interval of one of them"),
        (f"{SOFT}, path: C", "path: must be a mapping such as {C: .0.01, 100.}, got 'C'"),
        (f"{SOFT}, C: 1, path: {{C: [1, 3]}}", "C: is what the path follows; leave it out here"),
        (
            "formulation: one_vs_rest, dataset: wine, path: {C: [1, 3]}",
            "a path is of one function",
        ),
    ],
)
def test_what_is_no_path_is_refused_with_its_line(write, problem, message):
    with pytest.raises(ConfigError, match=f"yaml:3: .*{message}"):
        read(write, problem)


def test_a_path_is_neither_proven_nor_one_problem(write):
    text = TEXT.replace("PROBLEM", f"{SOFT}, path: {{C: [0.1, 10]}}")
    with pytest.raises(ConfigError, match="yaml:5: target: the bounds of a path"):
        read_experiment(write(text + "target: proven\n"))
    with pytest.raises(ConfigError, match="poses a path"):
        read_problem(write(text))
