"""Random sets, strings and graphs in two classes, and random labelled sequences.

Sets, strings and graphs are encoded as the rows of numbers that their kernels read, see
`dualgap.problems.kernels`; `standardize` destroys the encoding, and the kernels refuse the result.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.datasets.source import Generator, Raw, count, number
from dualgap.problems.kernels import encode_graphs

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True, kw_only=True)
class PlantedSets(Generator):
    """Random sets; those of class +1 contain the planted elements more often than the others.

    Each of the `d` elements is in a set with probability `density`; for the first `planted` of them and
    a set of class +1 the probability is higher by ½, and at most 1.

    Parameters
    ----------
    n, d : number of sets, half of them in each class, and of elements.
    density : probability of an element.
    planted : number of elements that distinguish the classes.
    """

    origin: ClassVar[str] = "sets with planted elements, generated; for set_intersection"

    n: int = count(200, low=2)
    d: int = count(20, low=1)
    density: float = number(0.3, high=1.0)
    planted: int = count(4, low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.planted > self.d:
            raise ValueError(f"planted: must be at most d = {self.d}, got {self.planted}")

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = _labels(self.n, rng)
        chance = np.full((self.n, self.d), self.density)
        chance[y > 0, : self.planted] += 0.5
        return Raw((rng.random((self.n, self.d)) < chance).astype(np.float64), y)


@dataclass(frozen=True, kw_only=True)
class MotifStrings(Generator):
    """Random strings; those of class +1 contain one motif, with some letters mutated.

    Letters are uniform, lengths uniform between three quarters of `length` and `length`.

    Parameters
    ----------
    n : number of strings, half of them in each class.
    length : length of the longest string.
    alphabet : number of letters: 4 for DNA, 20 for proteins.
    motif : number of letters of the motif, at most half of `length`.
    mutation : probability that a letter of a planted motif is redrawn.
    """

    size: ClassVar[str] = "n x length"
    origin: ClassVar[str] = "strings with a planted motif, generated; for spectrum"

    n: int = count(200, low=2)
    length: int = count(40, low=2)
    alphabet: int = count(4, low=1)
    motif: int = count(6, low=1)
    mutation: float = number(0.1, high=1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 2 * self.motif > self.length:
            raise ValueError(
                f"motif: must be at most half of length = {self.length}, got {self.motif}"
            )

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = _labels(self.n, rng)
        motif = self._letters(rng, self.motif)
        X = np.zeros((self.n, self.length))
        for row, label in zip(X, y, strict=True):
            length = int(rng.integers(-(-3 * self.length // 4), self.length + 1))
            row[:length] = self._letters(rng, length)
            if label > 0:
                start = int(rng.integers(length - self.motif + 1))
                mutated = rng.random(self.motif) < self.mutation
                drawn = self._letters(rng, self.motif)
                row[start : start + self.motif] = np.where(mutated, drawn, motif)
        return Raw(X, y)

    def _letters(self, rng: np.random.Generator, size: int) -> Vector:
        return rng.integers(1, self.alphabet + 1, size).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class GraphFamilies(Generator):
    """Two families of random graphs with as many edges as vertices times `neighbours`/2.

    −1: Erdős–Rényi graphs with uniformly random edges. +1: Watts–Strogatz small worlds, a ring in which
    each vertex is joined to its nearest, and each edge is then rewired with probability `rewiring`.
    networkx draws them.

    Parameters
    ----------
    n : number of graphs, half of them in each family.
    vertices : number of vertices of the largest graph; sizes are uniform from half of it up.
    neighbours : mean number of edges at a vertex, even.
    rewiring : 1 makes the families hard to distinguish, 0 leaves a plain ring.
    labels : vertices have a label from 1 to this number, drawn uniformly; with 1 only the structure
        distinguishes the classes.
    """

    size: ClassVar[str] = "n x vertices(vertices+1)/2"
    origin: ClassVar[str] = "random graphs of networkx; for weisfeiler_lehman"

    n: int = count(100, low=2)
    vertices: int = count(20, low=6)
    neighbours: int = count(4, low=2)
    rewiring: float = number(0.2, high=1.0)
    labels: int = count(1, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours % 2 or self.neighbours >= self.vertices // 2:
            raise ValueError(
                f"neighbours: must be even and below half of vertices = {self.vertices}, "
                f"got {self.neighbours}"
            )

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = _labels(self.n, rng)
        graphs = [self._graph(label > 0, rng) for label in y]
        return Raw(encode_graphs(graphs, "label", self.vertices), y)

    def _graph(self, small_world: bool, rng: np.random.Generator) -> "networkx.Graph":
        import networkx as nx  # noqa: PLC0415 - slow to import

        m, seed = int(rng.integers(self.vertices // 2, self.vertices + 1)), int(rng.integers(2**31))
        if small_world:
            graph = nx.watts_strogatz_graph(m, self.neighbours, self.rewiring, seed)
        else:
            graph = nx.gnm_random_graph(m, m * self.neighbours // 2, seed)
        drawn = rng.integers(1, self.labels + 1, m)
        nx.set_node_attributes(graph, dict(enumerate(drawn.tolist())), "label")
        return graph


@dataclass(frozen=True, kw_only=True)
class HiddenMarkov(Generator):
    """Sequences of hidden states, each of which emits samples from its own Gaussian cloud.

    The next label is drawn from its predecessor's transition probabilities, a Dirichlet draw with
    concentration 0.3, so that only a few successors are likely; x ~ N(mean of the label, noise²·I) with
    means drawn from N(0, I). The rows are the samples of all sequences in order, labels are 0, 1, ...

    Parameters
    ----------
    n, length : number of sequences, and of samples in each.
    d : number of features.
    labels : number of hidden states.
    noise : standard deviation within a cloud; the means are about √(2d) apart.
    """

    size: ClassVar[str] = "n·length x d"
    origin: ClassVar[str] = "hidden Markov model, generated; for chain_margin"

    n: int = count(50, low=1)
    length: int = count(10, low=1)
    d: int = count(4, low=1)
    labels: int = count(4, low=2)
    noise: float = number(1.0)
    multiclass: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("limit", "test_size", "folds"):
            if getattr(self, option):
                raise ValueError(f"{option}: would split sequences; leave it out")
        if not self.multiclass:
            raise ValueError("multiclass: a sequence may have more than two labels; leave it out")

    def _draw(self, rng: np.random.Generator) -> Raw:
        transitions = rng.dirichlet(np.full(self.labels, 0.3), self.labels).cumsum(axis=1)
        means = rng.standard_normal((self.labels, self.d))
        y = np.empty((self.n, self.length), dtype=int)
        y[:, 0] = rng.integers(self.labels, size=self.n)
        for t in range(1, self.length):
            above = rng.random((self.n, 1)) > transitions[y[:, t - 1]]
            y[:, t] = np.minimum(above.sum(axis=1), self.labels - 1)
        X = means[y] + self.noise * rng.standard_normal((self.n, self.length, self.d))
        return Raw(X.reshape(-1, self.d), y.ravel())


def _labels(n: int, rng: np.random.Generator) -> Vector:
    """Draw n labels, half of them +1."""
    return rng.permutation(np.where(np.arange(n) % 2 == 0, 1.0, -1.0))
