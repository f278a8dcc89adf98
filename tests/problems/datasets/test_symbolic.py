"""Drawn sets, strings, graphs and sequences: their structure is there, and kernels find it."""

import numpy as np
import pytest

from dualgap.problems import (
    SetIntersection,
    SoftMarginDual,
    Spectrum,
    SVRDual,
    WeisfeilerLehman,
    datasets,
)
from dualgap.solvers import SMO, CvxoptQP, ProjectedGradient, solve

DATA = {
    "set_intersection": ("planted_sets", SetIntersection(normalize=True)),
    "spectrum": ("motif_strings", Spectrum(3)),
    "weisfeiler_lehman": ("graph_families", WeisfeilerLehman(2, normalize=True)),
}


@pytest.mark.parametrize(("name", "kernel"), DATA.values(), ids=DATA)
def test_solvers_agree_on_generated_symbolic_data_and_predict(name, kernel):
    data = datasets.load(name, n=90, test_size=1 / 3)
    problem = SoftMarginDual(data.X, data.y, 1.0, kernel)
    solvers = (SMO(tol=1e-8), ProjectedGradient(tol=1e-7), CvxoptQP())
    solutions = [solve(problem, solver, time_limit=20.0) for solver in solvers]
    assert {s.verdict for s in solutions} == {"solved"}
    predicted = solutions[0].decision_function(data.X_test)
    assert np.mean(predicted * data.y_test > 0) > 0.6
    regression = SVRDual(data.X, data.y, 1.0, 0.1, kernel)
    assert solve(regression, SMO(tol=1e-8)).verdict == "solved"


@pytest.mark.parametrize("name", [name for name, _ in DATA.values()])
def test_symbolic_data_are_balanced(name):
    assert abs(datasets.load(name, n=31).y.sum()) == 1


def test_positive_samples_contain_the_planted_structure():
    strings = datasets.load("motif_strings", n=200, mutation=0.0, motif=8, alphabet=4)
    K = Spectrum(8)(strings.X[strings.y > 0], strings.X[strings.y > 0])
    assert (K > 0).all()  # all have the motif in common
    rings = datasets.load("graph_families", n=40, rewiring=0.0)
    counts = WeisfeilerLehman(1).features(rings.X[rings.y > 0])
    assert (counts > 0).sum() == 2 * 20  # one label, then one degree
    sets = datasets.load("planted_sets", n=2000, density=0.2, planted=3, d=8)
    shares = sets.X[sets.y > 0].mean(axis=0)
    np.testing.assert_allclose(shares, [0.7] * 3 + [0.2] * 5, atol=0.06)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: datasets.make("planted_sets", d=3, planted=4), "planted: must be at most d = 3"),
        (
            lambda: datasets.make("motif_strings", length=10),
            "motif: must be at most half of length",
        ),
        (
            lambda: datasets.make("graph_families", neighbours=3),
            "neighbours: must be even and below",
        ),
    ],
)
def test_a_structure_larger_than_its_sample_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_sequences_have_full_length_and_correlated_labels():
    data = datasets.load("hidden_markov", n=200, length=10, labels=3, noise=0.1, seed=0)
    assert data.n == 2000
    assert set(data.y) == {0.0, 1.0, 2.0}
    y = data.y.astype(int).reshape(200, 10)
    counts = np.zeros((3, 3))
    np.add.at(counts, (y[:, :-1].ravel(), y[:, 1:].ravel()), 1)
    assert (counts.max(axis=1) > 0.5 * counts.sum(axis=1)).any()


@pytest.mark.parametrize("option", [{"limit": 5}, {"test_size": 0.5}, {"folds": 2, "fold": 0}])
def test_options_that_would_split_sequences_are_refused(option):
    with pytest.raises(ValueError, match="would split sequences"):
        datasets.load("hidden_markov", **option)
