"""Mean scores over the folds, and against a parameter."""

import pandas as pd
import pytest
from tests.experiments.plots.conftest import drawn
from tests.experiments.rows import problem_spec, results_from, results_of_folds, run

from dualgap.experiments.analysis.cross_validation import mean_scores
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots.figures.cross_validation import CrossValidation


def test_the_best_model_is_the_best_of_those_solved_on_every_fold():
    scores = mean_scores(Results(results_of_folds()).runs)
    assert scores["C"].tolist() == [10.0, 1.0, 0.1]
    assert scores["best"].tolist() == [False, True, False]
    assert scores["folds"].tolist() == [2, 3, 3]
    assert scores["mean"].tolist() == pytest.approx([1.0, 0.8, 0.6])
    assert scores["error"].tolist() == pytest.approx([0.0, 0.1 / 3**0.5, 0.1 / 3**0.5])


def test_repetitions_do_not_count_as_folds():
    once = results_of_folds()
    twice = pd.concat([once, once.assign(repetition=1)], ignore_index=True)
    pd.testing.assert_frame_equal(mean_scores(Results(once).runs), mean_scores(Results(twice).runs))


def test_runs_without_folds_have_no_means():
    assert mean_scores(Results(results_of_folds(folds=1)).runs).empty


def test_the_table_shows_the_best_in_bold():
    _, (_, table) = CrossValidation().draw(drawn(results_of_folds()))
    (line,) = (line for line in table.splitlines() if "**" in line)
    assert "C=1**" in line
    assert "0.8000 ± 0.0577" in line


def test_the_figure_rings_the_best_model():
    (_, figure), _ = CrossValidation().draw(drawn(results_of_folds()))
    (ax,) = figure.axes
    ring = ax.lines[-1]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (1.0, pytest.approx(0.8))
    assert ax.get_xlabel() == "C"
    assert not list(CrossValidation().draw(drawn(results_of_folds(folds=1))))


def test_folds_of_several_hosts_are_one_cross_validation():
    results = results_of_folds()
    scores = mean_scores(Results(results).runs)
    split = Results(results.assign(host=["ape", "bee", "ape"] * (len(results) // 3)))
    pd.testing.assert_frame_equal(mean_scores(split.runs), scores)
    twice = pd.concat([results.assign(host=host) for host in ("ape", "bee")], ignore_index=True)
    pd.testing.assert_frame_equal(mean_scores(Results(twice).runs), scores)


def folds_of(formulation="soft_margin_dual", /, *, parameters, **options):
    kernel = {"name": "rbf", "gamma": 1.0}
    fields = {"dataset": "iris", "kernel": "rbf(gamma=1)"}
    return [
        run(
            problem_spec(
                "iris", formulation, fold=k, folds=2, params={"kernel": kernel, **extra}, **options
            ),
            **fields,
            C=extra["C"],
            test_accuracy=0.5 + extra["C"] / 10,
        )
        for extra in parameters
        for k in (0, 1)
    ]


def test_other_labels_of_a_data_set_are_a_separate_model_selection():
    rows = [
        row for p in (1, 2) for row in folds_of(positive=p, parameters=[{"C": 1.0}, {"C": 2.0}])
    ]
    scores = mean_scores(results_from(*rows).runs)
    assert scores["best"].sum() == scores["dataset"].nunique() == 2


def test_nu_is_drawn_against_itself():
    rows = folds_of("nu_svc", parameters=[{"nu": nu, "C": 1.0} for nu in (0.1, 0.2)])
    (_, figure), _ = CrossValidation().draw(drawn(pd.DataFrame(rows)))
    assert figure.axes[0].get_xlabel() == "nu"
