"""Solvers whose answers are none, or not what they say of them. Each is right but for one thing.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import sys
import time
from dataclasses import replace

import numpy as np
from tests.zoo.boxed import BoxSMO as SMO

from dualgap.problems import FormPoint


class _Faulty(SMO):
    """SMO, whose every point goes through `spoil`."""

    expected = "answers"

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def spoil(self, point):
        return point

    def iterates(self, state):
        for point in super().iterates(state):
            yield self.spoil(point)


class NaN(_Faulty, words="NaN or infinite"):
    """One entry of each answer is NaN."""

    def spoil(self, point):
        x = point.x.copy()
        x[-1] = np.nan
        return replace(point, x=x)


class Infinite(_Faulty, words="NaN or infinite"):
    """One entry of each answer is infinite."""

    def spoil(self, point):
        x = point.x.copy()
        x[0] = np.inf
        return replace(point, x=x)


class NoPoint(_Faulty, words="without x"):
    """It claims an optimum and shows no point."""

    def spoil(self, point):
        return replace(point, x=None)


class YieldsNone(_Faulty, words="yields FormPoint, this one NoneType"):
    """It yields None."""

    def spoil(self, point):
        return None


class Column(_Faulty, words="shape"):
    """Its answer is a matrix of one column."""

    def spoil(self, point):
        return replace(point, x=point.x[:, None])


class TooShort(_Faulty, words="shape"):
    """Its answer leaves the last sample out."""

    def spoil(self, point):
        return replace(point, x=point.x[:-1])


class Truncated(_Faulty, words="array of floats, got int64"):
    """Its answer is stored in integers, which cuts off what comes after the point."""

    def spoil(self, point):
        return replace(point, x=point.x.astype(np.int64))


class Objects(_Faulty, words="array of floats, got object"):
    """Its answer is an array of Python objects."""

    def spoil(self, point):
        return replace(point, x=point.x.astype(object))


class BeyondTheBox(_Faulty, words="violates its constraints by"):
    """Its answer leaves the box."""

    def spoil(self, point):
        return replace(point, x=1.5 * point.x)


class ReadsTheEquality(_Faulty, words="(form.a is None: this problem has no intercept"):
    """It takes every problem to have an intercept."""

    def prepare(self, form):
        self.__dict__["first"] = form.a[0]
        return super().prepare(form)


class Exits(_Faulty, words="raised SystemExit: done"):
    """It calls sys.exit."""

    def spoil(self, point):
        sys.exit("done")


class UnknownClaim(_Faulty, words="claim: must be one of"):
    """It claims a word that nobody knows."""

    def spoil(self, point):
        return replace(point, claim="converged")


class NoYield(_Faulty, words="without yielding"):
    """It returns before its first yield."""

    def iterates(self, state):
        return
        yield


class NeverStops(_Faulty, expected="terminates", words="did not stop on its own"):
    """It goes on after the optimum, for ever."""

    def iterates(self, state):
        point = None
        for point in super().iterates(state):
            yield replace(point, claim="none")
        while True:
            time.sleep(1e-3)
            yield replace(point, claim="none")


class IgnoresMaxIter(_Faulty, expected="max_iter", words="with max_iter=1 it made"):
    """It has a setting `max_iter` and never looks at it."""

    def iterates(self, state):
        *_, last = SMO(tol=self.tol).iterates(state)
        yield last


class Late(_Faulty, expected="time limit", words="and claims 'optimal'"):
    """It works for a third of a second without a yield, whatever its time limit, and succeeds."""

    def iterates(self, state):
        points = list(super().iterates(state))
        time.sleep(0.3)
        yield points[-1]


class Unseeded(_Faulty, expected="deterministic", words="different answers"):
    """Its random numbers have no seed."""

    def spoil(self, point):
        noise = np.random.default_rng().uniform(0.0, 1e-12, point.x.size)
        return replace(point, x=point.x + noise)


class RefusesAll(_Faulty, expected="", words="solved nothing"):
    """It refuses every problem, and so is never wrong."""

    def refuses(self, form):
        return "the stars are not right for this problem"


class Overclaims(_Faulty, expected="claims", words="claims optimal, but the certified bounds are"):
    """It claims an optimum where every dual variable is a third too small."""

    def spoil(self, point):
        return replace(point, x=point.x / 1.5)


class DeniesSuccess(_Faulty, expected="claims", words="claims infeasible"):
    """Its answer is right, and it claims that there is none."""

    def spoil(self, point):
        return replace(point, claim="infeasible" if point.claim == "optimal" else point.claim)


class SaysNothing(_Faulty, expected="claims", words="ends without a claim"):
    """Its answer is right, and it ends without a claim."""

    def spoil(self, point):
        return replace(point, claim="none")


class GivesUp(_Faulty, expected="claims", words="claims infeasible"):
    """It claims infeasibility without having tried."""

    def iterates(self, form):
        yield FormPoint(np.zeros(form.n), claim="infeasible")


class SolvesTheInfeasible(_Faulty, expected="infeasibility", words="infeasible (proven)"):
    """It claims an optimum of every hard margin, also where there is none."""

    def spoil(self, point):
        return replace(point, claim="optimal")


class Impatient(_Faulty, expected="large C", words="on C=1e12: linear: claims optimal"):
    """It claims an optimum after 20 steps for each sample, which suffices on scaled data only."""

    def iterates(self, form):
        for point in SMO(max_iter=20 * form.n).iterates(form):
            yield replace(point, claim="optimal" if point.claim == "stopped" else point.claim)
