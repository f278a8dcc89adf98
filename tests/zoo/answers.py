"""Solvers whose answers are no answers. Each is right but for one thing.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from solvers import SMO


class _Faulty(SMO):
    """SMO, whose every point goes through `spoil`."""

    expected: ClassVar[str] = "answers"
    words: ClassVar[str] = ""

    def spoil(self, point):
        return point

    def iterates(self, state):
        for point in super().iterates(state):
            yield self.spoil(point)


@dataclass(frozen=True)
class NaN(_Faulty):
    """One entry of each answer is NaN."""

    words: ClassVar[str] = "NaN or infinite"

    def spoil(self, point):
        x = point.x.copy()
        x[-1] = np.nan
        return replace(point, x=x)


@dataclass(frozen=True)
class Infinite(_Faulty):
    """One entry of each answer is infinite."""

    words: ClassVar[str] = "NaN or infinite"

    def spoil(self, point):
        x = point.x.copy()
        x[0] = np.inf
        return replace(point, x=x)


@dataclass(frozen=True)
class NoPoint(_Faulty):
    """It claims an optimum and shows no point."""

    words: ClassVar[str] = "without x"

    def spoil(self, point):
        return replace(point, x=None)


@dataclass(frozen=True)
class YieldsNone(_Faulty):
    """It yields None."""

    words: ClassVar[str] = "yields FormPoint, this one NoneType"

    def spoil(self, point):
        return None


@dataclass(frozen=True)
class Column(_Faulty):
    """Its answer is a matrix of one column."""

    words: ClassVar[str] = "shape"

    def spoil(self, point):
        return replace(point, x=point.x[:, None])


@dataclass(frozen=True)
class TooShort(_Faulty):
    """Its answer leaves the last sample out."""

    words: ClassVar[str] = "shape"

    def spoil(self, point):
        return replace(point, x=point.x[:-1])


@dataclass(frozen=True)
class Truncated(_Faulty):
    """Its answer is stored in integers, which cuts off what comes after the point."""

    words: ClassVar[str] = "array of floats, got int64"

    def spoil(self, point):
        return replace(point, x=point.x.astype(np.int64))


@dataclass(frozen=True)
class Objects(_Faulty):
    """Its answer is an array of Python objects."""

    words: ClassVar[str] = "array of floats, got object"

    def spoil(self, point):
        return replace(point, x=point.x.astype(object))


@dataclass(frozen=True)
class UnknownClaim(_Faulty):
    """It claims a word that nobody knows."""

    words: ClassVar[str] = "claim: must be one of"

    def spoil(self, point):
        return replace(point, claim="converged")


@dataclass(frozen=True)
class NoYield(_Faulty):
    """It returns before its first yield."""

    words: ClassVar[str] = "without yielding"

    def iterates(self, state):
        return
        yield


@dataclass(frozen=True)
class NeverStops(_Faulty):
    """It goes on after the optimum, for ever."""

    expected: ClassVar[str] = "ends by itself"
    words: ClassVar[str] = "still running after"

    def iterates(self, state):
        point = None
        for point in super().iterates(state):
            yield replace(point, claim="none")
        while True:
            time.sleep(1e-3)
            yield replace(point, claim="none")


@dataclass(frozen=True)
class IgnoresMaxIter(_Faulty):
    """It has a setting `max_iter` and never looks at it."""

    expected: ClassVar[str] = "max_iter"
    words: ClassVar[str] = "with max_iter=1 it made"

    def iterates(self, state):
        *_, last = SMO(tol=self.tol).iterates(state)
        yield last


@dataclass(frozen=True)
class Late(_Faulty):
    """It works for a third of a second without a yield, whatever its time limit, and succeeds."""

    expected: ClassVar[str] = "time limit"
    words: ClassVar[str] = "and claims 'optimal'"

    def iterates(self, state):
        points = list(super().iterates(state))
        time.sleep(0.3)
        yield points[-1]


@dataclass(frozen=True)
class Unseeded(_Faulty):
    """Its random numbers have no seed."""

    expected: ClassVar[str] = "deterministic"
    words: ClassVar[str] = "different answers"

    def spoil(self, point):
        noise = np.random.default_rng().uniform(0.0, 1e-12, point.x.size)
        return replace(point, x=point.x + noise)


@dataclass(frozen=True)
class RefusesAll(_Faulty):
    """It refuses every problem, and so is never wrong."""

    expected: ClassVar[str] = ""
    words: ClassVar[str] = "solved nothing"

    def refuses(self, form):
        return "the stars are not right for this problem"
