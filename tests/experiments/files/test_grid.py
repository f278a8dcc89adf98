"""The interval of a path is a value, and stands in the place of its parameter."""

import pytest
from tests.experiments.functions import posing

from dualgap.experiments.files.experiment import ConfigError, read_experiment, read_problem


def test_lists_of_intervals_and_gaps_are_axes_and_one_interval_is_not(planned):
    (one,) = planned(posing(path="{C: [0.1, 10]}"))
    assert one.problem.path == {"parameter": "C", "low": 0.1, "high": 10, "gap": 1e-3}
    assert "C" not in one.problem.parameters
    four = planned(posing(path="{C: [[0.1, 1], [1, 10]], gap: [1e-2, 1e-3]}"))
    assert len({case.run_id for case in four}) == len({case.problem_id for case in four}) == 4
    assert four[0].problem_id.endswith("path C=0.1..1 gap=0.01")
    assert {case.target_gap for case in four} == {1e-2, 1e-3}


def test_a_path_is_neither_proven_nor_one_problem(write):
    text = posing(path="{C: [0.1, 10]}")
    with pytest.raises(ConfigError, match="yaml:4: target: the bounds of a path"):
        read_experiment(write(text + "target: proven\n"))
    with pytest.raises(ConfigError, match="has a path"):
        read_problem(write(text))
