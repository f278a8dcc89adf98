"""Kernels for linear methods: samples are mapped to finitely many features, then solved as linear ones.

    K ≈ Z Zᵀ (random Fourier or Nyström features, `problems.gram.feature_maps`),   K replaced by Z Zᵀ

The answer for Z Zᵀ is a feasible dual point of the problem itself, and is certified as that: the gap
tells what the approximation cost. How far Z Zᵀ is from K is measured on pairs of samples, and recorded
with the answer. None of them claims anything of the exact problem ("stopped").

Small errors of K add up over all pairs of support vectors. Relative gap of the exact problem on 160
samples of two_moons (RBF, gamma = 2, C = 1): Fourier features 1.05 with 40, 0.40 with 160, 0.05 with
1600, where entries are off by 0.06 at most; Nyström features 0.001 with 40, 5e-9 with 160.

Sources: Rahimi & Recht 2007, "Random features for large-scale kernel machines"; Williams & Seeger 2001,
"Using the Nyström method to speed up kernel machines".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from problems.forms import ERM, BoxQP, FormPoint
from problems.gram.feature_maps import (
    KernelError,
    kernel_error,
    nystroem_features,
    random_fourier_features,
)
from problems.gram.gram import Gram, SignedGram
from problems.kernels import RBF, Block, Linear
from solvers.base import Solver, warm_up
from solvers.dual_coordinate_descent import DualCoordinateDescent
from solvers.pegasos import Pegasos

Map = Literal["nystroem", "random_fourier"]
_SOURCES = {"nystroem": "Williams & Seeger 2001", "random_fourier": "Rahimi & Recht 2007"}


@dataclass(frozen=True)
class Nystroem(Solver):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self.components, "nystroem")

    def refuses(self, form: BoxQP) -> str | None:
        """What coordinate descent refuses, and the hard margin."""
        return _refuses_box(form)

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the descent, for more samples than features and for fewer."""
        return _prepared(self, form)

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Map the samples, then yield as coordinate descent does."""
        rng = np.random.default_rng(self.seed)
        Z = nystroem_features(form.gram, self.components, rng)
        descent = DualCoordinateDescent(self.tol, max_iter=self.max_iter, seed=self.seed)
        yield from _mapped(descent, form, Z, rng)


@dataclass(frozen=True)
class RandomFourier(Solver):
    """Dual coordinate descent on random Fourier features, for the RBF kernel.

    Attributes
    ----------
    components : features, half of them cosines and half sines.
    tol, max_iter : of the coordinate descent.
    seed : of the frequencies, the descent's order, and the pairs on which the error is measured.
    """

    components: int = 200
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = BoxQP
    source: ClassVar[str] = _SOURCES["random_fourier"]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self.components, "random_fourier")

    def refuses(self, form: BoxQP) -> str | None:
        """Frequencies are drawn from the kernel's Fourier transform; else as `nystroem`."""
        return _refuses_map(form.gram, "random_fourier") or _refuses_box(form)

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the descent, for more samples than features and for fewer."""
        return _prepared(self, form)

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Map the samples, then yield as coordinate descent does."""
        rng = np.random.default_rng(self.seed)
        Z = _features(form.gram, "random_fourier", self.components, rng)
        descent = DualCoordinateDescent(self.tol, max_iter=self.max_iter, seed=self.seed)
        yield from _mapped(descent, form, Z, rng)


@dataclass(frozen=True)
class MappedPegasos(Solver):
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map not in get_args(Map):
            raise ValueError(f"map: must be one of {', '.join(get_args(Map))}, got {self.map!r}")
        _check_components(self.components, self.map)
        self._pegasos()

    def _pegasos(self) -> Pegasos:
        return Pegasos(self.tol, self.epochs, self.max_iter, self.batch_size, seed=self.seed)

    def refuses(self, form: ERM) -> str | None:
        """What the map or Pegasos on linear features refuses."""
        linear = replace(form, gram=Gram(form.gram.X, Linear()))
        return _refuses_map(form.gram, self.map) or self._pegasos().refuses(linear)

    def prepare(self, form: ERM) -> ERM:
        """Compile the steps."""
        warm_up(self, form)
        return form

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Map the samples, then yield as Pegasos does."""
        rng = np.random.default_rng(self.seed)
        Z = _features(form.gram, self.map, self.components, rng)
        yield from _mapped(self._pegasos(), form, Z, rng)


def _check_components(components: int, chosen: Map) -> None:
    least, step = (2, 2) if chosen == "random_fourier" else (1, 1)
    if components < least or components % step:
        wanted = "an even number of 2" if step == 2 else "a whole number of 1"
        raise ValueError(f"components: must be {wanted} or more, got {components!r}")


def _refuses_map(gram: Gram, chosen: Map) -> str | None:
    if chosen == "random_fourier" and not isinstance(gram.kernel, RBF):
        return "random Fourier features are those of the RBF kernel; nystroem takes any kernel"
    return None


def _refuses_box(form: BoxQP) -> str | None:
    if not np.isfinite(form.ub).all():
        return "finitely many features need not separate what the kernel does: C must be finite"
    if form.groups is not None:
        return "dual coordinate descent holds one equality at most, and this problem has several"
    if form.a is not None and (form.a == 0).any():
        return "dual coordinate descent needs every coefficient of the equality to be nonzero"
    return None


def _prepared(solver: Any, form: BoxQP) -> BoxQP:
    warm_up(solver, form, samples=400)
    warm_up(solver, form, samples=4)
    return form


def _features(gram: Gram, chosen: Map, components: int, rng: np.random.Generator) -> Block:
    if chosen == "nystroem":
        return nystroem_features(gram, components, rng)
    assert isinstance(gram.kernel, RBF)
    return random_fourier_features(gram.X, gram.kernel, components, rng)


def _mapped(
    solver: Solver, form: BoxQP | ERM, Z: Block, rng: np.random.Generator
) -> Iterator[FormPoint]:
    """Yield what `solver` does with Z Zᵀ in place of K, in the variables that both problems have."""
    error = kernel_error(form.gram, Z, rng)
    linear = Gram(Z, Linear(), form.gram.memory)
    if isinstance(form, BoxQP):
        approximate = replace(form, Q=SignedGram(linear, form.Q.sign, form.Q.index))
    else:
        approximate = replace(form, gram=linear)
    measured = {"kernel_error_max": error.largest, "kernel_error_mean": error.mean}
    note = _told(error, Z.shape[1])
    for point in solver.iterates(approximate):
        x = point.x if isinstance(form, BoxQP) else None
        counters = {**point.counters, **measured}
        yield replace(point, x=x, claim="stopped", counters=counters, note=note)


def _told(error: KernelError, features: int) -> str:
    return (
        f"{features} features: |K - ZZ'| is {error.mean:.2g} on average and at most "
        f"{error.largest:.2g} on {error.pairs} pairs"
    )
