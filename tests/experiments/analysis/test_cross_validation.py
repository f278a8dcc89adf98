"""Mean scores over the folds."""

import pytest

from experiments.analysis.cross_validation import mean_scores
from tests.experiments.rows import results_of_folds


def test_the_best_model_is_the_best_of_those_solved_on_every_fold():
    scores = mean_scores(results_of_folds())
    assert scores["C"].tolist() == [10.0, 1.0, 0.1]
    assert scores["best"].tolist() == [False, True, False]
    assert scores["folds"].tolist() == [2, 3, 3]
    assert scores["mean"].tolist() == pytest.approx([1.0, 0.8, 0.6])
    assert scores["error"].tolist() == pytest.approx([0.0, 0.1 / 3**0.5, 0.1 / 3**0.5])


def test_runs_without_folds_have_no_means():
    assert mean_scores(results_of_folds(folds=1)).empty
