"""Names of problems, made from their specifications."""

import pandas as pd
import pytest
from tests.experiments.rows import problem_spec, run

from dualgap.experiments.analysis.labels import words_of
from dualgap.experiments.records.choices import common_words, distinct_names
from dualgap.experiments.records.names import problem_names, problem_words


def test_names_omit_the_words_common_to_all_problems():
    specs = [("a9a", "rbf", 1), ("w8a", "rbf", 2)]
    words = problem_words(
        problem_spec(name, params={"kernel": {"name": kernel, "gamma": gamma}, "C": 1.0})
        for name, kernel, gamma in specs
    )
    assert distinct_names(words) == ["a9a rbf(gamma=1)", "w8a rbf(gamma=2)"]
    assert common_words(words) == ["soft_margin_dual", "C=1"]
    assert distinct_names(words[:1]) == ["a9a soft_margin_dual rbf(gamma=1) C=1"]


@pytest.mark.parametrize(
    ("formulation", "default"), [("soft_margin_dual", True), ("hinge_erm", False)]
)
def test_an_intercept_is_named_unless_it_is_the_default_of_the_formulation(formulation, default):
    for intercept in (False, True):
        (name,) = problem_names([problem_spec("a", formulation, params={"intercept": intercept})])
        assert ("intercept=" in name) == (intercept != default)


def test_varying_options_of_a_data_set_are_named_unless_excluded():
    problems = [problem_spec(fold=fold, n=9, seed=seed) for fold, seed in ((0, 1), (1, 1), (0, 2))]
    assert [words[0] for words in problem_words(problems)] == [
        "moons(fold=0, seed=1)",
        "moons(fold=1, seed=1)",
        "moons(fold=0, seed=2)",
    ]
    assert [words[0] for words in problem_words(problems, {"fold"})] == [
        "moons(seed=1)",
        "moons(seed=1)",
        "moons(seed=2)",
    ]


def test_a_problem_without_a_specification_is_named_by_its_id():
    results = pd.DataFrame([run("an id"), run(problem_spec("a"))])
    assert words_of(results) == {
        "an id": ("an id",),
        "a soft_margin_dual": ("a", "soft_margin_dual"),
    }
