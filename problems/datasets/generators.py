"""Random data sets with a known structure, reproducible from their seeds.

Every generator draws from ``numpy.random.default_rng(seed)`` and returns its rows in random
order, so that the first rows are a random sample too.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Vector
from dualgap.problems.datasets.source import Generator, Raw, count, number


@dataclass(frozen=True, kw_only=True)
class TwoGaussians(Generator):
    """Two Gaussian clouds of unit variance, x ~ N(±(distance/2)·u, I) with u = 1/√d.

    Parameters
    ----------
    n, d : number of samples and of features.
    distance : distance of the two means, in standard deviations.
    imbalance : negative samples per positive one: 1 is balanced, 1000 means 1:1000. Each class
        keeps at least one sample.
    outliers : fraction of the positive samples that are moved by 4·distance away from the other class
        and by 4·distance to one side of the line through the means.
    """

    origin: ClassVar[str] = "two Gaussian clouds, generated"

    n: int = count(200, low=2)
    d: int = count(2, low=1)
    distance: float = number(2.0)
    imbalance: float = number(1.0, above=True)
    outliers: float = number(0.0, high=1.0)

    def _draw(self, rng: np.random.Generator) -> Raw:
        n_positive = min(max(round(self.n / (1 + self.imbalance)), 1), self.n - 1)
        y = rng.permutation(np.where(np.arange(self.n) < n_positive, 1.0, -1.0))
        mean = 0.5 * self.distance / np.sqrt(self.d)
        X = rng.standard_normal((self.n, self.d)) + mean * y[:, None]
        shifted = np.flatnonzero(y > 0)[: round(self.outliers * n_positive)]
        direction = np.where(np.arange(self.d) % 2 == 0, 2.0, 0.0)  # of the diagonal, by 45° or so
        X[shifted] += 4.0 * self.distance / np.sqrt(self.d) * direction
        return Raw(X, y)


@dataclass(frozen=True, kw_only=True)
class FourGaussians(Generator):
    """Four planar clouds of unit variance, one class on either side of a bent border.

    Centres (−1, −2) and (2, 3) have the label −1, centres (−4, 8) and (6, 0) the label +1;
    each has a quarter of the n samples (200 by default).
    """

    size: ClassVar[str] = "n x 2"
    origin: ClassVar[str] = "four Gaussian clouds, generated"
    # labels alternate, so that any n ≥ 2 has both
    centres: ClassVar[tuple[tuple[float, float], ...]] = ((-1, -2), (-4, 8), (2, 3), (6, 0))

    n: int = count(800, low=2)

    def _draw(self, rng: np.random.Generator) -> Raw:
        cloud = rng.permutation(np.arange(self.n) % 4)
        X = np.array(self.centres)[cloud] + rng.standard_normal((self.n, 2))
        return Raw(X, np.where(cloud % 2 == 1, 1.0, -1.0))


@dataclass(frozen=True, kw_only=True)
class TwoMoons(Generator):
    """Two interleaved half circles of radius 1, with Gaussian noise.

    With t uniform on [0, π]: (cos t, sin t) for −1 and (1 − cos t, 1/2 − sin t) for +1.

    Parameters
    ----------
    n : number of samples, half of them in each class.
    noise : standard deviation of the noise on each coordinate.
    """

    size: ClassVar[str] = "n x 2"
    origin: ClassVar[str] = "two half circles, generated"

    n: int = count(200, low=2)
    noise: float = number(0.1)

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = rng.permutation(np.where(np.arange(self.n) % 2 == 0, 1.0, -1.0))
        t = rng.uniform(0.0, np.pi, self.n)
        outer = np.column_stack([np.cos(t), np.sin(t)])
        inner = np.column_stack([1.0 - np.cos(t), 0.5 - np.sin(t)])
        X = np.where(y[:, None] > 0, inner, outer)
        return Raw(X + self.noise * rng.standard_normal((self.n, 2)), y)


@dataclass(frozen=True, kw_only=True)
class Classification(Generator):
    """Clusters on the corners of a hypercube among uninformative features.

    scikit-learn's `make_classification` (after I. Guyon, 2003), with two clusters per class
    (one if there is a single informative feature).

    Parameters
    ----------
    n, d : number of samples and of features.
    informative : number of features that distinguish the classes; the others are N(0, 1).
    class_sep : half the edge length of the hypercube.
    flip : fraction of the labels that are drawn at random.
    imbalance : negative samples per positive one, before flipping.
    """

    origin: ClassVar[str] = "make_classification of scikit-learn"

    n: int = count(200, low=2)
    d: int = count(20, low=1)
    informative: int = count(5, low=1)
    class_sep: float = number(1.0)
    flip: float = number(0.01, high=1.0)
    imbalance: float = number(1.0, above=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.informative > self.d:
            raise ValueError(f"informative: must be at most d = {self.d}, got {self.informative}")

    def _draw(self, rng: np.random.Generator) -> Raw:
        from sklearn.datasets import make_classification  # noqa: PLC0415 - slow to import

        X, y = make_classification(
            n_samples=self.n,
            n_features=self.d,
            n_informative=self.informative,
            n_redundant=0,
            n_clusters_per_class=1 if self.informative == 1 else 2,
            weights=[self.imbalance / (1 + self.imbalance)],
            flip_y=self.flip,
            class_sep=self.class_sep,
            random_state=int(rng.integers(2**31)),
        )
        return Raw(np.asarray(X, dtype=np.float64), np.where(np.asarray(y) == 1, 1.0, -1.0))


@dataclass(frozen=True, kw_only=True)
class Regression(Generator):
    """A linear target of unit variance with noise, y = Xw + b + noise·ε, and gross outliers.

    X ~ N(0, I), ‖w‖ = 1, b ~ N(0, 1), ε ~ N(0, 1).

    Parameters
    ----------
    n, d : number of samples and of features.
    noise : standard deviation of the noise; that of Xw is 1.
    outliers : fraction of the targets that are shifted by 5 to 10, up or down.
    """

    task: ClassVar = "regression"
    origin: ClassVar[str] = "linear target with noise and outliers, generated"

    n: int = count(200, low=2)
    d: int = count(10, low=1)
    noise: float = number(0.1)
    outliers: float = number(0.0, high=1.0)

    def _draw(self, rng: np.random.Generator) -> Raw:
        X, w, b = rng.standard_normal((self.n, self.d)), _direction(rng, self.d), rng.normal()
        y = X @ w + b + self.noise * rng.standard_normal(self.n)
        gross = rng.permutation(self.n)[: round(self.outliers * self.n)]
        y[gross] += rng.choice([-1.0, 1.0], gross.size) * rng.uniform(5.0, 10.0, gross.size)
        return Raw(X, y)


@dataclass(frozen=True, kw_only=True)
class Friedman(Generator):
    """Friedman #1: y = 10 sin(π x₁x₂) + 20 (x₃ − ½)² + 10 x₄ + 5 x₅ + noise·ε.

    x uniform on [0, 1]ᵈ; features after the fifth have no effect (J. H. Friedman,
    "Multivariate adaptive regression splines", 1991, section 4.3).

    Parameters
    ----------
    n, d : number of samples and of features, d at least 5.
    noise : standard deviation of the noise.
    """

    task: ClassVar = "regression"
    origin: ClassVar[str] = "Friedman #1 (1991), generated"

    n: int = count(200, low=2)
    d: int = count(10, low=5)
    noise: float = number(1.0)

    def _draw(self, rng: np.random.Generator) -> Raw:
        X = rng.uniform(size=(self.n, self.d))
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        y += 10 * X[:, 3] + 5 * X[:, 4] + self.noise * rng.standard_normal(self.n)
        return Raw(X, y)


@dataclass(frozen=True, kw_only=True)
class Separable(Generator):
    """Linearly separable classes whose maximum margin is known.

    With a random unit vector u every sample has y·uᵀx ≥ margin, and one pair of opposite
    samples, c ± margin·u with c ⟂ u, attains it. The convex hulls of the classes are therefore
    exactly 2·margin apart: the hard-margin solution is w = u / margin, b = 0, with or without
    an intercept, and its objective ½‖w‖² = 1 / (2·margin²).

    Parameters
    ----------
    n, d : number of samples, half of them in each class, and of features.
    margin : distance of the nearest samples of either class from the separating hyperplane.
        `standardize` changes it.
    """

    origin: ClassVar[str] = "separable with a known margin, generated"

    n: int = count(200, low=2)
    d: int = count(2, low=1)
    margin: float = number(0.5, above=True)

    def _draw(self, rng: np.random.Generator) -> Raw:
        u = _direction(rng, self.d)
        y = np.where(np.arange(self.n) % 2 == 0, 1.0, -1.0)
        parallel = rng.standard_normal((self.n, self.d))
        parallel -= np.outer(parallel @ u, u)
        distance = self.margin + np.abs(rng.standard_normal(self.n))
        parallel[1], distance[:2] = parallel[0], self.margin
        X = parallel + np.outer(y * distance, u)
        order = rng.permutation(self.n)
        return Raw(X[order], y[order])


@dataclass(frozen=True, kw_only=True)
class SparseClassification(Generator):
    """Sparse samples (CSR) labelled by the sign of a random linear function, in two halves.

    Values and weights are N(0, 1); the half of the samples with the larger wᵀx has label +1.

    Parameters
    ----------
    n, d : number of samples and of features.
    density : fraction of nonzero entries; there is at least one.
    """

    origin: ClassVar[str] = "sparse linear classification, generated"

    n: int = count(200, low=2)
    d: int = count(1000, low=1)
    density: float = number(0.01, high=1.0, above=True)

    def _draw(self, rng: np.random.Generator) -> Raw:
        stored = max(1, round(self.density * self.n * self.d))
        position = rng.choice(self.n * self.d, stored, replace=False)
        entries = (rng.standard_normal(stored), (position // self.d, position % self.d))
        X = scipy.sparse.csr_array(entries, shape=(self.n, self.d))
        rank = np.argsort(np.argsort(X @ rng.standard_normal(self.d), kind="stable"))
        return Raw(X, np.where(rank >= self.n // 2, 1.0, -1.0))


@dataclass(frozen=True, kw_only=True)
class Blobs(Generator):
    """Gaussian clouds of unit variance around a circle in the plane, one per class 0, 1, ...

    Class k has its centre at radius·(cos φ, sin φ) with φ = 2πk/classes. Keep all classes with
    `multiclass`, or choose the one that becomes +1 with `positive`.

    Parameters
    ----------
    n : number of samples, about the same in each class.
    classes : number of classes.
    radius : distance of the centres from the origin, in standard deviations.
    """

    size: ClassVar[str] = "n x 2"
    origin: ClassVar[str] = "Gaussian clouds around a circle, generated; several classes"

    n: int = count(150, low=2)
    classes: int = count(3, low=2)
    radius: float = number(3.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < self.classes:
            raise ValueError(f"n: must be at least classes = {self.classes}, got {self.n}")

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = rng.permutation(np.arange(self.n) % self.classes)
        angle = 2.0 * np.pi * y / self.classes
        centres = self.radius * np.column_stack([np.cos(angle), np.sin(angle)])
        return Raw(centres + rng.standard_normal((self.n, 2)), y)


def _direction(rng: np.random.Generator, d: int) -> Vector:
    """Draw a unit vector (d,), uniformly."""
    vector: NDArray[np.float64] = rng.standard_normal(d)
    return vector / np.linalg.norm(vector)
