"""Solvers that leave something changed behind. Their answers are right, at least at first.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import os
import random
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from tests.zoo.boxed import BoxSMO as SMO
from threadpoolctl import threadpool_limits

from dualgap.problems import FormPoint


class _Careless(SMO):
    """SMO, and `damage` before it."""

    expected = "global state"

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def damage(self, form):
        pass

    def iterates(self, state):
        self.damage(state)
        yield from super().iterates(state)


class ChangesX(_Careless, expected="inputs unchanged", words="the problem's X"):
    """It centres the samples in place."""

    def damage(self, form):
        X = form.gram.X
        if isinstance(X, np.ndarray):
            X.flags.writeable = True
            X -= X.mean(axis=0)


class RoundsX(_Careless, expected="inputs unchanged", words="the problem's X"):
    """It rounds the samples in place before the clock starts, which shows the first time only."""

    def prepare(self, form):
        form.gram.X.flags.writeable = True
        np.round(form.gram.X, 1, out=form.gram.X)
        return super().prepare(form)


class ChangesY(_Careless, expected="inputs unchanged", words="the form's a"):
    """It flips one label, in place: the form has a copy of them, the coefficients of its equality."""

    def damage(self, form):
        if form.a is not None:
            form.a.flags.writeable = True
            form.a[0] = -form.a[0]


class ChangesForm(_Careless, expected="inputs unchanged", words="the form's ub"):
    """It halves the bounds of the form, in place."""

    def damage(self, form):
        np.multiply(form.ub, 0.5, out=form.ub)


class ChangesGram(_Careless, expected="inputs unchanged", words="the Gram matrix"):
    """It makes Q of K in place, in the matrix that the form remembers."""

    def damage(self, form):
        K = form.gram.dense()
        K *= 0.5


class ReseedsNumPy(_Careless, words="NumPy's random state"):
    """It seeds NumPy's global generator."""

    def damage(self, form):
        np.random.seed(0)  # noqa: NPY002


class DrawsFromNumPy(_Careless, words="NumPy's random state"):
    """It draws one number from NumPy's global generator."""

    def damage(self, form):
        np.random.random()  # noqa: NPY002


class DrawsFromPython(_Careless, words="Python's random state"):
    """It draws from Python's global generator."""

    def damage(self, form):
        random.random()


class SilencesWarnings(_Careless, words="the warnings filter"):
    """It switches all warnings off."""

    def damage(self, form):
        warnings.simplefilter("ignore")


class IgnoresOverflow(_Careless, words="NumPy's error handling"):
    """It tells NumPy to be silent about overflow, for everyone."""

    def damage(self, form):
        np.seterr(over="ignore")


class TakesThreads(_Careless, words="the number of threads"):
    """It sets linear algebra to one thread and leaves it there."""

    def damage(self, form):
        threadpool_limits(1, user_api="blas")


class MovesAway(_Careless, words="the working directory"):
    """It changes the working directory."""

    def damage(self, form):
        os.chdir("/")


class SetsEnvironment(_Careless, words="the environment variable OMP_NUM_THREADS"):
    """It sets an environment variable."""

    def damage(self, form):
        os.environ["OMP_NUM_THREADS"] = "64"


class Remembers(_Careless, expected="stateless", words="the answer differs"):
    """It begins where the last problem of that size ended."""

    last: ClassVar[dict[int, Any]] = {}

    def iterates(self, form):
        start = self.last.get(form.n)
        for point in super().iterates(form if start is None else replace(form, start=start)):
            assert isinstance(point, FormPoint)
            self.last[form.n] = point.x
            yield point
