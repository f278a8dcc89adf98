"""Kernels for linear methods: samples are mapped to finitely many features, and solved as linear.

Random Fourier features of the RBF kernel (Rahimi & Recht 2007; pairs of cosine and sine as in
Sutherland & Schneider 2015): exp(−gamma·‖x − z‖²) = E cos ωᵀ(x − z) with ω ~ N(0, 2·gamma·I), so
    z(x) = √(2/m)·[cos ω₁ᵀx, sin ω₁ᵀx, ..., cos ω_{m/2}ᵀx, sin ω_{m/2}ᵀx].
Nyström features of any kernel (Williams & Seeger 2001): with m landmarks L among the samples,
    Z = K[:, L] K[L, L]^{−½},   Z Zᵀ = K[:, L] K[L, L]⁺ K[L, :],   exact for the landmarks.
The error of the entries falls like m^{−½} for the first, and like K's eigenvalues from the m-th on for
the second.

The answer for Z Zᵀ is a feasible dual point of the original problem, and is certified as such: the gap
shows the cost of the approximation. The error of Z Zᵀ is measured on pairs of samples, and recorded with
the answer. Neither solver claims an optimum of the exact problem ("stopped").

Small errors of K add up over all pairs of support vectors. Relative gap of the exact problem on 160
samples of two_moons (RBF, gamma = 2, C = 1): with Fourier features 1.05 for 40 of them, 0.40 for 160,
0.05 for 1600 (entries with errors up to 0.06); with Nyström features 0.001 for 40, 5e-9 for 160.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.problems.kernels import RBF, Block, Linear, inner_products
from dualgap.problems.validation import check_integer
from dualgap.solvers.base import Solver
from dualgap.solvers.dual_coordinate_descent import DualCoordinateDescent
from dualgap.solvers.needs import ALL_IN_EQUALITIES, FINITE_BOUNDS, ONE_EQUALITY, RBF_KERNEL


@dataclass(frozen=True)
class Nystroem(Solver):
    """Dual coordinate descent on Nyström features, for any kernel.

    Attributes
    ----------
    components : landmarks drawn from the samples, one per column of K.
    tol, max_iter : of the coordinate descent.
    seed : for the landmarks, the order of the descent, and the pairs for measuring the error.
    """

    components: int = 200
    tol: float | None = None
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = BoxQP
    needs: ClassVar = (FINITE_BOUNDS, ONE_EQUALITY, ALL_IN_EQUALITIES)
    warm_up_size: ClassVar = DualCoordinateDescent.warm_up_size
    source: ClassVar[str] = "Williams & Seeger 2001"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.components, "components")

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Map the samples, then yield as the linear solver does."""
        rng = np.random.default_rng(self.seed)
        Z = self.features(form.gram, rng)
        # the error is measured on all pairs between two sets of this size
        size = min(64, form.gram.n)
        rows, cols = (rng.choice(form.gram.n, size, replace=False) for _ in range(2))
        error = np.abs(form.gram.block(rows, cols) - Z[rows] @ Z[cols].T)
        mean, largest = float(error.mean()), float(error.max())
        note = (
            f"{Z.shape[1]} features: |K - ZZ'| is {mean:.2g} on average and at most {largest:.2g} on "
            f"{error.size} pairs"
        )
        measured = {"kernel_error_max": largest, "kernel_error_mean": mean}
        approximate = _with_gram(form, Gram(Z, Linear(), form.gram.memory))
        for point in self._linear().iterates(approximate):
            counters = {**point.counters, **measured}
            yield replace(point, claim="stopped", counters=counters, note=note)

    def features(self, gram: Gram, rng: np.random.Generator) -> Block:
        """Return features (n, r) from random landmarks, at most `components` of them.

        r is the numerical rank of K[L, L]: directions that are 0 up to rounding are left out, as are the
        negative ones of an indefinite kernel.
        """
        landmarks = np.sort(rng.permutation(gram.n)[: self.components])
        columns = gram.block(landmarks, slice(None)).T
        values, vectors = np.linalg.eigh(columns[landmarks])
        rounding = landmarks.size * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))
        positive = values > rounding
        if not positive.any():
            return np.zeros((gram.n, 1))
        return np.ascontiguousarray(columns @ (vectors[:, positive] / np.sqrt(values[positive])))

    def _linear(self) -> DualCoordinateDescent:
        return DualCoordinateDescent(self.tolerance, max_iter=self.max_iter, seed=self.seed)


@dataclass(frozen=True)
class RandomFourier(Nystroem):
    """Dual coordinate descent on random Fourier features, for the RBF kernel.

    Attributes
    ----------
    components : features, half of them cosines and half sines.
    tol, max_iter : of the coordinate descent.
    seed : for the frequencies, the order of the descent, and the pairs for measuring the error.
    """

    needs: ClassVar = (RBF_KERNEL, *Nystroem.needs)
    source: ClassVar[str] = "Rahimi & Recht 2007"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.components % 2:
            raise ValueError(
                f"components: must be even, half cosines and half sines, got {self.components!r}"
            )

    def features(self, gram: Gram, rng: np.random.Generator) -> Block:
        """Return features (n, components) at random frequencies."""
        assert isinstance(gram.kernel, RBF)
        m = self.components
        frequencies = np.sqrt(2 * gram.kernel.gamma) * rng.standard_normal(
            (m // 2, gram.X.shape[1])
        )
        angles = inner_products(gram.X, frequencies)
        return np.sqrt(2 / m) * np.hstack([np.cos(angles), np.sin(angles)])


def _with_gram(form: BoxQP, gram: Gram) -> BoxQP:
    """Return `form` with another Gram matrix."""
    return replace(form, Q=SignedGram(gram, form.Q.sign, form.Q.index))
