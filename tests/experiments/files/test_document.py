"""A refusal shows the line of the file, with marks below the fault, where a terminal prints it."""

import pytest
from tests.experiments.functions import posing

from dualgap.experiments.files.experiment import (
    ConfigError,
    experiment_from_dict,
    read_experiment,
)


def refusal(read, *arguments):
    with pytest.raises(ConfigError) as refused:
        read(*arguments)
    return refused.value


def test_faults_of_one_line_have_one_snippet(write):
    path = write("name: small\nproblems:\n  - {formulation: x, dataset: y}\nsolvers: [smoo, sgt]\n")
    first, _, _, *solvers = refusal(read_experiment, path).lines
    assert first.startswith(f"{path}:3: ")
    assert solvers[2:] == ["  4 | solvers: [smoo, sgt]", "    |           ^^^^  ^^^"]


@pytest.mark.parametrize(
    ("line", "snippet"),
    [
        ("seed: -1  # none", ["  2 | seed: -1  # none", "    | ^^^^^^^^"]),
        ('seed: "日本"', ['  2 | seed: "日本"', "    | ^^^^^^^^^^^^"]),
        ("seed: ]", ["  2 | seed: ]", "    |       ^"]),
        ("seed: [\x1b", []),
    ],
)
def test_carets_mark_the_fault(write, line, snippet):
    _, *snippet_lines = refusal(read_experiment, write(f"name: small\n{line}\n")).lines
    assert [part for part in snippet_lines if part.startswith(("  2 ", "    "))] == snippet


def test_a_long_line_is_cut_around_its_fault_and_fits_a_terminal(write):
    path = write(
        posing(solvers=f"[{{name: smo, label: {'x' * 59}, tol: -1, cache_size: {'9' * 90}}}]")
    )
    snippets = [line for line in refusal(read_experiment, path).lines if line.startswith("  ")]
    assert snippets
    assert max(map(len, snippets)) <= 80
    assert snippets[0][snippets[1].index("^") :].startswith("tol: -1")


def test_an_option_and_a_dict_have_no_lines_to_show(write):
    error = refusal(read_experiment, write(posing(C=1)), [("--set", "C=-1")])
    assert list(error.lines) == str(error).splitlines()
    error = refusal(experiment_from_dict, {"name": "small", "problems": [3], "solvers": ["smo"]})
    assert list(error.lines) == str(error).splitlines()
