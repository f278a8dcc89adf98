"""Solvers that solve another problem than the one they are given, and claim its optimum.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from problems import Linear, Polynomial
from problems.gram.gram import Gram, SignedGram
from solvers import SMO, Pegasos


class _Other(SMO):
    """SMO on `other(form)` in place of the form."""

    expected: ClassVar[str] = ""
    words: ClassVar[str] = "is no better than"

    def other(self, form):
        return form

    def iterates(self, state):
        yield from super().iterates(self.other(state))


def _bounds(form, most):
    """Return `most` in place of bounds that are finite."""
    return np.where(np.isfinite(form.ub), most, form.ub)


@dataclass(frozen=True)
class IgnoresC(_Other):
    """It solves with C = 1."""

    expected: ClassVar[str] = "C"
    words: ClassVar[str] = "the answer for C="

    def other(self, form):
        return replace(form, ub=_bounds(form, 1.0))


@dataclass(frozen=True)
class IgnoresSampleWeights(_Other):
    """It solves with one C for all samples, their mean."""

    expected: ClassVar[str] = "C of each sample"
    words: ClassVar[str] = "one C for all samples"

    def other(self, form):
        return replace(form, ub=np.full(form.n, form.ub.mean()))


@dataclass(frozen=True)
class MeanForSum(_Other):
    """It takes the mean of the losses where the problem has their sum."""

    expected: ClassVar[str] = "sum, not mean"
    words: ClassVar[str] = "the mean of the losses"

    def other(self, form):
        return replace(form, ub=form.ub / form.n)


@dataclass(frozen=True)
class NoIntercept(_Other):
    """It solves without the intercept."""

    expected: ClassVar[str] = "intercept"
    words: ClassVar[str] = "without the intercept"

    def other(self, form):
        return replace(form, a=None, delta=np.zeros(0))


@dataclass(frozen=True)
class AlwaysIntercept(_Other):
    """It solves with an intercept where there is none."""

    expected: ClassVar[str] = "intercept"
    words: ClassVar[str] = "with an intercept"

    def other(self, form):
        return replace(form, a=form.Q.sign.copy(), delta=np.zeros(1))


@dataclass(frozen=True)
class RegularisesIntercept(_Other):
    """It gives each sample a feature 1, and so penalises the intercept, as LIBLINEAR does."""

    expected: ClassVar[str] = "claims"
    words: ClassVar[str] = "on two_gaussians linear C=1: claims optimal"

    def other(self, form):
        if form.a is None or not isinstance(form.gram.kernel, Linear):
            return form
        gram = Gram(form.gram.X, Polynomial(1))
        return replace(
            form, a=None, delta=np.zeros(0), Q=SignedGram(gram, form.Q.sign, form.Q.index)
        )


@dataclass(frozen=True)
class WrongSign(_Other):
    """The linear term of its objective has the other sign."""

    expected: ClassVar[str] = "sign"
    words: ClassVar[str] = "w = 0"

    def other(self, form):
        return replace(form, p=-form.p)


@dataclass(frozen=True)
class WrongSide(Pegasos):
    """Its weights point to the other class."""

    expected: ClassVar[str] = "sign"
    words: ClassVar[str] = "w = 0"

    def iterates(self, form):
        for point in super().iterates(form):
            yield replace(point, x=None if point.x is None else -point.x, beta=-point.beta)


@dataclass(frozen=True)
class FirstHalf(_Other):
    """It looks at the first half of the samples only."""

    expected: ClassVar[str] = "permutation"
    words: ClassVar[str] = "in reverse it claims optimal"

    def other(self, form):
        return replace(form, ub=np.where(np.arange(form.n) < (form.n + 1) // 2, form.ub, 0.0))


@dataclass(frozen=True)
class DropsDuplicates(_Other):
    """It looks at each of several equal samples once, and forgets how many there were."""

    expected: ClassVar[str] = "duplication"
    words: ClassVar[str] = "with every sample twice"

    def other(self, form):
        signed = np.column_stack([np.asarray(form.gram.X[form.Q.index]), form.Q.sign])
        first = np.unique(signed, axis=0, return_index=True)[1]
        return replace(form, ub=np.where(np.isin(np.arange(form.n), first), form.ub, 0.0))


@dataclass(frozen=True)
class FavoursNegatives(_Other):
    """Where most labels are +1 it takes the others for the important ones, and trusts the rest less."""

    expected: ClassVar[str] = "label flip"
    words: ClassVar[str] = "with flipped labels it claims optimal"

    def other(self, form):
        mostly = form.Q.sign.sum() > 0
        return replace(form, ub=np.where(form.Q.sign > 0, 1.0, 0.1 if mostly else 1.0) * form.ub)


@dataclass(frozen=True)
class LeastC(_Other):
    """It takes a C below 1/20 for a mistake, and solves with 1/20."""

    expected: ClassVar[str] = "scaling"
    words: ClassVar[str] = "with X times 8 it claims optimal"

    def other(self, form):
        return replace(form, ub=np.maximum(form.ub, 0.05))


@dataclass(frozen=True)
class ClipsOutliers(_Other):
    """It takes features above 4.5 for outliers, and clips them."""

    expected: ClassVar[str] = "shift"
    words: ClassVar[str] = "with shifted samples it claims optimal"

    def other(self, form):
        clipped = Gram(np.clip(form.gram.X, -4.5, 4.5), form.gram.kernel)
        return replace(form, Q=SignedGram(clipped, form.Q.sign, form.Q.index))


@dataclass(frozen=True)
class HalfOfTheWeight(_Other):
    """It lets the multipliers add up to half of what they must."""

    expected: ClassVar[str] = "nu"
    words: ClassVar[str] = "are support vectors, nu is"

    def other(self, form):
        return replace(form, delta=0.5 * form.delta)
