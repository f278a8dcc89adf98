"""Sequences of labelled samples: scores of labellings, the best labelling, and marginals."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import gamma, products, transposed_products
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Block

Cube = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chains:
    """The form of a structured margin over m sequences of L labels, with a linear chain model.

    Shapes: X (m, L, d), y (m, L) with labels 0 to K − 1; w (K·d + K²,), first U, then T row by row.
    """

    X: Cube
    y: Indices
    K: int
    C: float
    gram: None = None  # no kernel is used

    title: ClassVar[str] = "a structured margin"

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.K * (self.X.shape[2] + self.K)

    @property
    def rows(self) -> Block:
        """The samples of all sequences, shape (m·L, d)."""
        return self.X.reshape(-1, self.X.shape[2])

    def scores(self, w: Vector) -> tuple[Cube, Block]:
        """Return U[k]ᵀxₜ, shape (m, L, K), and T."""
        U, T = self.split(w)
        return self.X @ U.T, T

    def split(self, w: Vector) -> tuple[Block, Block]:
        """Return U (K, d) and T (K, K)."""
        first = self.K * self.X.shape[2]
        return w[:first].reshape(self.K, -1), w[first:].reshape(self.K, self.K)

    def features(self, labels: Indices) -> Vector:
        """Return Σₛ Ψ(xₛ, labelsₛ)."""
        one_hot = np.eye(self.K)[labels]
        U = np.einsum("stk,std->kd", one_hot, self.X)
        T = np.einsum("sta,stb->ab", one_hot[:, :-1], one_hot[:, 1:])
        return np.concatenate([U.ravel(), T.ravel()])

    def predict(self, w: Vector) -> Indices:
        """Return the highest-scoring labelling of each sequence, shape (m, L)."""
        return best_path(*self.scores(w))

    def most_violating(self, w: Vector) -> Indices:
        """Return argmax Δ(y, ŷ) + wᵀΨ(x, ŷ) for each sequence: loss-augmented Viterbi."""
        nodes, T = self.scores(w)
        return best_path(nodes + 1.0 - np.eye(self.K)[self.y], T)

    def plane(self, labels: Indices) -> tuple[Vector, float]:
        """Return (g, c) with Σₛ [Δ + wᵀΨ(ŷ) − wᵀΨ(y)] = c − gᵀw for these labellings ŷ."""
        return self.features(self.y) - self.features(labels), float((labels != self.y).sum())

    def primal(self, w: Vector) -> Intervals:
        """Return the primal objective at w.

        Scores are taken relative to those of the true labels, which avoids cancellation in the sums.
        """
        U, T = self.split(w)
        nodes, labels = products(self.rows, U.T), self.y.ravel()
        true_scores = nodes[np.arange(labels.size), labels]
        nodes = nodes - true_scores[:, None] + (np.arange(self.K) != labels[:, None])
        nodes = nodes.reshape(*self.y.shape, self.K)
        edges = Intervals(T) - T[self.y[:, :-1], self.y[:, 1:]][:, :, None, None]
        best = nodes[:, 0]
        for t in range(1, self.y.shape[1]):
            best = (best[:, :, None] + edges[:, t - 1]).max(axis=1) + nodes[:, t]
        return 0.5 * (Intervals(w) * w).sum() + self.C * best.max(axis=1).sum()

    def marginals(self, labels: Indices) -> Cube:
        """Return the μ of one labelling with weight 1, shape (m, L, K²); label 0 precedes t = 0."""
        before = np.concatenate([np.zeros_like(labels[:, :1]), labels[:, :-1]], axis=1)
        return np.eye(self.K**2)[before * self.K + labels]

    def consistent(self, mu: Cube) -> Cube:
        """Return consistent marginals with total C: `mu` itself if it is consistent.

        They belong to the Markov chain with the transitions of `mu`, so to a distribution.
        """
        mu = np.maximum(mu, 0.0).reshape(*self.y.shape, self.K, self.K)
        _, power = np.frexp(mu.max(axis=(2, 3), keepdims=True))
        mu = np.ldexp(mu, -power)  # so that no sum overflows; the ratios do not change
        result = np.zeros_like(mu)
        nodes = self.C * _normalised(mu[:, 0].sum(axis=1))
        result[:, 0, 0] = nodes
        for t in range(1, mu.shape[1]):
            result[:, t] = nodes[:, :, None] * _normalised(mu[:, t])
            nodes = result[:, t].sum(axis=1)
        return result.reshape(*self.y.shape, -1)

    def dual(self, mu: Cube) -> tuple[Intervals, Vector]:
        """Return the dual objective at exactly consistent marginals near `mu`, and w(μ) approximately.

        Each marginal from `consistent` has a small relative error. Those of the true labels are computed
        from all others, without cancellation.
        """
        m, length = self.y.shape
        nodes, wrong = _differences(mu.reshape(m, length, self.K, self.K).sum(axis=2), self.y)
        edges, _ = _differences(mu[:, 1:], self.y[:, :-1] * self.K + self.y[:, 1:])
        steps = gamma(length * (2 * self.K + 6) + self.K**2)
        nodes, edges, wrong = (Intervals(v, steps * np.abs(v)) for v in (nodes, edges, wrong))
        U = transposed_products(self.rows, nodes.reshape(-1, self.K))
        T = edges.reshape(-1, self.K**2).sum(axis=0)
        value = wrong.sum() - 0.5 * ((U * U).sum() + (T * T).sum())
        return value, np.concatenate([U.mid.T.ravel(), T.mid])


def _differences(mu: Cube, labels: Indices) -> tuple[Cube, Block]:
    """Return [k = label]·Σμ − μₖ, and the sum of all μₖ with k ≠ label.

    That is −μ, except that entries of the true labels hold that sum.
    """
    differences = mu.copy()
    np.put_along_axis(differences, labels[..., None], 0.0, axis=-1)
    wrong = differences.sum(axis=-1)
    differences = -differences
    np.put_along_axis(differences, labels[..., None], wrong[..., None], axis=-1)
    return differences, wrong


def _normalised(weights: Cube) -> Cube:
    """Return the weights normalised to sum to 1 over the last axis; uniform where all are 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / weights.shape[-1])


def best_path(nodes: Cube, T: Block) -> Indices:
    """Return argmax Σₜ nodes[s, t, ŷₜ] + Σₜ T[ŷₜ₋₁, ŷₜ], shape (m, L) (Viterbi 1967)."""
    m, length, _ = nodes.shape
    sequences = np.arange(m)
    best = nodes[:, 0]
    predecessors: list[Indices] = []
    for t in range(1, length):
        through = best[:, :, None] + T
        predecessors.append(through.argmax(axis=1))
        best = through.max(axis=1) + nodes[:, t]
    path = [best.argmax(axis=1)]
    for back in reversed(predecessors):
        path.append(back[sequences, path[-1]])
    return np.stack(path[::-1], axis=1)
