"""The Weisfeiler-Lehman kernel, against the hashes of networkx."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from dualgap.problems import WeisfeilerLehman, encode_graphs

rng = np.random.default_rng(4)


def _graphs() -> list:
    drawn = [nx.gnp_random_graph(int(rng.integers(1, 9)), 0.4, seed=s) for s in range(20)]
    drawn += [nx.path_graph(5), nx.cycle_graph(5), nx.star_graph(4), nx.empty_graph(3)]
    for graph in drawn:
        nx.set_node_attributes(graph, {v: int(rng.integers(1, 4)) for v in graph}, "label")
    return drawn


GRAPHS = _graphs()
X = encode_graphs(GRAPHS, "label")


@pytest.mark.parametrize("h", [0, 1, 2, 4])
def test_the_weisfeiler_lehman_kernel_counts_common_hashes(h):
    def hashes(graph):
        if h == 0:
            return Counter(
                (0, str(label)) for label in nx.get_node_attributes(graph, "label").values()
            )
        subgraph_hashes = nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="label", iterations=h, include_initial_labels=True
        )
        return Counter(
            (depth, name) for names in subgraph_hashes.values() for depth, name in enumerate(names)
        )

    counts = [hashes(graph) for graph in GRAPHS]
    expected = [[sum(a[u] * b[u] for u in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(WeisfeilerLehman(h)(X, X), expected)


def test_isomorphic_graphs_are_one_point_for_any_vertex_order():
    graph = nx.gnp_random_graph(9, 0.4, seed=3)
    order = rng.permutation(9)
    other = nx.Graph()
    other.add_nodes_from(order.tolist())
    other.add_edges_from((int(order[u]), int(order[v])) for u, v in graph.edges)
    K = WeisfeilerLehman(3)(encode_graphs([graph, other]), encode_graphs([graph, other]))
    assert np.unique(K).size == 1


def test_equal_neighbourhoods_of_unequal_graphs_are_distinguished_by_distance():
    line, ring = nx.path_graph(12), nx.cycle_graph(12)
    X = encode_graphs([line, ring])
    same = [WeisfeilerLehman(h)(X, X) for h in (0, 1)]
    assert same[0][0, 1] == same[0][0, 0] == 144
    assert (
        same[1][0, 1] - same[0][0, 1] == 10 * 12
    )  # inner vertices of the line look like the ring's


def test_graphs_are_encoded_as_lower_triangles():
    graph = nx.Graph([(0, 1), (2, 1), (2, 2)])
    nx.set_node_attributes(graph, {0: 7, 1: 8, 2: 9}, "colour")
    row = encode_graphs([graph], "colour", 4).toarray()[0]
    np.testing.assert_array_equal(row, [7, 1, 8, 0, 1, 9, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WeisfeilerLehman(-1), "iterations: must be a whole number of 0 or more"),
        (lambda: WeisfeilerLehman().check(np.ones((2, 5))), "m.m.1./2 entries .* got 5"),
        (lambda: WeisfeilerLehman().check(np.array([[1.0, 2.0, 1.0]])), "1 for an edge .* got 2"),
        (lambda: WeisfeilerLehman().check(np.array([[1.5, 0.0, 1.0]])), "labels 1, 2, .* got 1.5"),
        (lambda: WeisfeilerLehman().check(np.array([[1.0, 1.0, 0.0]])), "edge at a vertex without"),
        (lambda: encode_graphs([nx.path_graph(4)], vertices=3), "vertices: must be at least 4"),
    ],
)
def test_an_invalid_graph_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_graphs_without_vertices_have_nothing_in_common():
    assert WeisfeilerLehman().diagonal(np.zeros((2, 3))).tolist() == [0.0, 0.0]
