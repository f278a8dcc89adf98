"""One classifier for each pair of classes: LIBSVM's layout of their coefficients, and the vote.

The machine of classes i < j has f(x) > 0 for class i. `dual_coef_` is of shape (K − 1, support vectors):
its row j − 1 holds the β of class i's samples against class j, its row i those of class j's against i
(Chang & Lin 2011, section 7). With two classes there is one row, and f(x) > 0 is the second class.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from problems import Vector
from problems.dataset import Indices
from problems.kernels import Block

Wins = NDArray[np.bool_]


def pairs_of(classes: int) -> list[tuple[int, int]]:
    """Return all pairs i < j, in LIBSVM's order."""
    return list(combinations(range(classes), 2))


def put(duals: Block, rows: Indices, labels: Indices, beta: Vector, pair: tuple[int, int]) -> None:
    """Write a pair's β for the samples `rows` to `duals` (K − 1, n)."""
    i, j = pair
    first = labels[rows] == i
    duals[j - 1, rows[first]] = beta[first]
    duals[i, rows[~first]] = beta[~first]


def pair_coefficients(duals: Block, labels: Indices) -> Block:
    """Return β of each pair's machine, shape (pairs, n), from LIBSVM's layout (K − 1, n)."""
    pairs = pairs_of(duals.shape[0] + 1)
    coefficients = np.zeros((len(pairs), labels.size))
    for k, (i, j) in enumerate(pairs):
        coefficients[k] = np.where(labels == i, duals[j - 1], 0.0)
        coefficients[k, labels == j] = duals[i, labels == j]
    return coefficients


def votes(first_wins: Wins, classes: int) -> Block:
    """Return each class's wins, shape (m, K), given for which pairs (m, pairs) the first class wins."""
    count = np.zeros((first_wins.shape[0], classes))
    for k, (i, j) in enumerate(pairs_of(classes)):
        count[:, i] += first_wins[:, k]
        count[:, j] += ~first_wins[:, k]
    return count


def one_vs_rest(decisions: Block, classes: int) -> Block:
    """Return scikit-learn's decision_function_shape="ovr", shape (m, K).

    The votes, and s/(3(|s| + 1)) to break ties by the sum s of the decisions in favour of a class.
    """
    total = np.zeros((decisions.shape[0], classes))
    for k, (i, j) in enumerate(pairs_of(classes)):
        total[:, i] += decisions[:, k]
        total[:, j] -= decisions[:, k]
    return votes(decisions >= 0, classes) + total / (3.0 * (np.abs(total) + 1.0))
