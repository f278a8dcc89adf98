"""The optimum of a structured margin in rationals, by an active set of labellings.

    min over w   ½‖w‖² + C max over ŷ of [Δ(ŷ) − wᵀg(ŷ)],     g(ŷ) = Ψ(y) − Ψ(ŷ)
where ŷ labels all sequences at once. In the dual weights λ ≥ 0 of labellings sum to one:
    max C Σ λΔ − ½‖w‖²,   w = C Σ λg
Wolfe's method (1976) holds the labellings of an active set at equal values, adds one that has a larger
value, and drops those whose weight would fall below 0. It ends when no labelling has a larger value.
"""

from itertools import product
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from problems import Certificate, ChainMargin, Point
from tests.differential.kernels import Row, exact_rows, inner
from tests.differential.posed import HALF, ONE, ZERO, Values, rational, real

Labels = tuple[int, ...]


class ChainReference:
    """The optimum of a structured margin; `lower` and `upper` are equal."""

    is_infeasible = False

    def __init__(self, problem: ChainMargin) -> None:
        self.problem, self.C = problem, rational(problem.C)
        self.X, self.K = exact_rows(problem.X), problem.labels
        self.y = tuple(problem.y.astype(int).tolist())
        given = self._features(self.y)
        self.labellings = list(product(range(self.K), repeat=problem.n))
        self.g = [
            [u - v for u, v in zip(given, self._features(labels), strict=True)]
            for labels in self.labellings
        ]
        self.wrong = [
            fmpq(sum(a != b for a, b in zip(labels, self.y, strict=True)))
            for labels in self.labellings
        ]
        self.weights = self._solve()
        self.w = self._w(self.weights)
        self.lower = self.C * sum((v * self.wrong[j] for j, v in self.weights.items()), ZERO)
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
            total = [t + self.C * weight * v for t, v in zip(total, self.g[j], strict=True)]
        return total

    def _solve(self) -> dict[int, fmpq]:
        weights = {max(range(len(self.wrong)), key=self.wrong.__getitem__): ONE}
        while True:
            values = self._losses(self._w(weights))
            best = max(range(len(values)), key=values.__getitem__)
            if values[best] == max(values[j] for j in weights):
                return weights
            weights[best] = ZERO
            weights = self._inner_loop(weights)

    def _inner_loop(self, weights: dict[int, fmpq]) -> dict[int, fmpq]:
        """Return the best weights of a subset of these labellings that holds the objective."""
        while True:
            support = list(weights)
            direction, most = self._direction(weights)
            steps = {j: -weights[j] / v for j, v in zip(support, direction, strict=True) if v < 0}
            size = min([*steps.values(), *([] if most is None else [most])])
            weights = {j: weights[j] + size * v for j, v in zip(support, direction, strict=True)}
            if most is not None and size == most:
                return {j: v for j, v in weights.items() if v > 0}
            gone = next(j for j, step in steps.items() if step == size)
            weights = {j: v for j, v in weights.items() if j != gone}

    def _direction(self, weights: dict[int, fmpq]) -> tuple[list[fmpq], fmpq | None]:
        """Return the way to the best weights of this support, and 1; or one without end, and None."""
        support = list(weights)
        n = len(support)
        rows = [
            [self.C * inner(self.g[i], self.g[j]) for j in support] + [ONE] for i in support
        ] + [[ONE] * n + [ZERO]]
        try:
            right = [[self.wrong[j]] for j in support] + [[ONE]]
            found = fmpq_mat(rows).solve(fmpq_mat(right)).entries()[:n]
        except ZeroDivisionError:
            null = _null_vector(rows)[:n]
            gain = sum((v * self.wrong[j] for j, v in zip(support, null, strict=True)), ZERO)
            return [v if gain > 0 else -v for v in null], None
        return [v - weights[j] for j, v in zip(support, found, strict=True)], ONE

    def point(self) -> Point:
        """Return the optimal weights rounded to float64, and their marginals."""
        mu = np.zeros((self.problem.n, self.K, self.K))
        for j, weight in self.weights.items():
            labels = self.labellings[j]
            for i, k in enumerate(labels):
                before = labels[i - 1] if i % self.problem.length else 0
                mu[i, before, k] += real(self.C * weight)
        return Point(mu.reshape(self.problem.n, -1), np.array([real(v) for v in self.w]))

    def size_at_zero(self) -> fmpq:
        """Return the primal objective at w = 0."""
        return self.primal([ZERO] * len(self.w))

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
                nodes = [self.C * share for share in _shares(mu[i].sum(axis=0))]
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


def _null_vector(rows: list[list[fmpq]]) -> list[fmpq]:
    """Return a vector that a singular matrix takes to 0."""
    reduced, rank = fmpq_mat(rows).rref()
    size = len(rows)
    pivots = [next(j for j in range(size) if reduced[i, j] != 0) for i in range(rank)]
    loose = next(j for j in range(size) if j not in pivots)
    null = [ZERO] * size
    null[loose] = ONE
    for i, j in enumerate(pivots):
        null[j] = -reduced[i, loose]
    return null
