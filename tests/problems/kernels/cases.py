"""Kernels of every class, each with samples of its kind."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dualgap.problems import (
    RBF,
    Exponential,
    Fisher,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    SetIntersection,
    Sigmoid,
    Spectrum,
    Subset,
    WeisfeilerLehman,
    encode_graphs,
    encode_sets,
    encode_strings,
)

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((40, 4)), rng.standard_normal((9, 4))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
ROOT = rng.standard_normal((4, 3))
FORM = ROOT @ ROOT.T  # of rank 3
MATRIX = tuple(map(tuple, ((FORM + FORM.T) / 2).tolist()))
LETTERS = encode_strings(["".join(rng.choice(list("AB"), k)) for k in range(24)])
SETS = encode_sets([set(np.flatnonzero(rng.random(9) < 0.5).tolist()) for _ in range(24)])
GRAPHS = encode_graphs([nx.gnp_random_graph(8, 0.5, seed=k) for k in range(24)])


def squared(x, z):
    return np.sum((x - z) ** 2)


# with the formula
CLOSED = {
    "linear": (Linear(), lambda x, z: x @ z),
    "polynomial": (Polynomial(3, 0.5, 2.0), lambda x, z: (0.5 * x @ z + 2.0) ** 3),
    "homogeneous": (Polynomial(2, coef0=0.0), lambda x, z: (x @ z) ** 2),
    "rbf": (RBF(0.7), lambda x, z: np.exp(-0.7 * squared(x, z))),
    "sigmoid": (Sigmoid(0.3, -0.2), lambda x, z: np.tanh(0.3 * x @ z - 0.2)),
    "sum": (Linear() + RBF(0.7), lambda x, z: x @ z + np.exp(-0.7 * squared(x, z))),
    "product": (
        Polynomial(2) * RBF(0.7),
        lambda x, z: (x @ z + 1) ** 2 * np.exp(-0.7 * squared(x, z)),
    ),
    "multiple": (0.3 * RBF(0.7), lambda x, z: 0.3 * np.exp(-0.7 * squared(x, z))),
    "mixed": (
        2 * (Linear() + Polynomial(2)) * RBF(1.0),
        lambda x, z: 2 * (x @ z + (x @ z + 1) ** 2) * np.exp(-squared(x, z)),
    ),
    "subset": (Subset(RBF(1.0), (2, 0)), lambda x, z: np.exp(-squared(x[[0, 2]], z[[0, 2]]))),
    "sum of two subsets": (
        Subset(Linear(), (0, 1)) + Subset(Polynomial(2), (1, 3)),
        lambda x, z: x[:2] @ z[:2] + (x[[1, 3]] @ z[[1, 3]] + 1) ** 2,
    ),
    "product of two subsets": (
        Subset(Linear(), (0, 1)) * Subset(RBF(0.2), (3,)),
        lambda x, z: x[:2] @ z[:2] * np.exp(-0.2 * (x[3] - z[3]) ** 2),
    ),
    "exponential": (Exponential(0.3 * Linear()), lambda x, z: np.exp(0.3 * x @ z)),
    "quadratic form": (QuadraticForm(MATRIX), lambda x, z: (ROOT.T @ x) @ (ROOT.T @ z)),
    "polynomial of": (
        PolynomialOf(RBF(0.5), (0.5, 0.0, 2.0, 1.0)),
        lambda x, z: 0.5 + 2 * np.exp(-squared(x, z)) + np.exp(-1.5 * squared(x, z)),
    ),
    "nested": (
        Exponential(PolynomialOf(Subset(QuadraticForm(((2, 1), (1, 2))), (1, 2)), (0.1, 0.2))),
        lambda x, z: np.exp(0.1 + 0.2 * x[1:3] @ np.array([[2, 1], [1, 2]]) @ z[1:3]),
    ),
}
CASES: dict[str, tuple[Kernel, np.ndarray | sp.csr_array]] = {
    **{name: (kernel, X) for name, (kernel, _) in CLOSED.items()},
    **{f"{name}, sparse": (kernel, SPARSE) for name, (kernel, _) in CLOSED.items()},
    "precomputed": (Precomputed() + Precomputed(), X @ X.T),
    "fisher": (Fisher(3).fit(X), X),
    "sum with fisher": (Fisher(3).fit(X) + Linear(), X),
    "sets": (SetIntersection(), SETS),
    "sets, normalised": (SetIntersection(normalize=True), SETS),
    "strings": (Spectrum(2), LETTERS),
    "strings, normalised": (Spectrum(1) * Spectrum(3, normalize=True), LETTERS),
    "graphs": (WeisfeilerLehman(1), GRAPHS),
    "graphs, normalised": (WeisfeilerLehman(2, normalize=True), GRAPHS),
}
# columns of zeros that a sample may have more; a graph of 8 vertices has 36 entries, one of 9 has 45
ROOM = {"sets": 5, "strings": 5, "graphs": 9}
