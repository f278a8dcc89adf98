"""Regions that votes leave ambiguous: from an experiment file to the numbers in its figure."""

import numpy as np
import pytest
from tests.experiments.functions import posing, run_case
from tests.experiments.plots.conftest import drawn
from tests.experiments.rows import recorded

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.plots import plot_runs
from dualgap.experiments.plots.figures.regions.voting_regions import (
    answers_by_problem,
    voting_regions,
)
from dualgap.experiments.store.reading import RunFolder, load_results

TEXT = posing(
    formulation="[one_vs_rest, one_vs_one]",
    dataset="{name: blobs, n: 45, multiclass: true, test_size: 0.2}",
    kernel="[linear, {name: rbf, gamma: 0.5}]",
    **{"voting": "[majority, soccer]", "solvers": "[{name: smo, tol: 1e-6}]"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of results as the runner leaves it."""
    path = tmp_path_factory.mktemp("voting")
    (path / "regions.yaml").write_text(TEXT)
    outcomes = list(map(run_case, plan(read_experiment(path / "regions.yaml"))))
    return recorded(path / "results", outcomes, TEXT)


def test_every_part_is_solved_and_classes_are_predicted(folder):
    table = load_results(folder)
    assert len(table) == 8
    assert set(table["verdict"]) == {"solved"}
    assert (table[["train_accuracy", "test_accuracy"]] > 0.8).all().all()
    assert table["margin"].isna().all()
    assert table["family_hash"].nunique() == 4  # two strategies, two kernels


def test_the_figure_has_a_panel_for_each_strategy_and_rule(folder):
    model = {name: RunFolder(folder).model(name) for name in load_results(folder)["run_id"]}
    runs = drawn(load_results(folder), RunFolder(folder).traces, model.get)
    groups = answers_by_problem(runs)
    assert len(groups) == 2
    assert not any("one_vs" in title or "voting" in title for title in groups)
    for title, answers in groups.items():
        assert [run["formulation"] for run, _ in answers] == ["one_vs_rest", "one_vs_one"]
        new = voting_regions(title, answers)
        titles = [ax.get_title() for ax in new.axes]
        rules = ("majority", "soccer", "margin")
        expected = [f"{name}, {rule}" for name in ("one-vs-rest", "one-vs-one") for rule in rules]
        assert [text.splitlines()[0] for text in titles] == expected
        shares = np.array([float(text.split(":")[1].split()[0]) for text in titles])
        assert (shares[[0, 1, 4]] > 1).all()  # several claim a sample, or draws
        assert (shares[[2, 5]] == 0).all()  # margins are never tied


@pytest.mark.exhaustive
def test_multiclass_runs_are_drawn_as_voting_regions(folder, tmp_path):
    table = load_results(folder)
    table = table[table["problem_id"].str.contains("linear.*majority")]
    runs = drawn(table, RunFolder(folder).traces, RunFolder(folder).model)
    names = {path.stem.split("-")[0] for path in plot_runs(runs, tmp_path)}
    assert "voting_regions" in names
    assert not names & {"decision_regions", "training"}
