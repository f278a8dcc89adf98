"""Every kernel, symbolic data set and feature map is named in an experiment file, and recorded."""

import json

import pytest
from tests.experiments.functions import posing, run_case

from dualgap.experiments.files.specs import build_kernel
from dualgap.problems.kernels import KERNELS

MOONS = "{name: two_moons, n: 60, test_size: 0.25}"
SETS, STRINGS, GRAPHS = (
    f"{{name: {name}, n: 60, test_size: 0.25}}"
    for name in ("planted_sets", "motif_strings", "graph_families")
)
NAMED = {
    "linear": (MOONS, "linear"),
    "polynomial": (MOONS, "{name: polynomial, degree: 3}"),
    "rbf": (MOONS, "{name: rbf, gamma: 1}"),
    "sum": (MOONS, "{name: sum, left: linear, right: {name: rbf, gamma: 1}}"),
    "product": (MOONS, "{name: product, left: linear, right: {name: rbf, gamma: 1}}"),
    "scaled": (MOONS, "{name: scaled, kernel: linear, factor: 2}"),
    "exponential": (MOONS, "{name: exponential, kernel: linear}"),
    "polynomial_of": (MOONS, "{name: polynomial_of, kernel: linear, coefficients: [[1, 0, 2]]}"),
    "subset": (MOONS, "{name: subset, kernel: {name: rbf, gamma: 1}, features: [[1]]}"),
    "quadratic_form": (MOONS, "{name: quadratic_form, matrix: [[[2, 1], [1, 2]]]}"),
    "fisher": (MOONS, "{name: fisher, components: 3}"),
    "set_intersection": (SETS, "{name: set_intersection, normalize: true}"),
    "spectrum": (STRINGS, "{name: spectrum, k: 3}"),
    "weisfeiler_lehman": (GRAPHS, "{name: weisfeiler_lehman, iterations: 2}"),
}


def _posing(dataset, kernel, solver="{name: smo, tol: 1e-8}"):
    return posing(dataset=dataset, kernel=kernel, C=1, solvers=[solver])


@pytest.mark.parametrize("name", NAMED)
def test_a_kernel_is_named_built_solved_and_recorded(planned, name):
    (case,) = planned(_posing(*NAMED[name]))
    record = run_case(case).record
    assert record["verdict"] == "solved", record["reason"]
    assert record["kernel"].startswith(name)
    assert record["test_accuracy"] > 0.5
    plain = case.problem.parameters["kernel"]
    assert json.loads(json.dumps(plain)) == plain  # numbers, text, lists and dicts only
    assert build_kernel(plain, ".").name == name


def test_every_kernel_but_sigmoid_and_precomputed_is_tested():
    assert set(KERNELS) - set(NAMED) == {"sigmoid", "precomputed"}


def test_a_list_of_lists_is_one_value_and_a_list_of_settings_a_grid(planned):
    kernel = "{name: subset, kernel: linear, features: [[0], [0, 1]]}"
    cases = planned(_posing(MOONS, kernel))
    chosen = [case.problem.parameters["kernel"]["features"] for case in cases]
    assert chosen == [[0], [0, 1]]


@pytest.mark.parametrize("solver", ["nystroem", "random_fourier"])
def test_the_error_of_a_feature_map_is_in_the_record(planned, solver):
    settings = f"{{name: {solver}, components: 20}}"
    (case,) = planned(_posing(MOONS, "{name: rbf, gamma: 1}", settings))
    record = run_case(case).record
    assert record["claimed"] == "stopped"
    assert "|K - ZZ'|" in record["reason"]
    assert record["relative_gap"] < 1


@pytest.mark.parametrize(
    ("dataset", "kernel", "words"),
    [
        (MOONS, "{name: spectrum, k: 2}", "rows of letter numbers"),
        (MOONS, "set_intersection", "rows of zeros and ones"),
        (MOONS, "weisfeiler_lehman", "rows of graphs have"),
        (MOONS, "{name: subset, kernel: linear, features: [[2]]}", "column 2 does not exist"),
        ("{name: planted_sets, standardize: true}", "set_intersection", "leave standardize out"),
    ],
)
def test_samples_unsuitable_for_a_kernel_fail_only_their_row(planned, dataset, kernel, words):
    (case,) = planned(_posing(dataset, kernel))
    record = run_case(case).record
    assert record["status"] in ("crashed", "unsupported")
    assert words in record["reason"]
