"""Labelled sequences of a hidden Markov model."""

import numpy as np
import pytest

from problems import datasets


def test_sequences_are_whole_and_their_labels_follow_each_other():
    data = datasets.load("hidden_markov", n=200, length=10, labels=3, noise=0.1, seed=0)
    assert data.n == 2000
    assert set(data.y) == {0.0, 1.0, 2.0}
    y = data.y.astype(int).reshape(200, 10)
    counts = np.zeros((3, 3))
    np.add.at(counts, (y[:, :-1].ravel(), y[:, 1:].ravel()), 1)
    assert (counts.max(axis=1) > 0.5 * counts.sum(axis=1)).any()


@pytest.mark.parametrize("option", [{"limit": 5}, {"test_size": 0.5}, {"folds": 2, "fold": 0}])
def test_sequences_are_not_torn_apart(option):
    with pytest.raises(ValueError, match="would split sequences"):
        datasets.load("hidden_markov", **option)
