"""Solvers that say of their answers what is not so.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from problems import FormPoint
from problems.projection import project
from solvers import SMO

_SMALL = 1e-6  # far above what a step is where the features are 1e8


@dataclass(frozen=True)
class Overclaims(SMO):
    """It claims an optimum where every dual variable is a third too small."""

    expected: ClassVar[str] = "claims"
    words: ClassVar[str] = "claims optimal, but the certified bounds are"

    def iterates(self, state):
        for point in super().iterates(state):
            yield replace(point, x=point.x / 1.5)


@dataclass(frozen=True)
class DeniesSuccess(SMO):
    """Its answer is right, and it claims that there is none."""

    expected: ClassVar[str] = "claims"
    words: ClassVar[str] = "claims infeasible"

    def iterates(self, state):
        for point in super().iterates(state):
            yield replace(point, claim="infeasible" if point.claim == "optimal" else point.claim)


@dataclass(frozen=True)
class SaysNothing(SMO):
    """Its answer is right, and it ends without a claim."""

    expected: ClassVar[str] = "claims"
    words: ClassVar[str] = "ends without a claim"

    def iterates(self, state):
        for point in super().iterates(state):
            yield replace(point, claim="none")


@dataclass(frozen=True)
class GivesUp(SMO):
    """It claims infeasibility without having tried."""

    expected: ClassVar[str] = "claims"
    words: ClassVar[str] = "claims infeasible"

    def iterates(self, form):
        yield FormPoint(np.zeros(form.n), claim="infeasible")


@dataclass(frozen=True)
class SolvesTheInfeasible(SMO):
    """It claims an optimum of every hard margin, also where there is none."""

    expected: ClassVar[str] = "infeasibility"
    words: ClassVar[str] = "infeasible (proven)"

    def iterates(self, form):
        for point in super().iterates(form):
            yield replace(point, claim="optimal")


@dataclass(frozen=True)
class Impatient(SMO):
    """It claims an optimum after 20 steps for each sample, which suffices on scaled data only."""

    expected: ClassVar[str] = "large C"
    words: ClassVar[str] = "on C=1e12: linear: claims optimal"

    def iterates(self, form):
        for point in SMO(max_iter=20 * form.n).iterates(form):
            yield replace(point, claim="optimal" if point.claim == "stopped" else point.claim)


@dataclass(frozen=True)
class AbsoluteTolerance(SMO):
    """It ends where no variable moves by more than 1e-6 in a step, in whatever unit the features are."""

    expected: ClassVar[str] = "large features"
    words: ClassVar[str] = "claims optimal"

    def prepare(self, form):
        return form

    def iterates(self, form):
        Q, x = form.Q.dense(), np.zeros(form.n)
        step = 1.0 / max(1.0, float(np.trace(Q)))
        for count in range(1, 5_000):
            moved = project(x - step * (Q @ x + form.p), form.lb, form.ub, form.a)
            ended = float(np.abs(moved - x).max()) < _SMALL
            x = moved
            if ended:
                yield FormPoint(x, iterations=count, claim="optimal")
                return
        yield FormPoint(x, iterations=count, claim="stopped")
