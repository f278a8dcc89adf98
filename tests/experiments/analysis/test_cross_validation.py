"""Losses and folds in experiment files, and what is made of their runs."""

import numpy as np
import pandas as pd
import pytest

from experiments.analysis.cross_validation import mean_scores
from experiments.analysis.labels import without_fold
from experiments.cases.case import run_case
from experiments.cases.plan import plan
from experiments.files.experiment import ConfigError, find_experiments, read_experiment
from experiments.plots.figures.cross_validation import cross_validation, to_markdown, validated
from experiments.plots.runs import gather
from experiments.plots.style import style

RISK = """\
name: risks
problems:
  - formulation: {formulation}
    dataset: {{{dataset}}}
    lam: 0.1
    {loss}
solvers: [{solver}]
"""


def outcome(write, **parts):
    experiment = read_experiment(write(RISK.format(**{"loss": "", "solver": "lbfgs"} | parts)))
    return [run_case(case).record for case in plan(experiment)]


def test_a_loss_is_a_name_or_a_mapping(write):
    records = outcome(
        write,
        formulation="regularized_erm",
        dataset="name: diabetes, limit: 60, standardize: true, test_size: 0.5",
        loss="loss: [squared, {name: squared_epsilon_insensitive, epsilon: 2}]",
    )
    assert [record["verdict"] for record in records] == ["solved"] * 2
    assert [record["problem_id"] for record in records] == [
        "diabetes regularized_erm linear squared lam=0.1",
        "diabetes regularized_erm linear squared_epsilon_insensitive(epsilon=2) lam=0.1",
    ]
    assert len({record["family_hash"] for record in records}) == 2
    assert all(record["margin"] is None for record in records)


def test_softmax_runs_are_recorded_like_others(write):
    (record,) = outcome(
        write,
        formulation="softmax_erm",
        dataset="name: wine, standardize: true, multiclass: true, test_size: 0.3",
    )
    assert record["verdict"] == "solved"
    assert record["test_accuracy"] > 0.9
    assert record["n_support"] > 0
    assert record["margin"] is None


def test_a_perceptrons_row_says_that_it_is_degenerate(write):
    (record,) = outcome(
        write,
        formulation="regularized_erm",
        dataset="name: two_moons, n: 40",
        loss="loss: perceptron",
        solver="sdca",
    )
    assert record["verdict"] == "solved"
    assert "w = 0 is optimal" in record["reason"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"loss": "loss: logistik"}, "did you mean 'logistic'"),
        ({"loss": "loss: epsilon_insensitive"}, "needs the setting 'epsilon'"),
        ({"loss": "loss: {name: epsilon_insensitive, epsilon: -1}"}, "epsilon: must be"),
        ({"dataset": "name: diabetes"}, "needs labels"),
        ({"dataset": "name: two_moons, folds: 3, fold: 3"}, "fold: must be below"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(write, parts, message):
    usual = {"formulation": "regularized_erm", "dataset": "name: two_moons", "loss": ""}
    text = RISK.format(**usual | {"solver": "lbfgs"} | parts)
    with pytest.raises(ConfigError, match=message):
        read_experiment(write(text))


def test_new_options_leave_the_ids_of_older_runs_alone(write):
    text = RISK.format(
        formulation="hinge_erm", dataset="name: two_moons", loss="", solver="pegasos"
    )
    (problem,) = read_experiment(write(text)).problems
    assert not {"folds", "fold", "multiclass"} & set(problem.dataset)


@pytest.mark.parametrize("name", ["erm_zoo", "cross_validation"])
def test_the_experiments_are_valid(name):
    experiment = read_experiment(find_experiments(name)[0])
    assert plan(experiment)


def results():
    """Two values of C on three folds, and a third that one fold did not solve."""
    scores = {0.1: [0.5, 0.6, 0.7], 1.0: [0.7, 0.8, 0.9], 10.0: [1.0, 1.0, 1.0]}
    rows = [
        {
            "run_id": f"{C}-{fold}",
            "problem_id": f"moons(fold={fold}, noise=0.1) soft_margin_dual rbf(gamma=1) C={C:g}",
            "dataset": "moons",
            "formulation": "soft_margin_dual",
            "solver": "smo",
            "params": "{}",
            "kernel": "rbf(gamma=1)",
            "C": C,
            "epsilon": np.nan,
            "lam": np.nan,
            "verdict": "inaccurate" if C == 10 and fold == 2 else "solved",
            "test_accuracy": score,
        }
        for C, folds in scores.items()
        for fold, score in enumerate(folds)
    ]
    return pd.DataFrame(rows)


def test_the_best_model_is_the_best_of_those_solved_on_every_fold():
    scores = mean_scores(results())
    assert scores["C"].tolist() == [10.0, 1.0, 0.1]
    assert scores["best"].tolist() == [False, True, False]
    assert scores["folds"].tolist() == [2, 3, 3]
    assert scores["mean"].tolist() == pytest.approx([1.0, 0.8, 0.6])
    assert scores["error"].tolist() == pytest.approx([0.0, 0.1 / 3**0.5, 0.1 / 3**0.5])


def test_the_table_shows_the_best_in_bold():
    lines = [line for line in to_markdown(mean_scores(results())).splitlines() if "**" in line]
    assert len(lines) == 1
    assert "C=1**" in lines[0]
    assert "0.8000 ± 0.0577" in lines[0]


def test_a_folds_number_is_left_out_of_a_name():
    assert without_fold("a(fold=3) b") == "a b"
    assert without_fold("a(seed=1, fold=3) b") == "a(seed=1) b"
    assert without_fold("a(fold=3, n=5) b fold") == "a(n=5) b fold"


def test_runs_without_folds_have_no_means():
    table = results().assign(problem_id="moons soft_margin_dual")
    assert mean_scores(table).empty
    assert validated(gather(table, pd.DataFrame())).empty


def test_the_figure_rings_the_best_model():
    with style():
        figure = cross_validation(validated(gather(results(), pd.DataFrame())))
    (ax,) = figure.axes
    ring = ax.lines[-1]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (1.0, pytest.approx(0.8))
    assert ax.get_xlabel() == "C"
