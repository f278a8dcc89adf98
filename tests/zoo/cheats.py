"""Solvers that take care to look better than they are; each is tried in a process of its own.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import threading
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

import problems
import solvers.running.solution
from problems import Certificate, FormPoint
from solvers import SMO


@dataclass(frozen=True)
class SolvesBeforehand(SMO):
    """It solves in prepare, which is not timed."""

    expected: ClassVar[str] = "nothing beforehand"
    words: ClassVar[str] = "it solves in prepare, which is not timed"

    def prepare(self, form):
        state = super().prepare(form)
        before = form.gram.evaluations
        last = list(super().iterates(state))[-1]
        form.gram.evaluations = before
        return last

    def iterates(self, state):
        yield state


@dataclass(frozen=True)
class ComputesGramBeforehand(SMO):
    """It computes the Gram matrix in prepare, which is not timed."""

    expected: ClassVar[str] = "nothing beforehand"
    words: ClassVar[str] = "kernel values in prepare"

    def prepare(self, form):
        form.gram.dense()
        return super().prepare(form)


class _Later(FormPoint):
    @property
    def x(self):
        return np.zeros(60)


@dataclass(frozen=True)
class ComputesAfterwards(SMO):
    """It yields something that computes the answer once the clock has stopped."""

    expected: ClassVar[str] = "answers"
    words: ClassVar[str] = "yields FormPoint, this one _Later"

    def iterates(self, state):
        point = object.__new__(_Later)
        yield point


@dataclass(frozen=True)
class StopsTheClock(SMO):
    """It replaces the clock."""

    expected: ClassVar[str] = "global state"
    words: ClassVar[str] = "time.perf_counter"

    def iterates(self, state):
        time.perf_counter = lambda: 0.0
        yield from super().iterates(state)


@dataclass(frozen=True)
class CertifiesItself(SMO):
    """It replaces what certifies it."""

    expected: ClassVar[str] = "global state"
    words: ClassVar[str] = "problems.certify"

    def iterates(self, state):
        problems.certify = solvers.running.solution.certify = lambda *_: Certificate(
            1.0, 1.0, 0.0, 0.0
        )
        yield FormPoint(np.zeros(state.n), claim="optimal")


@dataclass(frozen=True)
class ChangesParameters(SMO):
    """It makes the problem an easier one."""

    expected: ClassVar[str] = "inputs unchanged"
    words: ClassVar[str] = "the problem's parameters"

    def iterates(self, state):
        if hasattr(state.gram.kernel, "gamma"):
            object.__setattr__(state.gram.kernel, "gamma", 1e9)
        yield from super().iterates(state)


@dataclass(frozen=True)
class KeepsRunning(SMO):
    """It leaves a thread running, which takes time from whoever comes next."""

    expected: ClassVar[str] = "global state"
    words: ClassVar[str] = "running threads"

    def iterates(self, state):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        yield from super().iterates(state)


@dataclass(frozen=True)
class CountsBackwards(SMO):
    """Its iterations are below zero, which no limit on them reaches."""

    expected: ClassVar[str] = "ends by itself"
    words: ClassVar[str] = "iterations: must be a whole number of 0 or more, got -1"

    def iterates(self, state):
        for point in super().iterates(state):
            yield replace(point, iterations=-1)
