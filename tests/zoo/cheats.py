"""Solvers that take care to look better than they are.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import threading
import time
from dataclasses import replace

import numpy as np
from tests.zoo.boxed import BoxSMO as SMO

import dualgap.solvers.running.solution
from dualgap import problems
from dualgap.problems import Certificate, FormPoint


class _Cheat(SMO):
    """SMO, and what is known of it."""

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)


class SolvesBeforehand(
    _Cheat, expected="no untimed work", words="it solves in prepare, which is not timed"
):
    """It solves in prepare, which is not timed."""

    def prepare(self, form):
        state = super().prepare(form)
        before = form.gram.evaluations
        last = list(super().iterates(state))[-1]
        form.gram.evaluations = before
        return last

    def iterates(self, state):
        yield state


class ComputesGramBeforehand(_Cheat, expected="no untimed work", words="kernel values in prepare"):
    """It computes the Gram matrix in prepare, which is not timed."""

    def prepare(self, form):
        form.gram.dense()
        return super().prepare(form)


class _Later(FormPoint):
    @property
    def x(self):
        return np.zeros(60)


class ComputesAfterwards(_Cheat, expected="answers", words="yields FormPoint, this one _Later"):
    """It yields something that computes the answer once the clock has stopped."""

    def iterates(self, state):
        point = object.__new__(_Later)
        yield point


class StopsTheClock(_Cheat, expected="global state", words="time.perf_counter"):
    """It replaces the clock."""

    def iterates(self, state):
        time.perf_counter = lambda: 0.0
        yield from super().iterates(state)


class CertifiesItself(_Cheat, expected="global state", words="problems.certify"):
    """It replaces what certifies it."""

    def iterates(self, state):
        problems.certify = dualgap.solvers.running.solution.certify = lambda *_: Certificate(
            1.0, 1.0, 0.0, 0.0
        )
        yield FormPoint(np.zeros(state.n), claim="optimal")


class ChangesParameters(_Cheat, expected="inputs unchanged", words="the problem's parameters"):
    """It makes the problem an easier one."""

    def iterates(self, state):
        if hasattr(state.gram.kernel, "gamma"):
            object.__setattr__(state.gram.kernel, "gamma", 1e9)
        yield from super().iterates(state)


class KeepsRunning(_Cheat, expected="global state", words="running threads"):
    """It leaves a thread running, which takes time from whoever comes next."""

    def iterates(self, state):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        yield from super().iterates(state)


class CountsBackwards(
    _Cheat,
    expected="terminates",
    words="iterations: must be a whole number from 0 to 2**63 − 1, got -1",
):
    """Its iterations are below zero, which no limit on them reaches."""

    def iterates(self, state):
        for point in super().iterates(state):
            yield replace(point, iterations=-1)
