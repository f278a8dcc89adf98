"""Both bounds of a structured margin on chains in balls: the recursions of `Chains` itself.

The marginals are those of a Markov chain whose transitions the float64 marginals give, hence of a
distribution: exactly feasible, whatever is rounded. Of the best labelling only the score is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb

from problems.certificates.proofs.balls import balls
from problems.chains import Chains
from problems.dataset import Vector

_largest: Any = np.frompyfunc(arb.max, 2, 1)


def enclosure(chains: Chains, mu: Vector, w: Vector | None) -> Callable[[], tuple[Any, Any]]:
    """Return a function that evaluates both bounds as balls, at the current precision.

    Parameters
    ----------
    chains : the sequences.
    mu : marginals of total C, of any consistency. w : weights; None for those of the marginals.
    """

    def evaluate() -> tuple[Any, Any]:
        exact = replace(chains, X=balls(chains.X))
        lower, own = exact.dual(exact.consistent(balls(mu.reshape(*chains.y.shape, -1))))
        return lower, _primal_value(exact, own if w is None else balls(w))

    return evaluate


def _primal_value(chains: Chains, w: Any) -> Any:
    nodes, T = chains.scores(w)
    given = np.eye(chains.K)[chains.y]
    own = (nodes * given).sum() + T[chains.y[:, :-1], chains.y[:, 1:]].sum()
    augmented = nodes + (1.0 - given)
    best = augmented[:, 0]
    for t in range(1, augmented.shape[1]):
        best = _largest.reduce(best[:, :, None] + T, axis=1) + augmented[:, t]
    return w @ w / 2 + chains.C * (_largest.reduce(best, axis=1).sum() - own)
