"""A student's SMO, as the lecture notes have it, and how it may be written wrongly.

`Student` is right: simplified SMO (M. Straka, NPFL129) with Platt's cache of errors. Each other class
differs in one step of the algorithm; `condition` is what it breaks, and `words` must be in the
diagnosis of `dualgap verify` and of the selftest. Where L and H leave no room, and where η has the wrong
sign, α never leaves 0: the answers are the same, and the diagnosis names both steps.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dualgap.problems import BoxQP, FormPoint
from dualgap.solvers import Solver


@dataclass(frozen=True)
class Student(Solver):
    """Sweep over the samples, and pair each one that violates the KKT conditions with a random one."""

    tol: float = 1e-4
    max_passes: int = 20
    max_iter: int = 1000

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Straka, NPFL129 lecture 7 (2020)"

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def refuses(self, form):
        """Classification with an intercept is what the course had so far."""
        if form.a is None or (form.p != -1).any() or not np.isfinite(form.ub).all():
            return "this SMO is for soft margins with an intercept"
        return None

    def iterates(self, form):
        t, C, n = form.a, form.ub, form.n
        K = t[:, None] * form.Q.dense() * t
        rng = np.random.default_rng(0)
        a, b, E = np.zeros(n), 0.0, -t.copy()
        unchanged = passes = 0
        while unchanged < self.max_passes and passes < self.max_iter:
            changed = 0
            for i in range(n):
                r = t[i] * E[i]
                if not (r < -self.tol and a[i] < C[i]) and not (r > self.tol and a[i] > 0):
                    continue
                j = (i + rng.integers(1, n)) % n
                eta = self.curvature(K[i, i], K[j, j], K[i, j])
                if eta == 0:
                    continue
                L, H = self.ends(a[i], a[j], C[j], t[i] == t[j])
                new_j = self.clip(a[j] + t[j] * (E[i] - E[j]) / eta, L, H)
                if abs(new_j - a[j]) < 1e-6 * (new_j + a[j] + 1e-6):
                    continue
                new_i = self.partner(a[i], t[i] * t[j] * (a[j] - new_j))
                new_b = self.bias(b, i, j, K, t, E, new_i - a[i], new_j - a[j], new_i, new_j, C)
                change = t[i] * (new_i - a[i]) * K[i] + t[j] * (new_j - a[j]) * K[j]
                self.refresh(E, change + new_b - b, i, j)
                a[i], a[j], b = new_i, new_j, new_b
                changed += 1
            passes += 1
            unchanged = 0 if changed else unchanged + 1
            yield FormPoint(a.copy(), b=b, iterations=passes)
        claim = "optimal" if unchanged == self.max_passes else "stopped"
        yield FormPoint(a, b=b, iterations=passes, claim=claim)

    def curvature(self, k_ii, k_jj, k_ij):
        return k_ii + k_jj - 2 * k_ij

    def ends(self, a_i, a_j, C, equal):
        if equal:
            return max(0.0, a_i + a_j - C), min(C, a_i + a_j)
        return max(0.0, a_j - a_i), min(C, C + a_j - a_i)

    def clip(self, a_j, L, H):
        return min(max(a_j, L), H)

    def partner(self, a_i, change):
        return a_i + change

    def bias(self, b, i, j, K, t, E, change_i, change_j, new_i, new_j, C):
        b_i = b - E[i] - t[i] * change_i * K[i, i] - t[j] * change_j * K[i, j]
        b_j = b - E[j] - t[i] * change_i * K[i, j] - t[j] * change_j * K[j, j]
        if 0 < new_i < C[i]:
            return b_i
        return b_j if 0 < new_j < C[j] else (b_i + b_j) / 2

    def refresh(self, E, change, i, j):
        E += change


class SoftMarginOnly(Student):
    """Right for soft margins, it takes the linear term for −1, and does not say so."""

    def refuses(self, form):
        if form.a is None or not np.isfinite(form.ub).all():
            return "this SMO has C and an intercept"
        return None


class OppositeSigns(Student, condition="box", words="the sign of the answer"):
    """−α is returned."""

    def iterates(self, form):
        for point in super().iterates(form):
            yield replace(point, x=-point.x)


class WrongEnds(
    Student, condition="stationarity", words="L and H are swapped, or are those of equal labels"
):
    """L and H of equal labels where they differ, and the other way round."""

    def ends(self, a_i, a_j, C, equal):
        return super().ends(a_i, a_j, C, not equal)


class OneEnds(Student, condition="box", words="L and H: for equal labels L = max(0, αᵢ + αⱼ − C)"):
    """L and H of different labels for all pairs."""

    def ends(self, a_i, a_j, C, equal):
        return super().ends(a_i, a_j, C, False)


class SwappedEnds(Student, condition="stationarity", words="L and H are swapped"):
    """L and H in each other's place."""

    def ends(self, a_i, a_j, C, equal):
        L, H = super().ends(a_i, a_j, C, equal)
        return H, L


class SwappedClip(
    SwappedEnds, condition="stationarity", words="L and H: for equal labels L = max(0, αᵢ + αⱼ − C)"
):
    """As above, clipped in the other order."""

    def clip(self, a_j, L, H):
        return max(min(a_j, H), L)


class WrongCurvature(Student, condition="stationarity", words="a wrong sign of η"):
    """η with the wrong sign."""

    def curvature(self, k_ii, k_jj, k_ij):
        return -super().curvature(k_ii, k_jj, k_ij)


class ForgottenPartner(
    Student, condition="equality", words="the second multiplier: when αⱼ changes, αᵢ must change"
):
    """αᵢ is not moved along with αⱼ."""

    def partner(self, a_i, change):
        return a_i


class WrongBias(Student, condition="intercept", words="the update of b"):
    """b is updated with the wrong sign of E."""

    def bias(self, b, i, j, K, t, E, change_i, change_j, new_i, new_j, C):
        return super().bias(b, i, j, K, t, -E, change_i, change_j, new_i, new_j, C)


class FrozenBias(Student, condition="intercept", words="the update of b"):
    """b is never updated."""

    def bias(self, b, *_):
        return b


class StaleErrors(
    Student, condition="stationarity", words="the error cache must be refreshed for all"
):
    """Only the errors of the pair itself are refreshed."""

    def refresh(self, E, change, i, j):
        E[[i, j]] += change[[i, j]]


class NeverRefreshed(
    Student, condition="stationarity", words="the error cache must be refreshed for all"
):
    """No error is."""

    def refresh(self, E, change, i, j):
        pass
