"""Mean scores against a parameter."""

import pytest

from experiments.plots.figures.cross_validation import CrossValidation
from tests.experiments.plots.conftest import drawn
from tests.experiments.rows import results_of_folds


def test_the_table_shows_the_best_in_bold():
    _, (_, text) = CrossValidation().draw(drawn(results_of_folds()))
    lines = [line for line in text.splitlines() if "**" in line]
    assert len(lines) == 1
    assert "C=1**" in lines[0]
    assert "0.8000 ± 0.0577" in lines[0]


def test_the_figure_rings_the_best_model():
    (_, figure), _ = CrossValidation().draw(drawn(results_of_folds()))
    (ax,) = figure.axes
    ring = ax.lines[-1]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (1.0, pytest.approx(0.8))
    assert ax.get_xlabel() == "C"
    assert not list(CrossValidation().draw(drawn(results_of_folds(folds=1))))
