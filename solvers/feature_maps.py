"""Kernels for linear methods: samples are mapped to finitely many features, then solved as linear ones.

    K ≈ Z Zᵀ (random Fourier or Nyström features, `problems.gram.feature_maps`),   K replaced by Z Zᵀ

The answer for Z Zᵀ is a feasible dual point of the problem itself, and is certified as that: the gap
shows what the approximation cost. How far Z Zᵀ is from K is measured on pairs of samples, and recorded
with the answer. None of them claims anything of the exact problem ("stopped").

Small errors of K add up over all pairs of support vectors. Relative gap of the exact problem on 160
samples of two_moons (RBF, gamma = 2, C = 1): Fourier features 1.05 with 40, 0.40 with 160, 0.05 with
1600, where entries are off by 0.06 at most; Nyström features 0.001 with 40, 5e-9 with 160.

Sources: Rahimi & Recht 2007, "Random features for large-scale kernel machines"; Williams & Seeger 2001,
"Using the Nyström method to speed up kernel machines".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from problems.forms import ERM, BoxQP, FormPoint
from problems.gram.feature_maps import (
    kernel_error,
    nystroem_features,
    random_fourier_features,
)
from problems.gram.gram import Gram, SignedGram
from problems.kernels import RBF, Block, Linear
from problems.validation import check_choice, check_whole
from solvers.base import Solver
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.numerics.warm_up import warm_up
from solvers.pegasos import Pegasos

Map = Literal["nystroem", "random_fourier"]
_SOURCES: dict[Map, str] = {
    "nystroem": "Williams & Seeger 2001",
    "random_fourier": "Rahimi & Recht 2007",
}


class _Mapped(Solver, ABC):
    """Base: map the samples, then solve the linear problem in the variables that both have."""

    components: int
    seed: int

    @abstractmethod
    def _map(self) -> Map:
        """Return which features it takes."""

    @abstractmethod
    def _linear(self) -> Solver:
        """Return the solver of the linear problem."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self._map(), "map", get_args(Map))
        check_whole(self.components, "components")
        # half of the features are cosines, half sines
        if self._map() == "random_fourier" and self.components % 2:
            raise ValueError(
                f"components: must be an even number of 2 or more, got {self.components!r}"
            )
        self._linear()

    def refuses(self, form: Any) -> str | None:
        """What the map or the linear solver refuses, and the hard margin."""
        if self._map() == "random_fourier" and not isinstance(form.gram.kernel, RBF):
            return "random Fourier features are those of the RBF kernel; nystroem takes any kernel"
        if isinstance(form, BoxQP) and not np.isfinite(form.ub).all():
            return "finitely many features need not separate what the kernel does: C must be finite"
        return self._linear().refuses(_with_gram(form, Gram(form.gram.X, Linear())))

    def prepare(self, form: Any) -> Any:
        """Compile the linear solver, for more samples than features and for fewer."""
        warm_up(self, form, samples=400)
        warm_up(self, form, samples=4)
        return form

    def iterates(self, form: Any) -> Iterator[FormPoint]:
        """Map the samples, then yield as the linear solver does."""
        rng = np.random.default_rng(self.seed)
        Z = self._features(form.gram, rng)
        error = kernel_error(form.gram, Z, rng)
        measured = {"kernel_error_max": error.largest, "kernel_error_mean": error.mean}
        note = (
            f"{Z.shape[1]} features: |K - ZZ'| is {error.mean:.2g} on average and at most "
            f"{error.largest:.2g} on {error.pairs} pairs"
        )
        approximate = _with_gram(form, Gram(Z, Linear(), form.gram.memory))
        for point in self._linear().iterates(approximate):
            x = point.x if isinstance(form, BoxQP) else None
            counters = {**point.counters, **measured}
            yield replace(point, x=x, claim="stopped", counters=counters, note=note)

    def _features(self, gram: Gram, rng: np.random.Generator) -> Block:
        if self._map() == "nystroem":
            return nystroem_features(gram, self.components, rng)
        assert isinstance(gram.kernel, RBF)
        return random_fourier_features(gram.X, gram.kernel, self.components, rng)


def _with_gram(form: Any, gram: Gram) -> Any:
    """Return `form` with another Gram matrix."""
    if isinstance(form, BoxQP):
        return replace(form, Q=SignedGram(gram, form.Q.sign, form.Q.index))
    return replace(form, gram=gram)


@dataclass(frozen=True)
class Nystroem(_Mapped):
    """Dual coordinate descent on Nyström features, for any kernel.

    Attributes
    ----------
    components : landmarks drawn from the samples, each for a column of K.
    tol, max_iter : of the coordinate descent.
    seed : of the landmarks, the descent's order, and the pairs on which the error is measured.
    """

    components: int = 200
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = BoxQP
    source: ClassVar[str] = _SOURCES["nystroem"]

    def _map(self) -> Map:
        return "nystroem"

    def _linear(self) -> Solver:
        return DualCoordinateDescent(self.tol, max_iter=self.max_iter, seed=self.seed)


@dataclass(frozen=True)
class RandomFourier(Nystroem):
    """Dual coordinate descent on random Fourier features, for the RBF kernel.

    Attributes
    ----------
    components : features, half of them cosines and half sines.
    tol, max_iter : of the coordinate descent.
    seed : of the frequencies, the descent's order, and the pairs on which the error is measured.
    """

    source: ClassVar[str] = _SOURCES["random_fourier"]

    def _map(self) -> Map:
        return "random_fourier"


@dataclass(frozen=True)
class MappedPegasos(_Mapped):
    """Pegasos, a primal method, on Nyström or random Fourier features.

    Attributes
    ----------
    map : which features: "nystroem" for any kernel, "random_fourier" for the RBF kernel.
    components : number of landmarks, or of Fourier features.
    tol, epochs, max_iter, batch_size : of Pegasos.
    seed : of the map, the samples drawn, and the pairs on which the error is measured.
    """

    map: Map = "nystroem"
    components: int = 200
    tol: float = 1e-3
    epochs: int = 60
    max_iter: int | None = None
    batch_size: int = 1
    seed: int = 0

    form: ClassVar = ERM
    source: ClassVar[str] = f"Shalev-Shwartz et al. 2011; {'; '.join(_SOURCES.values())}"

    def _map(self) -> Map:
        return self.map

    def _linear(self) -> Solver:
        return Pegasos(self.tol, self.epochs, self.max_iter, self.batch_size, seed=self.seed)
