"""The optimum of a structured margin in rationals, by cutting planes.

    min over w   ½‖w‖² + C max over ŷ of [Δ(ŷ) − wᵀg(ŷ)],     g(ŷ) = Ψ(y) − Ψ(ŷ)
where ŷ labels all sequences at once. For a few labellings that is a hard margin with an offset: least
½‖w‖² + Cξ with wᵀg + ξ ≥ Δ. The labelling of the largest loss joins those that have a multiplier λ > 0
at its optimum, w = Σ λg, until no labelling has a larger loss than they have (Kelley 1960).
"""

from itertools import product
from typing import Any

import numpy as np
from flint import fmpq
from tests.differential.active_sets import solved
from tests.differential.kernels import Row, exact_rows, inner
from tests.differential.posed import HALF, ZERO, Curve, Group, Posed, Values, rational, real

from dualgap.problems import Certificate, ChainMargin, Point

Labels = tuple[int, ...]


class ChainReference:
    """The optimum of a structured margin; `lower` and `upper` are equal."""

    is_infeasible = False
    may_be_zero = False

    def __init__(self, problem: ChainMargin) -> None:
        self.problem, self.C = problem, rational(problem.C)
        self.X, self.K = exact_rows(problem.X), problem.labels
        self.y = tuple(problem.y.astype(int).tolist())
        gold = self._features(self.y)
        self.labellings = list(product(range(self.K), repeat=problem.n))
        self.g = [
            [u - v for u, v in zip(gold, self._features(labels), strict=True)]
            for labels in self.labellings
        ]
        self.wrong = [
            fmpq(sum(a != b for a, b in zip(labels, self.y, strict=True)))
            for labels in self.labellings
        ]
        self.weights = self._solve()
        self.w = self._w(self.weights)
        self.lower = sum((v * self.wrong[j] for j, v in self.weights.items()), ZERO)
        self.lower -= HALF * inner(self.w, self.w)
        self.upper = self.primal(self.w)
        assert self.lower == self.upper, "no labelling has a larger value, so objectives are equal"

    def _features(self, labels: Labels) -> Row:
        """Return Ψ: the samples added up by label, and how often each label follows each."""
        nodes = [[ZERO] * self.problem.d for _ in range(self.K)]
        edges = [[ZERO] * self.K for _ in range(self.K)]
        for i, (k, x) in enumerate(zip(labels, self.X, strict=True)):
            nodes[k] = [u + v for u, v in zip(nodes[k], x, strict=True)]
            if i % self.problem.length:
                edges[labels[i - 1]][k] += 1
        return [v for row in (*nodes, *edges) for v in row]

    def _losses(self, w: Row) -> list[fmpq]:
        """Return Δ − wᵀg of every labelling."""
        return [d - inner(g, w) for d, g in zip(self.wrong, self.g, strict=True)]

    def primal(self, w: Row) -> fmpq:
        """Return the primal objective."""
        return HALF * inner(w, w) + self.C * max(self._losses(w))

    def _w(self, weights: dict[int, fmpq]) -> Row:
        total = [ZERO] * len(self.g[0])
        for j, weight in weights.items():
            total = [t + weight * v for t, v in zip(total, self.g[j], strict=True)]
        return total

    def _solve(self) -> dict[int, fmpq]:
        """Return the multipliers of the labellings that have any."""
        active = [max(range(len(self.wrong)), key=self.wrong.__getitem__)]
        while True:
            K = [[inner(self.g[i], self.g[j]) for j in active] for i in active]
            curves = [Curve(self.wrong[j], None, None, None) for j in active]
            optimum = solved(Posed(K, ZERO, curves, [Group(tuple(range(len(active))), self.C)]))
            assert optimum is not None, "every weight is feasible with some offset"
            weights = {j: v for j, v in zip(active, optimum.beta, strict=True) if v > 0}
            values = self._losses(self._w(weights))
            best = max(range(len(values)), key=values.__getitem__)
            if values[best] == max(values[j] for j in weights):
                return weights
            active = [*weights, best]

    def point(self) -> Point:
        """Return the optimal weights rounded to float64, and their marginals."""
        mu = np.zeros((self.problem.n, self.K, self.K))
        for j, weight in self.weights.items():
            labels = self.labellings[j]
            for i, k in enumerate(labels):
                before = labels[i - 1] if i % self.problem.length else 0
                mu[i, before, k] += real(weight)
        return Point(mu.reshape(self.problem.n, -1), np.array([real(v) for v in self.w]))

    def size_at_zero(self) -> fmpq:
        """Return the primal objective at w = 0."""
        return self.primal([ZERO] * len(self.w))

    def unresolved(self) -> fmpq:
        return ZERO

    def values(self, c: Certificate, answer: Point) -> Values:
        """Return the primal objective of the certified weights, or of those of the marginals."""
        ws = [] if c.point.w is None else [[rational(v) for v in c.point.w.ravel().tolist()]]
        if c.point.alpha is not None:
            ws.append(self._weights(c.point.alpha.reshape(-1, self.K, self.K)))
        return Values(min(map(self.primal, ws), default=None))

    def _weights(self, mu: Any) -> Row:
        """Return w of the Markov chain with the transitions of some marginals."""
        U, T = (
            [[ZERO] * self.problem.d for _ in range(self.K)],
            [[ZERO] * self.K for _ in range(self.K)],
        )
        nodes: Row = []
        for i, (k, x) in enumerate(zip(self.y, self.X, strict=True)):
            if i % self.problem.length:
                pairs = [[v * s for s in _shares(row)] for v, row in zip(nodes, mu[i], strict=True)]
                T = [
                    [t - v for t, v in zip(*rows, strict=True)]
                    for rows in zip(T, pairs, strict=True)
                ]
                T[self.y[i - 1]][k] += self.C
                nodes = [sum(column, ZERO) for column in zip(*pairs, strict=True)]
            else:
                nodes = [self.C * fraction for fraction in _shares(mu[i].sum(axis=0))]
            lacks = [self.C * (j == k) - v for j, v in enumerate(nodes)]
            U = [
                [u + v * a for u, a in zip(row, x, strict=True)]
                for row, v in zip(U, lacks, strict=True)
            ]
        return [v for row in (*U, *T) for v in row]


def _shares(weights: Any) -> Row:
    """Return weights divided by their sum, equal ones where all are 0."""
    exact = [rational(v) for v in weights.tolist()]
    total = sum(exact, ZERO)
    return [v / total if total else fmpq(1, len(exact)) for v in exact]
