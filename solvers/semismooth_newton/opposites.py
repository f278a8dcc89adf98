"""Equal samples of opposite labels as one variable, which has a kink.

Two variables of equal samples make K singular, and Newton's steps endless along zᵢ − zⱼ. Only their sum
s counts in ½zᵀKz. With qᵢ < qⱼ the cheapest way to it fills the one and empties the other first, up to
s₀ = hiᵢ + loⱼ:

    min {qᵢzᵢ + qⱼzⱼ : zᵢ + zⱼ = s} = const + (qᵢ + qⱼ)/2·s + (qⱼ − qᵢ)/2·|s − s₀|
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from problems.dataset import Indices, Vector
from problems.kernels import Precomputed
from solvers.smo.duplicates import Merged
from solvers.smo.variables import Variables


@dataclass(frozen=True, eq=False)
class Joined:
    """Variables of which some stand for two of `merged`: first[k] and second[k] are what kept[k] is.

    Attributes
    ----------
    kink : (n,) where the cost tubeᵢ|zᵢ − kinkᵢ| of each variable is 0.
    """

    merged: Merged
    variables: Variables
    kink: Vector
    single: Indices
    first: Indices
    second: Indices

    def spread(self, z: Vector) -> Vector:
        """Return the form's variables x."""
        v = self.merged.variables
        whole, count = np.empty(v.n), self.single.size
        s, i, j = z[count:], self.first, self.second
        whole[self.single] = z[:count]
        whole[i] = np.clip(s - v.lo[j], v.lo[i], v.hi[i])
        whole[j] = np.clip(s - whole[i], v.lo[j], v.hi[j])
        return self.merged.spread(whole)

    def scores(self, f: Vector) -> Vector:
        """Return the scores of the form's samples, given those of the variables."""
        whole, count = np.empty(self.merged.variables.n), self.single.size
        whole[self.single] = f[:count]
        whole[self.first] = whole[self.second] = f[count:]
        return whole if self.merged.group is None else whole[self.merged.group]


def join(merged: Merged) -> Joined:
    """Join variables in pairs that have equal samples and different costs."""
    v = merged.variables
    first, second = _pairs(v)
    paired = np.zeros(v.n, np.bool_)
    paired[first] = paired[second] = True
    single = np.flatnonzero(~paired)
    order = np.concatenate([single, first])
    values = {
        name: getattr(v, name)[order] for name in ("sample", "q", "tube", "lo", "hi", "start")
    }
    kink, place = np.zeros(order.size), slice(single.size, None)
    kink[place] = v.hi[first] + v.lo[second]
    values["q"][place] = (v.q[first] + v.q[second]) / 2
    values["tube"][place] = (v.q[second] - v.q[first]) / 2
    for name in ("lo", "hi", "start"):
        values[name][place] += getattr(v, name)[second]
    scale = None if v.scale is None else v.scale[order]
    joined = replace(v, scale=scale, **values)
    return Joined(merged, joined, kink, single, first, second)


def _pairs(v: Variables) -> tuple[Indices, Indices]:
    """Return pairs of variables with equal samples, that of the smaller q first."""
    gram = v.form.gram
    if v.scale is not None or v.tube.any() or isinstance(gram.kernel, Precomputed):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    X = gram.X
    hashed = (X @ np.random.default_rng(0).standard_normal(X.shape[1]))[v.sample]
    order = np.lexsort((v.q, hashed))
    first, second = order[:-1], order[1:]
    like = np.flatnonzero((hashed[first] == hashed[second]) & (v.q[first] < v.q[second]))
    like = like[np.diff(like, prepend=-2) > 1]  # of three in a row two are a pair
    first, second = first[like], second[like]
    difference = abs(X[v.sample[first]] - X[v.sample[second]])
    equal = np.asarray(difference.sum(axis=1)).ravel() == 0
    return first[equal], second[equal]
