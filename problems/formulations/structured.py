"""Structured maximal margin on chains: every label of a sequence is predicted together (M³N).

    min ½‖w‖² + C Σₛ max_ŷ [Δ(yₛ, ŷ) + wᵀΨ(xₛ, ŷ) − wᵀΨ(xₛ, yₛ)]

over sequences s of `length` samples each, with K labels; wᵀΨ(x, ŷ) = Σₜ U[ŷₜ]ᵀxₜ + Σₜ T[ŷₜ₋₁, ŷₜ] for
w = (U, T), U (K, d), T (K, K), and Δ the number of wrong labels. The maximum over K^length labellings is
Viterbi's recursion. In the dual every sequence has a distribution over labellings, of which only the
marginals of neighbours matter (Taskar, Guestrin & Koller 2004):
    max Σ μₜ(b)·[b ≠ yₜ] − ½‖w(μ)‖²,   w(μ) = Σₛ C·Ψ(xₛ, yₛ) − Σ μₜ(a, b)·Ψₜ(a, b)
with μₜ(a, b) ≥ 0 the weight of labellings that have a at t − 1 and b at t, consistent from each t to the
next, and of total C. Any such μ bounds the optimum from below, any w from above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from problems.dataset import Indices, Matrix, Vector, check_classes, check_positive
from problems.forms import Point
from problems.formulations.formulation import Face, Family, Formulation
from problems.kernels import Block, as_dense

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


@dataclass(frozen=True, eq=False)
class ChainMargin(Formulation):
    """min ½‖w‖² + C Σₛ ξₛ with wᵀΨ(xₛ, yₛ) ≥ wᵀΨ(xₛ, ŷ) + Δ(yₛ, ŷ) − ξₛ for every labelling ŷ.

    Rows are samples in their order: each `length` of them are a sequence. The answer's `w` is (U, T),
    its `alpha` the marginals μ, shape (n, K²).
    """

    X: Matrix
    y: Vector
    length: int
    C: float = 1.0

    face: ClassVar[Face] = "primal"
    family: ClassVar[Family] = "structured"
    source: ClassVar[str] = "Taskar, Guestrin & Koller 2004; COMP790 notes"
    intercept: ClassVar[bool] = False  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.C, "C")
        if isinstance(self.length, bool) or int(self.length) != self.length or self.length < 1:
            raise ValueError(f"length: must be a whole number of 1 or more, got {self.length!r}")
        if self.n % self.length:
            raise ValueError(
                f"length: {self.n} samples are no whole number of sequences of {self.length}"
            )

    def _check_y(self) -> Vector:
        return check_classes(self.y, self.n)

    @cached_property
    def labels(self) -> int:
        """K, the number of labels."""
        return int(self.y.max()) + 1

    @property
    def outputs(self) -> int:
        """K², the marginals of a sample."""
        return self.labels**2

    @property
    def n_weights(self) -> int:
        """K·d + K²."""
        return self.chains.size

    @property
    def identity(self) -> tuple[Any, ...]:
        """How long the sequences are."""
        return (self.length,)

    @cached_property
    def chains(self) -> Chains:
        """The sequences."""
        shape = (self.n // self.length, self.length)
        y = self.y.astype(np.intp).reshape(shape)
        return Chains(as_dense(self.X).reshape(*shape, self.d), y, self.labels, float(self.C))

    def scores(self, X: Matrix, w: Vector) -> Block:
        """Return 1 for the label that the best path gives each row of `X` and 0 else, shape (m, K).

        Raises
        ------
        ValueError
            If the rows are no whole number of sequences.
        """
        if X.shape[0] % self.length:
            raise ValueError(
                f"X: {X.shape[0]} samples are no whole number of sequences of {self.length}"
            )
        sequences = as_dense(X).reshape(-1, self.length, self.d)
        paths = replace(self.chains, X=sequences).predict(w)
        return np.eye(self.labels)[paths.ravel()]


def chain_bounds(problem: ChainMargin, alpha: Block | None, w: Vector | None) -> Mapping[str, Any]:
    """Return the fields of a `Certificate` for marginals, weights or both.

    Without `alpha` the lower bound is 0, that of the labels given.
    """
    chains = problem.chains
    shape = (*chains.y.shape, -1)
    given = chains.C * chains.marginals(chains.y) if alpha is None else alpha.reshape(shape)
    mu = chains.consistent(given)
    dual, own = chains.dual(mu)
    weights = own if w is None else w
    primal = chains.primal(weights)
    gap = max(0.0, primal - dual)
    off = np.abs(mu - given)
    sources = {(True, False): "alpha", (True, True): "alpha and w"}
    return {
        "primal_objective": primal,
        "dual_objective": dual,
        "gap": gap,
        "relative_gap": gap / max(abs(primal), abs(dual)) if gap else 0.0,
        "primal_residual": float(off.max()),
        "dual_residual": 0.0,
        "projection_distance": float(np.linalg.norm(off)),
        "bound_source": sources.get((alpha is not None, w is not None), "recovered from w"),
        "point": Point(mu.reshape(problem.n, -1), weights),
    }
