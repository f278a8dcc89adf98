"""Mean scores over the folds, and against a parameter."""

import pandas as pd
from tests.experiments.rows import problem_spec, results_from, results_of_folds, run

from dualgap.experiments.analysis.cross_validation import mean_scores
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots.figures.cross_validation import CrossValidation
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import style


def test_repetitions_do_not_count_as_folds():
    once = results_of_folds()
    twice = pd.concat([once, once.assign(repetition=1)], ignore_index=True)
    pd.testing.assert_frame_equal(mean_scores(Results(once).runs), mean_scores(Results(twice).runs))


def test_runs_without_folds_have_no_means():
    assert mean_scores(Results(results_of_folds(folds=1)).runs).empty


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


def test_a_single_fold_has_no_standard_error():
    results = results_of_folds()
    scored = results["verdict"].where(results["run_id"].str.endswith("-0"), "inaccurate")
    runs = Runs(Results(results.assign(verdict=scored)).runs, pd.DataFrame())
    with style():
        (_, _), (_, text) = CrossValidation().draw(runs)
    assert "0.5000 " in text
    assert "nan" not in text
