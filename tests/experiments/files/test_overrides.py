"""What the command line changes in an experiment file is checked like the file, and kept in it."""

import pytest
from tests.experiments.functions import posing

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import ConfigError, read_experiment

KERNEL = "{name: rbf, gamma: 0.1}"
SOLVERS = "[smo, {name: cvxopt_qp, label: ip}]"
TEXT = "# A question.\n" + posing(kernel=KERNEL, C=1, solvers=SOLVERS, time_limit=7)


def changed(write, *options):
    return read_experiment(write(TEXT), [tuple(option.split(" ", 1)) for option in options])


def test_a_key_without_a_path_changes_every_entry_that_has_it(write):
    experiment = changed(write, "--set C=1,10", "--set kernel.gamma=[0.5, 1e-3]")
    values = [(p.parameters["C"], p.parameters["kernel"]["gamma"]) for p in experiment.problems]
    assert sorted(values) == [(1, 1e-3), (1, 0.5), (10, 1e-3), (10, 0.5)]


def test_a_path_indexes_lists_and_a_bare_name_accepts_settings(write):
    experiment = changed(write, "--set solvers.0.tol=1e-9", "--set problems.0.dataset.n=30")
    assert experiment.solvers[0].settings["tol"] == 1e-9
    assert experiment.problems[0].dataset["n"] == 30


def test_solvers_are_selected_by_name_or_label_and_problems_by_an_expression(write):
    options = ["--set C=1,10", "--solver ip", "--problem C=10$"]
    experiment = changed(write, *options)
    assert [s.label for s in experiment.solvers] == ["ip"]
    assert [p.parameters["C"] for p in experiment.problems] == [10]
    assert experiment.options == tuple(options)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("four_gaussians / soft_margin_dual / rbf(gamma=0.1) C=1", [1]),
        ("four_gaussians<br>soft_margin_dual<br>rbf(gamma=0.1) C=10.0", [10]),
        ("four_gaussians C=1e1", [10]),  # without the words that all share
        ("rbf", [1, 10]),
        (r"C=1\d$", [10]),
    ],
)
def test_a_problem_is_selected_by_its_printed_name_else_by_an_expression(write, text, index):
    experiment = changed(write, "--set C=1,10", f"--problem {text}")
    assert [p.parameters["C"] for p in experiment.problems] == index


VARIANTS = (
    "[{name: smo, tol: [1e-3, 1e-6]}, {name: projected_gradient, variant: [accelerated, plain]}]"
)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("smo", [0, 1]),
        ("smo (tol=0.001)", [0]),
        ("smo (tol 1e-6)", [1]),
        ("projected_gradient (accelerated)", [2]),
    ],
)
def test_a_solver_is_selected_by_what_tables_print_or_by_its_bare_name(write, text, index):
    file = write(posing(C=1, solvers=VARIANTS))
    every, chosen = read_experiment(file), read_experiment(file, [("--solver", text)])
    assert chosen.solvers == [every.solvers[i] for i in index]


def test_an_overridden_experiment_keeps_its_plan_and_comment_when_stored(write):
    experiment = changed(write, "--set C=1,1e-6", "--set time_limit=1h30m", "--solver smo")
    assert experiment.time_limit == 5400
    again = read_experiment(write(experiment.text, "again.yaml"))
    assert [c.run_id for c in plan(again)] == [c.run_id for c in plan(experiment)]
    first, second, *_ = experiment.text.splitlines()
    assert (first, second) == ("# A question.", "# changed on the command line by --set C=1,1e-6")


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("--set tol=3", "'tol' is not a key of the file or of any entry of problems or solvers"),
        ("--set C", "must be KEY=VALUE"),
        ("--set C=", "needs a value"),
        ("--set C=[", "is not YAML"),
        ("--set C=-1", "C: must be"),
        ("--set problems.3.C=1", "'3': must be a list index from 0 to 0"),
        ("--set problems.0.x.y=1", "'x' does not exist"),
        ("--set problems.0.C.d=1", "'d': 1 has no settings"),
        ("--set kernel.gama=1", "did you mean 'gamma'?"),
        ("--set time_limit=5x", "time_limit: must be a duration such as 90s, 10m, 1h30m or 2d"),
        ("--set seed=1,2", "seed: must be one value"),
        ("--solver cvxopt", "'cvxopt' selects nothing; available, closest first: 'cvxopt_qp', "),
        ("--problem (", "only_problems: '(' is neither a name nor a valid regular expression"),
        ("--problem nix", "'nix' selects nothing; available, closest first: 'four_gaussians"),
    ],
)
def test_an_invalid_override_names_its_option(write, option, error):
    with pytest.raises(ConfigError) as refused:
        changed(write, option)
    assert str(refused.value).startswith(f"{option}: ")
    assert error in str(refused.value)
