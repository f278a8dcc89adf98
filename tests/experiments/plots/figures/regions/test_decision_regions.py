"""Regions in the plane, with every support vector."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.experiments.plots.conftest import drawn, row_of, runs_of, tables

from dualgap.experiments.analysis.results import Results
from dualgap.experiments.plots.figures.regions.decision_regions import (
    decision_regions,
    group_by_appearance,
)
from dualgap.experiments.plots.figures.regions.training import training
from dualgap.experiments.plots.plane import binary_answers, planar
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.store.reading import RunFolder
from dualgap.problems import Geometry, HardMarginDual, Point, SoftMarginDual
from dualgap.solvers import SMO, solve


def test_planar_figures_mark_every_support_vector_with_the_best_answer_first(moons):
    answers = {f"r{i}": solve(moons, SMO(tol=t)) for i, t in enumerate((1e-1, 1e-8))}
    rows = [row_of(s, params=json.dumps({"c": i})) for i, s in enumerate(answers.values())]
    results, traces = tables(rows, {1: [1, 0.1]})
    runs = drawn(results, traces, lambda run_id: answers[run_id].geometry)
    selected = planar(runs, "p")
    assert [row["run_id"] for row, _ in selected] == ["r1", "r0"]
    support = len(answers["r1"].geometry.support)
    axes = decision_regions(selected).axes
    four = training(runs, *selected[0])
    for ax in (axes[0], four.axes[0]):
        scattered = [len(c.get_offsets()) for c in ax.collections if c.get_offsets().size > 2]
        assert sum(scattered) == moons.n + support
    np.testing.assert_allclose(four.axes[1].lines[0].get_ydata(), [0.0, 1.8])
    np.testing.assert_allclose(four.axes[3].lines[0].get_ydata(), [5, 5])
    alpha = np.concatenate([c.get_offsets()[:, 1] for c in four.axes[2].collections])
    np.testing.assert_allclose(np.sort(alpha), np.sort(answers["r1"].alpha))


def test_the_legend_of_a_hard_margin_has_no_bounded_support_vectors(moons):
    for problem, kinds in ((moons, 2), (HardMarginDual(moons.X, moons.y, moons.kernel), 1)):
        row = runs_of([row_of(solve(moons, SMO()))]).table.iloc[0]
        figure = decision_regions([(row, Geometry(problem, Point(np.zeros(moons.n), b=0.0)))])
        texts = [text.get_text() for text in figure.legends[0].get_texts()]
        assert sum("support vector" in text for text in texts) == kinds


def test_a_decision_function_of_one_sign_is_drawn(moons):
    solution = solve(moons, SMO(tol=1e-3))
    answer = Geometry(moons, Point(np.zeros(moons.n), b=1.0))
    assert decision_regions([(runs_of([row_of(solution)]).table.iloc[0], answer)]).axes


def test_visually_equal_answers_are_drawn_in_one_panel_named_by_all(moons):
    answers = {
        name: solve(moons, SMO(tol=tol)) for name, tol in (("one", 1e-8), ("two", 1e-9), ("far", 1))
    }
    runs = [
        runs_of([row_of(answer, solver=name)]).table.iloc[0] for name, answer in answers.items()
    ]
    pairs = [(run, answer.geometry) for run, answer in zip(runs, answers.values(), strict=True)]
    assert [[run["series"] for run, _ in group] for group in group_by_appearance(pairs)] == [
        ["one", "two"],
        ["far"],
    ]
    assert decision_regions(pairs).axes[0].get_title() == "one, two: solved"


TABLE = """\
name: table
problems:
  - formulation: soft_margin_dual
    dataset: {name: table_file, path: plants.csv, target: kind}
    C: 10
solvers: [smo]
"""


@pytest.mark.usefixtures("in_process")
def test_axes_and_classes_have_the_names_of_the_table(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plants.csv").write_text("a_$b$,width,kind\n1,2,no\n2,1,yes\n2,2,yes\n1,1,no\n")
    Path("table.yaml").write_text(TABLE)
    command("run", "table.yaml", "--out", "runs", "--quiet")
    recorded = RunFolder("runs")
    runs = Runs(Results(recorded.results).without_repeats, recorded.traces, recorded.model)
    ((_, answers),) = binary_answers(runs)
    figure = decision_regions(answers)
    assert figure.axes[0].get_xlabel() == r"a_\$b\$"
    assert figure.axes[0].get_ylabel() == "width"
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["no", "yes"]
    frame = pd.read_csv("plants.csv")
    problem = SoftMarginDual(frame[["width", "a_$b$"]], [-1, 1, 1, -1], 1.0)
    assert problem.names.features == ("width", "a_$b$")
