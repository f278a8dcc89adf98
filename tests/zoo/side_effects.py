"""Solvers that leave something changed behind. Their answers are right, at least at first.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import os
import random
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from problems import FormPoint
from solvers import SMO


class _Careless(SMO):
    """SMO, and `damage` before it."""

    expected: ClassVar[str] = "global state"
    words: ClassVar[str] = ""

    def damage(self, form):
        pass

    def iterates(self, state):
        self.damage(state)
        yield from super().iterates(state)


@dataclass(frozen=True)
class ChangesX(_Careless):
    """It centres the samples in place."""

    expected: ClassVar[str] = "inputs unchanged"
    words: ClassVar[str] = "the problem's X"

    def damage(self, form):
        X = form.gram.X
        if isinstance(X, np.ndarray):
            X.flags.writeable = True
            X -= X.mean(axis=0)


@dataclass(frozen=True)
class ChangesY(_Careless):
    """It flips one label, in place: the form has a copy of them, the coefficients of its equality."""

    expected: ClassVar[str] = "inputs unchanged"
    words: ClassVar[str] = "the form's a"

    def damage(self, form):
        if form.a is not None:
            form.a.flags.writeable = True
            form.a[0] = -form.a[0]


@dataclass(frozen=True)
class ChangesForm(_Careless):
    """It halves the bounds of the form, in place."""

    expected: ClassVar[str] = "inputs unchanged"
    words: ClassVar[str] = "the form's ub"

    def damage(self, form):
        np.multiply(form.ub, 0.5, out=form.ub)


@dataclass(frozen=True)
class ChangesGram(_Careless):
    """It makes Q of K in place, in the matrix that the form remembers."""

    expected: ClassVar[str] = "inputs unchanged"
    words: ClassVar[str] = "the Gram matrix"

    def damage(self, form):
        K = form.gram.dense()
        K *= 0.5


@dataclass(frozen=True)
class ReseedsNumPy(_Careless):
    """It seeds NumPy's global generator."""

    words: ClassVar[str] = "NumPy's random state"

    def damage(self, form):
        np.random.seed(0)  # noqa: NPY002


@dataclass(frozen=True)
class DrawsFromNumPy(_Careless):
    """It draws one number from NumPy's global generator."""

    words: ClassVar[str] = "NumPy's random state"

    def damage(self, form):
        np.random.random()  # noqa: NPY002


@dataclass(frozen=True)
class DrawsFromPython(_Careless):
    """It draws from Python's global generator."""

    words: ClassVar[str] = "Python's random state"

    def damage(self, form):
        random.random()


@dataclass(frozen=True)
class SilencesWarnings(_Careless):
    """It switches all warnings off."""

    words: ClassVar[str] = "the warnings filter"

    def damage(self, form):
        warnings.simplefilter("ignore")


@dataclass(frozen=True)
class IgnoresOverflow(_Careless):
    """It tells NumPy to be silent about overflow, for everyone."""

    words: ClassVar[str] = "NumPy's error handling"

    def damage(self, form):
        np.seterr(over="ignore")


@dataclass(frozen=True)
class TakesThreads(_Careless):
    """It sets linear algebra to one thread and leaves it there."""

    words: ClassVar[str] = "the number of threads"

    def damage(self, form):
        threadpool_limits(1, user_api="blas")


@dataclass(frozen=True)
class MovesAway(_Careless):
    """It changes the working directory."""

    words: ClassVar[str] = "the working directory"

    def damage(self, form):
        os.chdir("/")


@dataclass(frozen=True)
class SetsEnvironment(_Careless):
    """It sets an environment variable."""

    words: ClassVar[str] = "the environment variable OMP_NUM_THREADS"

    def damage(self, form):
        os.environ["OMP_NUM_THREADS"] = "64"


@dataclass(frozen=True)
class Remembers(SMO):
    """It begins where the last problem of that size ended."""

    expected: ClassVar[str] = "stateless"
    words: ClassVar[str] = "the answer differs"
    last: ClassVar[dict[int, Any]] = {}

    def iterates(self, form):
        start = self.last.get(form.n)
        for point in super().iterates(form if start is None else replace(form, start=start)):
            assert isinstance(point, FormPoint)
            self.last[form.n] = point.x
            yield point
