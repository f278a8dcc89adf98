"""Sequences of labelled samples: scores of labellings, the best one, and marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from problems.dataset import Indices, Vector
from problems.kernels import Block

Cube = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chains:
    """The form of a structured margin: sequences, and what is asked of them.

    Shapes: X (m, L, d), y (m, L) labels below K; w (K·d + K²,), first U, then T row by row.
    """

    X: Cube
    y: Indices
    K: int
    C: float
    gram: None = None  # values of no kernel are computed

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.K * (self.X.shape[2] + self.K)

    def scores(self, w: Vector) -> tuple[Cube, Block]:
        """Return U[k]ᵀxₜ, shape (m, L, K), and T."""
        split = self.K * self.X.shape[2]
        return self.X @ w[:split].reshape(self.K, -1).T, w[split:].reshape(self.K, self.K)

    def features(self, labels: Indices) -> Vector:
        """Return Σₛ Ψ(xₛ, labelsₛ)."""
        one_hot = np.eye(self.K)[labels]
        return self._sums(one_hot, np.einsum("sta,stb->ab", one_hot[:, :-1], one_hot[:, 1:]))

    def _sums(self, nodes: Cube, edges: Block) -> Vector:
        U = np.einsum("stk,std->kd", nodes, self.X)
        return np.concatenate([U.ravel(), edges.ravel()])

    def predict(self, w: Vector) -> Indices:
        """Return the labelling of highest score of each sequence, shape (m, L)."""
        return best_path(*self.scores(w))

    def most_violating(self, w: Vector) -> Indices:
        """Return argmax Δ(y, ŷ) + wᵀΨ(x, ŷ) of each sequence: loss-augmented Viterbi."""
        nodes, T = self.scores(w)
        return best_path(nodes + 1.0 - np.eye(self.K)[self.y], T)

    def plane(self, labels: Indices) -> tuple[Vector, float]:
        """Return (g, c) with Σₛ [Δ + wᵀΨ(ŷ) − wᵀΨ(y)] = c − gᵀw for these labellings ŷ."""
        return self.features(self.y) - self.features(labels), float((labels != self.y).sum())

    def primal(self, w: Vector) -> float:
        """Return the primal objective at w."""
        g, c = self.plane(self.most_violating(w))
        return 0.5 * float(w @ w) + self.C * (c - float(g @ w))

    def marginals(self, labels: Indices) -> Cube:
        """Return the μ of one labelling of weight 1, shape (m, L, K²); at t = 0 it has a = 0."""
        before = np.concatenate([np.zeros_like(labels[:, :1]), labels[:, :-1]], axis=1)
        return np.eye(self.K**2)[before * self.K + labels]

    def consistent(self, mu: Cube) -> Cube:
        """Return marginals of total C that are consistent: `mu` itself if it is.

        They are those of the Markov chain with the transitions of `mu`, hence of a distribution.
        """
        mu = np.maximum(mu, 0.0).reshape(*self.y.shape, self.K, self.K)
        result = np.zeros_like(mu)
        nodes = self.C * _shares(mu[:, 0].sum(axis=1))
        result[:, 0, 0] = nodes
        for t in range(1, mu.shape[1]):
            result[:, t] = nodes[:, :, None] * _shares(mu[:, t])
            nodes = result[:, t].sum(axis=1)
        return result.reshape(*self.y.shape, -1)

    def dual(self, mu: Cube) -> tuple[float, Vector]:
        """Return the dual objective of consistent marginals, and w(μ)."""
        pairs = mu.reshape(*self.y.shape, self.K, self.K)
        nodes = pairs.sum(axis=2)
        w = self.C * self.features(self.y) - self._sums(nodes, pairs[:, 1:].sum(axis=(0, 1)))
        wrong = float((nodes * (1.0 - np.eye(self.K)[self.y])).sum())
        return wrong - 0.5 * float(w @ w), w


def _shares(weights: Cube) -> Cube:
    """Return the weights divided by their sums over the last axis; equal shares where all are 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / weights.shape[-1])


def best_path(nodes: Cube, T: Block) -> Indices:
    """Return argmax Σₜ nodes[s, t, ŷₜ] + Σₜ T[ŷₜ₋₁, ŷₜ], shape (m, L) (Viterbi 1967)."""
    m, length, _ = nodes.shape
    each = np.arange(m)
    best = nodes[:, 0]
    came: list[Indices] = []
    for t in range(1, length):
        through = best[:, :, None] + T
        came.append(through.argmax(axis=1))
        best = through.max(axis=1) + nodes[:, t]
    path = [best.argmax(axis=1)]
    for back in reversed(came):
        path.append(back[each, path[-1]])
    return np.stack(path[::-1], axis=1)
