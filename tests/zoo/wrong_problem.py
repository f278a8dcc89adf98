"""Solvers that solve another problem than the one they are given, and claim its optimum.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

from dataclasses import replace

import numpy as np
from tests.zoo.boxed import BoxSMO as SMO

from dualgap.problems import Linear, Polynomial
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.solvers import Pegasos


class _Other(SMO):
    """SMO on `other(form)` in place of the form."""

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def other(self, form):
        return form

    def iterates(self, state):
        yield from super().iterates(self.other(state))


def _bounds(form, largest):
    """Return `most` in place of bounds that are finite."""
    return np.where(np.isfinite(form.ub), largest, form.ub)


class IgnoresC(_Other, expected="C", words="the answer for C="):
    """It solves with C = 1."""

    def other(self, form):
        return replace(form, ub=_bounds(form, 1.0))


class IgnoresSampleWeights(_Other, expected="C per sample", words="one C for all samples"):
    """It solves with one C for all samples, their mean."""

    def other(self, form):
        return replace(form, ub=np.full(form.n, form.ub.mean()))


class MeanForSum(_Other, expected="sum, not mean", words="the mean of the losses"):
    """It takes the mean of the losses where the problem has their sum."""

    def other(self, form):
        return replace(form, ub=form.ub / form.n)


class NoIntercept(_Other, expected="intercept", words="without the intercept"):
    """It solves without the intercept."""

    def other(self, form):
        return replace(form, a=None, delta=np.zeros(0))


class AlwaysIntercept(_Other, expected="intercept", words="with an intercept"):
    """It solves with an intercept where there is none."""

    def other(self, form):
        return replace(form, a=form.Q.sign.copy(), delta=np.zeros(1))


class RegularisesIntercept(
    _Other, expected="claims", words="on two_gaussians linear C=1: claims optimal"
):
    """It gives each sample a feature 1, and so penalises the intercept, as LIBLINEAR does."""

    def other(self, form):
        if form.a is None or not isinstance(form.gram.kernel, Linear):
            return form
        gram = Gram(form.gram.X, Polynomial(1))
        return replace(
            form, a=None, delta=np.zeros(0), Q=SignedGram(gram, form.Q.sign, form.Q.index)
        )


class WrongSign(_Other, expected="sign", words="w = 0"):
    """The linear term of its objective has the other sign."""

    def other(self, form):
        return replace(form, p=-form.p)


class WrongSide(Pegasos):
    """Its weights point to the other class."""

    expected, words = "sign", "w = 0"

    def iterates(self, form):
        for point in super().iterates(form):
            yield replace(point, x=None if point.x is None else -point.x, beta=-point.beta)


class FirstHalf(_Other, expected="permutation", words="in reverse it claims optimal"):
    """It looks at the first half of the samples only."""

    def other(self, form):
        return replace(form, ub=np.where(np.arange(form.n) < (form.n + 1) // 2, form.ub, 0.0))


class DropsDuplicates(_Other, expected="duplication", words="with every sample twice"):
    """It looks at each of several equal samples once, and forgets how many there were."""

    def other(self, form):
        signed = np.column_stack([np.asarray(form.gram.X[form.Q.index]), form.Q.sign])
        first = np.unique(signed, axis=0, return_index=True)[1]
        return replace(form, ub=np.where(np.isin(np.arange(form.n), first), form.ub, 0.0))


class FavoursNegatives(
    _Other, expected="label flip", words="with flipped labels it claims optimal"
):
    """Where most labels are +1 it takes the others for the important ones, and trusts the rest less."""

    def other(self, form):
        mostly = form.Q.sign.sum() > 0
        return replace(form, ub=np.where(form.Q.sign > 0, 1.0, 0.1 if mostly else 1.0) * form.ub)


class LeastC(_Other, expected="scaling", words="with X times 8 it claims optimal"):
    """It takes a C below 1/20 for a mistake, and solves with 1/20."""

    def other(self, form):
        return replace(form, ub=np.maximum(form.ub, 0.05))


class ClipsOutliers(_Other, expected="shift", words="with shifted samples it claims optimal"):
    """It takes features above 4.5 for outliers, and clips them."""

    def other(self, form):
        clipped = Gram(np.clip(form.gram.X, -4.5, 4.5), form.gram.kernel)
        return replace(form, Q=SignedGram(clipped, form.Q.sign, form.Q.index))


class HalfOfTheWeight(_Other, expected="nu", words="are support vectors, nu is"):
    """It lets the multipliers add up to half of what they must."""

    def other(self, form):
        return replace(form, delta=0.5 * form.delta)
