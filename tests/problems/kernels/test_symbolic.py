"""Kernels of sets, strings, graphs and mixtures, against independent implementations."""

from collections import Counter
from math import log

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.mixture import GaussianMixture

from problems import (
    RBF,
    Fisher,
    FittedFisher,
    Gram,
    SetIntersection,
    SoftMarginDual,
    Spectrum,
    Subset,
    SVRDual,
    WeisfeilerLehman,
    datasets,
    encode_graphs,
    encode_sets,
    encode_strings,
)
from solvers import SMO, CvxoptQP, ProjectedGradient, solve

rng = np.random.default_rng(4)
FRUIT = ["apple", "cherry", "fig", "lime", "pear", "plum", "quince"]
SETS = [{f for f in FRUIT if rng.random() < 0.5} for _ in range(25)] + [set(), set(FRUIT)]
STRINGS = ["".join(rng.choice(list("ACGT"), rng.integers(0, 25))) for _ in range(20)] + [
    "",
    "A",
    "AAAAAA",
    "ACGT",
]


def _graphs() -> list:
    drawn = [nx.gnp_random_graph(int(rng.integers(1, 9)), 0.4, seed=s) for s in range(20)]
    drawn += [nx.path_graph(5), nx.cycle_graph(5), nx.star_graph(4), nx.empty_graph(3)]
    for graph in drawn:
        nx.set_node_attributes(graph, {v: int(rng.integers(1, 4)) for v in graph}, "label")
    return drawn


GRAPHS = _graphs()
X_STRINGS, X_GRAPHS, X_SETS = (
    encode_strings(STRINGS),
    encode_graphs(GRAPHS, "label"),
    encode_sets(SETS),
)
SYMBOLIC = {
    "sets": (X_SETS, SetIntersection()),
    "sets, normalised": (X_SETS, SetIntersection(normalize=True)),
    "strings": (X_STRINGS, Spectrum(2)),
    "strings, normalised": (X_STRINGS, Spectrum(3, normalize=True)),
    "graphs": (X_GRAPHS, WeisfeilerLehman(2)),
    "graphs, normalised": (X_GRAPHS, WeisfeilerLehman(1, normalize=True)),
    "product": (X_STRINGS, Spectrum(1) * Spectrum(2, normalize=True)),
}
DATA = {
    "set_intersection": ("planted_sets", SetIntersection(normalize=True)),
    "spectrum": ("motif_strings", Spectrum(3)),
    "weisfeiler_lehman": ("graph_families", WeisfeilerLehman(2, normalize=True)),
}


def test_the_set_kernel_counts_common_subsets():
    expected = [[2 ** len(a & b) for b in SETS] for a in SETS]
    np.testing.assert_array_equal(SetIntersection()(X_SETS, X_SETS), expected)
    dense = X_SETS.toarray()
    np.testing.assert_array_equal(SetIntersection()(dense, dense), expected)


def test_the_set_kernel_is_the_inner_product_over_all_subsets():
    members = X_SETS.toarray().astype(bool)
    masks = (np.arange(2**7)[:, None] >> np.arange(7)) & 1
    phi = (masks[None] <= members[:, None, :]).all(axis=2).astype(float)
    np.testing.assert_array_equal(SetIntersection()(X_SETS, X_SETS), phi @ phi.T)


def test_the_normalised_set_kernel_is_gaussian_and_does_not_overflow():
    kernel = SetIntersection(normalize=True)
    expected = [[2.0 ** (-0.5 * len(a ^ b)) for b in SETS] for a in SETS]
    np.testing.assert_allclose(kernel(X_SETS, X_SETS), expected, rtol=1e-14)
    np.testing.assert_allclose(RBF(log(2) / 2)(X_SETS, X_SETS), expected, rtol=1e-12)
    large = (rng.random((6, 5000)) < 0.5).astype(float)
    assert np.isfinite(kernel(large, large)).all()
    np.testing.assert_array_equal(kernel.diagonal(large), np.ones(6))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 30])
def test_the_spectrum_counts_common_substrings(k):
    counts = [Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in STRINGS]
    expected = [[sum(a[u] * b[u] for u in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(Spectrum(k)(X_STRINGS, X_STRINGS), expected)
    sparse = sp.csr_array(X_STRINGS)
    np.testing.assert_array_equal(Spectrum(k)(sparse[:5], sparse), expected[:5])


@pytest.mark.parametrize("h", [0, 1, 2, 4])
def test_the_weisfeiler_lehman_kernel_counts_common_hashes(h):
    def hashes(graph):
        if h == 0:
            return Counter(
                (0, str(label)) for label in nx.get_node_attributes(graph, "label").values()
            )
        found = nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="label", iterations=h, include_initial_labels=True
        )
        return Counter(
            (depth, name) for names in found.values() for depth, name in enumerate(names)
        )

    counts = [hashes(graph) for graph in GRAPHS]
    expected = [[sum(a[u] * b[u] for u in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(WeisfeilerLehman(h)(X_GRAPHS, X_GRAPHS), expected)


def test_isomorphic_graphs_are_one_point_whatever_the_order_of_their_vertices():
    graph = nx.gnp_random_graph(9, 0.4, seed=3)
    order = rng.permutation(9)
    other = nx.Graph()
    other.add_nodes_from(order.tolist())
    other.add_edges_from((int(order[u]), int(order[v])) for u, v in graph.edges)
    K = WeisfeilerLehman(3)(encode_graphs([graph, other]), encode_graphs([graph, other]))
    assert np.unique(K).size == 1


def test_equal_neighbourhoods_of_unequal_graphs_are_told_apart_by_distance():
    line, ring = nx.path_graph(12), nx.cycle_graph(12)
    X = encode_graphs([line, ring])
    same = [WeisfeilerLehman(h)(X, X) for h in (0, 1)]
    assert same[0][0, 1] == same[0][0, 0] == 144
    assert (
        same[1][0, 1] - same[0][0, 1] == 10 * 12
    )  # inner vertices of the line look like the ring's


@pytest.mark.parametrize(("X", "kernel"), SYMBOLIC.values(), ids=SYMBOLIC)
def test_symbolic_kernels_are_semidefinite_and_consistent(X, kernel):
    K = kernel(X, X)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * values[-1]
    assert kernel.is_psd is True
    kernel.check(X)
    rows, cols = np.array([1, 0, 7]), slice(3, 20)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(
        kernel.block(X, rows, cols), K[rows][:, cols], rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(kernel.cross(X[:4], X, rows), K[:4][:, rows], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(Gram(X, kernel).dense(), K, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("X", "kernel"), SYMBOLIC.values(), ids=SYMBOLIC)
def test_appended_zero_columns_change_nothing(X, kernel):
    extra = 9 if isinstance(kernel, WeisfeilerLehman) else 5  # 36 entries of 8 vertices, 45 of 9
    wide = sp.csr_array(sp.hstack([sp.csr_array(X), sp.csr_array((X.shape[0], extra))]))
    np.testing.assert_allclose(kernel(wide, wide), kernel(X, X), rtol=1e-12)


def test_a_fisher_vector_is_the_gradient_of_the_log_likelihood():
    X = np.vstack([rng.standard_normal((60, 3)), 2 + 0.5 * rng.standard_normal((40, 3))])
    kernel = Fisher(2, seed=1).fit(X)
    weights, means = np.array(kernel.weights), np.array(kernel.means)
    widths = np.sqrt(kernel.variances)
    step = 1e-5

    def log_likelihood(logits, means, widths):
        mixture = GaussianMixture(2, covariance_type="diag")
        mixture.weights_ = np.exp(logits) / np.exp(logits).sum()
        mixture.means_, mixture.covariances_ = means, widths**2
        mixture.precisions_cholesky_ = 1 / widths
        return mixture.score_samples(X[:10])

    def gradient(which, shape):
        parts = []
        for place in np.ndindex(shape):
            values = []
            for sign in (1, -1):
                at = [np.log(weights), means.copy(), widths.copy()]
                at[which][place] += sign * step
                values.append(log_likelihood(*at))
            parts.append((values[0] - values[1]) / (2 * step))
        return np.array(parts).T.reshape(10, *shape)

    spread = widths / np.sqrt(weights)[:, None]
    expected = [
        gradient(0, (2,)) / np.sqrt(weights),
        gradient(1, (2, 3)) * spread,
        gradient(2, (2, 3)) * spread / np.sqrt(2),
    ]
    phi = np.hstack([part.reshape(10, -1) for part in expected])
    np.testing.assert_allclose(kernel.features(X[:10]), phi, rtol=1e-6, atol=1e-7)


def test_fishers_metric_makes_the_scores_of_distant_components_white():
    components = np.array([[-50.0, 0.0], [50.0, 20.0]])
    which = rng.random(200_000) < 0.3
    scale = np.where(which[:, None], [2.0, 0.5], [1.0, 3.0])
    X = components[which.astype(int)] + scale * rng.standard_normal((200_000, 2))
    variances = ((1.0, 9.0), (4.0, 0.25))
    phi = FittedFisher((0.7, 0.3), tuple(map(tuple, components.tolist())), variances).features(X)
    covariance = phi.T @ phi / 200_000
    np.testing.assert_allclose(covariance[2:, 2:], np.eye(8), atol=0.06)
    # the two logits are one parameter: their part of the metric has rank one
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance[:2, :2]), [0, 1], atol=0.06)


def test_a_formulation_fits_the_fisher_kernel_once_and_to_its_own_samples():
    data = datasets.load("two_moons", n=120)
    problem = SoftMarginDual(data.X, data.y, 1.0, Fisher(4) + Subset(Fisher(2), (1,)))
    fitted = Fisher(4).fit(data.X) + Subset(Fisher(2).fit(data.X[:, [1]]), (1,))
    assert problem.kernel == fitted
    again = SoftMarginDual(data.X, data.y, 1.0, Fisher(4) + Subset(Fisher(2), (1,)))
    assert again.hash == problem.hash
    rows = np.array([5, 50])
    np.testing.assert_array_equal(
        Fisher(4).cross(data.X[:3], data.X, rows), fitted.left(data.X[:3], data.X[rows])
    )
    solution = solve(problem, SMO(tol=1e-6))
    assert solution.verdict == "solved"
    assert np.mean(solution.decision_function(data.X) * data.y > 0) > 0.9


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
def test_generated_symbolic_data_are_drawn_from_their_seed_and_balanced(name):
    first, second, other = (datasets.load(name, n=31, seed=s) for s in (3, 3, 4))
    assert first.checksum == second.checksum != other.checksum
    assert abs(first.y.sum()) == 1
    assert f"{name}: generator" in datasets.describe(name)


def test_planted_structure_is_there():
    strings = datasets.load("motif_strings", n=200, mutation=0.0, motif=8, alphabet=4)
    K = Spectrum(8)(strings.X[strings.y > 0], strings.X[strings.y > 0])
    assert (K > 0).all()  # all have the motif in common
    rings = datasets.load("graph_families", n=40, rewiring=0.0)
    counts = WeisfeilerLehman(1).features(rings.X[rings.y > 0])
    assert (counts > 0).sum() == 2 * 20  # one label, then one degree
    sets = datasets.load("planted_sets", n=2000, density=0.2, planted=3, d=8)
    shares = sets.X[sets.y > 0].mean(axis=0)
    np.testing.assert_allclose(shares, [0.7] * 3 + [0.2] * 5, atol=0.06)


def test_strings_sets_and_graphs_are_encoded_as_told():
    np.testing.assert_array_equal(encode_strings(["ba", ""], "abc", 3), [[2, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(
        encode_sets([{"x"}, {"z", "x"}], "xyz").toarray(), [[1, 0, 0], [1, 0, 1]]
    )
    graph = nx.Graph([(0, 1), (2, 1), (2, 2)])
    nx.set_node_attributes(graph, {0: 7, 1: 8, 2: 9}, "colour")
    row = encode_graphs([graph], "colour", 4).toarray()[0]
    np.testing.assert_array_equal(row, [7, 1, 8, 0, 1, 9, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SetIntersection("yes"), "normalize: must be True or False, got 'yes'"),
        (lambda: SetIntersection().check(2 * X_SETS), "needs rows of zeros and ones, .* got 2"),
        (lambda: SetIntersection().check(np.ones((2, 1100))), "X: 2.1100 of a set .* normalize"),
        (lambda: Spectrum(0), "k: must be a whole number of 1 or more, got 0"),
        (lambda: Spectrum(2, normalize=1), "normalize: must be True or False"),
        (lambda: Spectrum(2).check(X_STRINGS - 1), "needs rows of letter numbers"),
        (lambda: Spectrum(2).check(0.5 * X_STRINGS), "needs rows of letter numbers .* got 1.5"),
        (lambda: Spectrum(2).check(X_STRINGS[:, ::-1]), "X: a string has a letter after its end"),
        (lambda: WeisfeilerLehman(-1), "iterations: must be a whole number of 0 or more"),
        (lambda: WeisfeilerLehman().check(np.ones((2, 5))), "m.m.1./2 entries .* got 5"),
        (lambda: WeisfeilerLehman().check(np.array([[1.0, 2.0, 1.0]])), "1 for an edge .* got 2"),
        (lambda: WeisfeilerLehman().check(np.array([[1.5, 0.0, 1.0]])), "labels 1, 2, .* got 1.5"),
        (lambda: WeisfeilerLehman().check(np.array([[1.0, 1.0, 0.0]])), "edge at a vertex without"),
        (lambda: Fisher(0), "components: must be a whole number of 1 or more"),
        (
            lambda: SoftMarginDual(np.eye(2), [1, -1], kernel=Fisher(3)),
            "components: must be at most 2",
        ),
        (lambda: Fisher()(X_STRINGS, X_STRINGS), "Fisher needs training samples first"),
        (lambda: Fisher().fit(np.eye(4)).check(np.eye(3)), "X: has 3 features, the mixture 4"),
        (lambda: encode_strings(["abd"], "abc"), "alphabet: 'd' is not in 'abc'"),
        (lambda: encode_strings(["abd"], width=2), "width: must be at least 3"),
        (lambda: encode_sets([{1, 5}], [1, 2]), "elements: 5 is in a set, but not among them"),
        (lambda: encode_graphs([nx.path_graph(4)], vertices=3), "vertices: must be at least 4"),
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
def test_what_is_no_set_string_or_graph_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
