"""Bounds of structured margins on chains that are theorems about the stored data, in balls.

The marginals are those of the Markov chain that has the transitions given, hence exactly consistent;
weights enter as they are. Viterbi's recursion takes the maximum over labellings in balls too.

Cost: about a microsecond for each sample and pair of labels, and for each thousand products.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_mat, ctx

from problems.certificates.certificate import Certificate, relative
from problems.certificates.proofs.balls import above, below, dot
from problems.certificates.proofs.rigorous import Bounds
from problems.dataset import Vector

if TYPE_CHECKING:
    from problems.chains import Chains

_BITS = 256  # sums of products of float64 numbers keep all digits that differences leave

Balls = list[list[Any]]


def proven_chains(chains: Chains, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    point = certificate.point
    assert point.alpha is not None
    assert point.w is not None
    with ctx.workprec(_BITS):
        lower, own = _dual(chains, point.alpha.reshape(*chains.y.shape, chains.K, chains.K))
        U, T = chains.split(point.w)
        uppers = [_primal(chains, U.tolist(), T.tolist())]
        if certificate.bound_source == "alpha":  # the weights are those of the marginals, rounded
            uppers.append(_primal(chains, *own))
        bounds = Bounds(max(0.0, below(lower)), min(map(above, uppers)))
    return replace(
        certificate,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=bounds.gap,
        relative_gap=relative(bounds.gap, bounds.upper, bounds.lower),
        resolution=0.0,
        bound_source=f"proven: {certificate.bound_source}",
    )


def _dual(chains: Chains, mu: Any) -> tuple[Any, tuple[Balls, Balls]]:
    """Return the dual objective of the marginals' Markov chain, and its weights U and T."""
    K, C, wrong = chains.K, arb(chains.C), arb(0)
    T = [[arb(0)] * K for _ in range(K)]
    rows: Balls = []
    for labels, own in zip(chains.y.tolist(), mu, strict=True):
        nodes = [C * share for share in _shares(own[0].sum(axis=0))]
        for t, k in enumerate(labels):
            if t:
                pairs = [
                    [node * share for share in _shares(row)]
                    for node, row in zip(nodes, own[t], strict=True)
                ]
                T = [
                    [u - v for u, v in zip(*both, strict=True)]
                    for both in zip(T, pairs, strict=True)
                ]
                T[labels[t - 1]][k] += C
                nodes = [sum(column, arb(0)) for column in zip(*pairs, strict=True)]
            rest = sum((node for j, node in enumerate(nodes) if j != k), arb(0))
            wrong += rest
            rows.append([rest if j == k else -node for j, node in enumerate(nodes)])
    U = (arb_mat(rows).transpose() * arb_mat(chains.rows.tolist())).tolist()
    norm2 = sum((dot(row, row) for row in (*U, *T)), arb(0))
    return wrong - norm2 / 2, (U, T)


def _shares(weights: Vector) -> list[Any]:
    """Return exact weights divided by their sum; equal ones where all are 0."""
    balls = [arb(v) for v in weights.tolist()]
    total = sum(balls, arb(0))
    return [v / total for v in balls] if np.any(weights) else [arb(1) / len(balls)] * len(balls)


def _primal(chains: Chains, U: Balls, T: Balls) -> Any:
    """Return the primal objective at weights U and T."""
    scores = (arb_mat(chains.rows.tolist()) * arb_mat(U).transpose()).tolist()
    labels = range(chains.K)
    T = [[arb(v) for v in row] for row in T]
    loss = arb(0)
    for s, given in enumerate(chains.y.tolist()):
        best: list[Any] = []
        for t, k in enumerate(given):
            own = scores[s * len(given) + t]
            nodes = [own[j] - own[k] + int(j != k) for j in labels]
            if t:
                before = T[given[t - 1]][k]
                through = [_largest([best[a] + T[a][j] for a in labels]) - before for j in labels]
                nodes = [u + v for u, v in zip(nodes, through, strict=True)]
            best = nodes
        loss += _largest(best)
    norm2 = sum((dot(row, row) for row in (*arb_mat(U).tolist(), *T)), arb(0))
    return norm2 / 2 + arb(chains.C) * loss


def _largest(values: list[Any]) -> Any:
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return largest
