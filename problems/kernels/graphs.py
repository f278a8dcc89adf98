"""The Weisfeiler-Lehman subtree kernel: how many vertices of two graphs have equal h-neighbourhoods.

    label₀(v) = the input label,   labelₕ(v) = a name for (labelₕ₋₁(v), its neighbours' labelₕ₋₁, sorted)
    k(G, G′) = Σₕ Σ_ℓ (vertices of G with labelₕ = ℓ)·(vertices of G′ with labelₕ = ℓ),   h = 0 ...

Source: Shervashidze, Schweitzer, van Leeuwen, Mehlhorn & Borgwardt 2011, "Weisfeiler-Lehman graph
kernels". φ(G) counts labels; isomorphic graphs have equal ones.

A graph is a row of m(m+1)/2 entries: the lower triangle, row by row, of an m by m matrix with 1 for an
edge and vertex labels 1, 2, ... on the diagonal, 0 for no vertex. Additional vertices append entries, so
that graphs of all sizes can be padded to one width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Matrix
from dualgap.problems.kernels.features import CountingKernel
from dualgap.problems.validation import check_bool, check_integer

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True)
class WeisfeilerLehman(CountingKernel):
    """Inner product of the counts of vertex labels, refined `iterations` times by the neighbours'."""

    iterations: int = 2
    normalize: bool = False

    source: ClassVar[str] = "Shervashidze et al. 2011"

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", check_integer(self.iterations, "iterations", 0))
        object.__setattr__(self, "normalize", check_bool(self.normalize, "normalize"))

    def features(self, X: Matrix) -> scipy.sparse.csr_array:
        """Return how many vertices have each label, after 0, 1, ... refinements."""
        (n, _), (m, graph, i, j, value) = X.shape, _entries(X)
        vertex = i == j
        # vertices are numbered across all graphs; each edge is stored once per end
        number = np.full(n * m, -1)
        number[graph[vertex] * m + i[vertex]] = np.arange(int(vertex.sum()))
        first_end, second_end = (number[graph[~vertex] * m + end[~vertex]] for end in (i, j))
        tail, head = np.append(first_end, second_end), np.append(second_end, first_end)
        graph, label = graph[vertex], value[vertex].astype(np.int64)
        counts: list[scipy.sparse.csr_array] = []
        for step in range(self.iterations + 1):
            # new labels, equal for vertices with equal labels and equal neighbouring labels
            if step and label.size:
                adjacent = label[head]
                degrees = np.bincount(tail, minlength=label.size)
                neighbours = np.split(
                    adjacent[np.lexsort((adjacent, tail))], np.cumsum(degrees)[:-1]
                )
                names: dict[tuple[int, ...], int] = {}
                signatures = zip(label.tolist(), neighbours, strict=True)
                label = np.array(
                    [
                        names.setdefault((vertex_label, *neighbour_labels.tolist()), len(names))
                        for vertex_label, neighbour_labels in signatures
                    ]
                )
            distinct, column = np.unique(label, return_inverse=True)
            ones, shape = np.ones(column.size), (n, max(1, distinct.size))
            counts.append(scipy.sparse.csr_array((ones, (graph, column)), shape=shape))
        return scipy.sparse.csr_array(scipy.sparse.hstack(counts))

    def check(self, X: Matrix) -> None:
        """Raise ValueError unless rows are lower triangles with labels on the diagonal."""
        _, row, i, j, value = _entries(X)
        edge = i != j
        wrong = value[np.where(edge, value != 1, (value < 1) | (value != np.floor(value)))]
        if wrong.size:
            raise ValueError(
                "X: a graph kernel needs 1 for an edge and vertex labels 1, 2, ... "
                f"(see encode_graphs), got {wrong[0]:g}; leave standardize out"
            )
        labelled = set(zip(row[~edge].tolist(), i[~edge].tolist(), strict=True))
        ends = zip(
            np.tile(row[edge], 2).tolist(), np.append(i[edge], j[edge]).tolist(), strict=True
        )
        if not labelled.issuperset(ends):
            raise ValueError("X: a graph has an edge at a vertex without a label (0)")


def _entries(X: Matrix) -> tuple[int, Indices, Indices, Indices, NDArray[Any]]:
    """Return the order m, and graph, row, column and value of all nonzero entries of the matrices."""
    width = X.shape[1]
    m = int((np.sqrt(8 * width + 1) - 1) / 2)
    if m * (m + 1) // 2 != width:
        raise ValueError(
            f"X: rows of graphs have m(m+1)/2 entries for m vertices (1, 3, 6, 10, ...), got {width}; "
            "see encode_graphs"
        )
    stored, (i, j) = scipy.sparse.coo_array(X), np.tril_indices(m)
    present = stored.data != 0
    graph, position = (coordinates[present].astype(np.int64) for coordinates in stored.coords)
    return m, graph, i[position], j[position], stored.data[present]


def encode_graphs(
    graphs: Sequence[networkx.Graph], label: str | None = None, vertices: int | None = None
) -> scipy.sparse.csr_array:
    """Return undirected graphs as rows, shape (n, m(m+1)/2), with m = `vertices`.

    Parameters
    ----------
    graphs : the samples; self-loops are ignored.
    label : the vertex attribute with the labels, integers from 1; None gives all vertices the label 1.
    vertices : the maximal number of vertices; None takes that of the largest graph.

    Raises
    ------
    ValueError
        If a graph has more than `vertices` vertices.
    """
    largest = max(1, *(g.number_of_nodes() for g in graphs), 1)
    m = largest if vertices is None else vertices
    if m < largest:
        raise ValueError(f"vertices: must be at least {largest}, as in the largest graph, got {m}")
    rows = np.zeros((len(graphs), m * (m + 1) // 2))
    for row, graph in zip(rows, graphs, strict=True):
        number = {vertex: i for i, vertex in enumerate(graph)}
        for u, v in graph.edges:
            low, high = sorted((number[u], number[v]))
            row[high * (high + 1) // 2 + low] = 1.0
        for vertex, i in number.items():
            row[i * (i + 3) // 2] = 1 if label is None else graph.nodes[vertex][label]
    return scipy.sparse.csr_array(rows)
