"""Feature maps: their error falls with components, and answers are certified on the exact problem."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem as ScikitNystroem

from dualgap.problems import (
    RBF,
    Gram,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    Spectrum,
    SVRDual,
    datasets,
)
from dualgap.solvers import (
    Nystroem,
    RandomFourier,
    solve,
)

MOONS = datasets.load("two_moons", n=160, seed=2)
GAMMA = 2.0
EXACT = SoftMarginDual(MOONS.X, MOONS.y, 1.0, RBF(GAMMA))
STRINGS = datasets.load("motif_strings", n=80)
SOLVERS = {
    "nystroem": Nystroem,
    "random_fourier": RandomFourier,
}


def test_random_fourier_features_approach_the_kernel_with_the_root_of_their_number():
    X, rng = MOONS.X[:50], np.random.default_rng(0)
    K, errors = RBF(GAMMA)(X, X), []
    for components in (50, 200, 800, 3200):
        squares = []
        for _ in range(10):
            Z = RandomFourier(components=components).features(Gram(X, RBF(GAMMA)), rng)
            np.testing.assert_allclose((Z**2).sum(axis=1), 1.0)  # sin² + cos²
            squares.append(np.mean((Z @ Z.T - K) ** 2))
        assert Z.shape == (50, components)
        errors.append(np.sqrt(np.mean(squares)))
    slope = np.log(errors[-1] / errors[0]) / np.log(3200 / 50)
    assert -0.6 < slope < -0.4
    assert (np.diff(errors) < 0).all()


def test_nystroem_features_converge_to_the_kernel_from_below():
    gram = Gram(MOONS.X, RBF(GAMMA))
    K, errors = gram.dense(), []
    for components in (5, 10, 20, 40, 160):
        Z = Nystroem(components=components).features(gram, np.random.default_rng(0))
        residual = K - Z @ Z.T
        assert np.linalg.eigvalsh(residual)[0] >= -1e-8  # it approaches from below
        errors.append(float(np.abs(residual).max()))
    assert (np.diff(errors) < 0).all()
    assert errors[0] > 0.1
    assert errors[-1] < 1e-7


def test_nystroem_features_are_those_of_scikit_learn_up_to_a_rotation():
    gram = Gram(MOONS.X, RBF(GAMMA))
    fitted = ScikitNystroem(gamma=GAMMA, n_components=15, random_state=0).fit(MOONS.X)
    rng = np.random.default_rng(0)
    drawn = np.random.default_rng(0).permutation(160)[:15]
    fitted.components_, fitted.normalization_ = _normalisation(MOONS.X[np.sort(drawn)])
    theirs, ours = fitted.transform(MOONS.X), Nystroem(components=15).features(gram, rng)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-7)


def _normalisation(landmarks):
    U, s, V = np.linalg.svd(RBF(GAMMA)(landmarks, landmarks))
    return landmarks, (U / np.sqrt(s)) @ V


@pytest.mark.parametrize(
    ("X", "kernel"),
    [
        (MOONS.X @ MOONS.X.T, Precomputed()),
        (sp.csr_array(np.maximum(MOONS.X, 0)), Polynomial(3)),
        (STRINGS.X, Spectrum(2)),
        (MOONS.X, Polynomial(2)),
        (np.zeros((9, 2)), Linear()),
    ],
    ids=["precomputed", "sparse", "strings", "polynomial", "zero"],
)
def test_nystroem_is_exact_for_any_kernel_with_landmarks_of_full_rank(X, kernel):
    gram = Gram(X, kernel)
    Z = Nystroem(components=60).features(gram, np.random.default_rng(0))
    np.testing.assert_allclose(Z @ Z.T, gram.dense(), atol=1e-8 * max(1.0, gram.dense().max()))


@pytest.mark.parametrize("name", SOLVERS)
def test_the_exact_gap_closes_as_components_grow(name):
    gaps = []
    for components in (4, 40, 160):
        solver = SOLVERS[name](components=components, tol=1e-6)
        solution = solve(EXACT, solver, time_limit=20.0)
        assert solution.claimed == "stopped"
        assert solution.verdict in ("solved", "inaccurate")
        assert solution.certificate.primal_residual < 1e-9
        gaps.append(solution.certificate.relative_gap)
    assert gaps[0] > 1.5 * gaps[1]
    assert gaps[2] < gaps[1]
    assert gaps[2] < (0.5 if "fourier" in name else 0.05)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_record_has_the_measured_error(name):
    solver = SOLVERS[name](components=20, seed=3)
    solution = solve(EXACT, solver, time_limit=20.0)
    counters = solution.counters
    assert 0 < counters["kernel_error_mean"] < counters["kernel_error_max"] < 2
    assert "features: |K - ZZ'| is" in solution.reason
    assert f"{counters['kernel_error_max']:.2g}" in solution.reason
    again = solve(EXACT, solver, time_limit=20.0)
    assert again.counters == counters


def test_the_measured_error_is_that_of_the_pairs_drawn():
    part = SoftMarginDual(
        MOONS.X[:40], MOONS.y[:40], 1.0, RBF(GAMMA)
    )  # so that all pairs are drawn
    solver, gram = RandomFourier(components=30, seed=1), part.samples.gram()
    Z = solver.features(gram, np.random.default_rng(1))
    true = np.abs(gram.dense() - Z @ Z.T)
    counters = solve(part, solver).counters
    assert counters["kernel_error_max"] == pytest.approx(true.max())
    assert counters["kernel_error_mean"] == pytest.approx(true.mean())


@pytest.mark.parametrize("make", [Nystroem, RandomFourier])
def test_regression_and_unequal_weights_are_supported(make):
    data = datasets.load("friedman", n=150, d=5)
    C = np.linspace(0.5, 2.0, 150)
    problem = SVRDual(data.X, data.y, C, 0.5, RBF(0.3))
    coarse, fine = (solve(problem, make(components=m)).certificate for m in (4, 400))
    assert fine.relative_gap < 0.05 < coarse.relative_gap


def test_an_indefinite_kernel_is_approximated_but_never_certified():
    solution = solve(SoftMarginDual(MOONS.X, MOONS.y, 1.0, Sigmoid(1.0, -1.0)), Nystroem())
    assert solution.verdict == "uncertified"
    assert "kernel is indefinite" in solution.reason
