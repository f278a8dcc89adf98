"""Solvers that do their work where they think that no clock runs; it is half a second of computing.

`shown` is the column in which a run shows that work, or the verdict that it must get. `expected` is
the property of the selftest that must catch it, empty for what the selftest does not see, and `words`
must be in its sentence.
"""

import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from tests.zoo.boxed import BoxSMO as SMO

import dualgap.solvers.running.loop
import dualgap.solvers.running.solving
from dualgap.problems import FormPoint

WORK = 0.5  # seconds


def _solved(form):
    end = time.process_time() + WORK
    while time.process_time() < end:
        pass
    return list(SMO(tol=1e-6).iterates(form))[-1].x


class _Patient(SMO):
    """SMO that takes its time."""

    expected, consequence = "", "time_solve"

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)


class _Counters(Mapping):
    def __init__(self, form, x):
        self.form, self.x = form, x

    def __getitem__(self, name):
        return 1.0

    def __len__(self):
        return 1

    def __iter__(self):
        self.x[:] = _solved(self.form)
        return iter(["steps"])


class CountersThatSolve(_Patient):
    """Its counters solve the problem when they are unpacked."""

    def iterates(self, form):
        x = np.zeros(form.n)
        yield FormPoint(x, claim="optimal", counters=_Counters(form, x))


class _Claim(str):
    __slots__ = ("form", "x")

    def __eq__(self, other):
        self.x[:] = _solved(self.form)
        return str(self) == other

    def __hash__(self):
        return hash(str(self))


class DividesItsTime(_Patient):
    """It replaces what the loop returns by one that took a hundredth of the time."""

    def iterates(self, state):
        honest = dualgap.solvers.running.loop.Solution

        def scaled(*fields, time_solve, **rest_of):
            return honest(*fields, time_solve=time_solve / 100, **rest_of)

        dualgap.solvers.running.loop.Solution = scaled
        yield FormPoint(_solved(state), claim="optimal")


class HiresAProcess(_Patient, consequence="cpu_time"):
    """Another process does the work for it, which it waits for."""

    def iterates(self, state):
        busy = f"import time\nwhile time.process_time() < {WORK}: pass"
        subprocess.run([sys.executable, "-c", busy], check=True)
        yield from SMO(tol=1e-6).iterates(state)


class ClaimThatSolves(_Patient, consequence="wrong"):
    """Its claim solves the problem when it is compared; nobody compares it."""

    def iterates(self, form):
        claim = _Claim("optimal")
        claim.form, claim.x = form, np.zeros(form.n)
        yield FormPoint(claim.x, claim=claim)


class ClockForOneStep(_Patient):
    """It replaces every clock that it finds for one step, and puts them back."""

    def iterates(self, form):
        places = [
            (time, "perf_counter"),
            (time, "process_time"),
            (dualgap.solvers.running.solving, "perf_counter"),
        ]
        clocks = [getattr(module, name) for module, name in places]
        stopped = time.perf_counter()
        x = _solved(form)
        for module, name in places:
            setattr(module, name, lambda: stopped)
        yield FormPoint(x)
        for (module, name), clock in zip(places, clocks, strict=True):
            setattr(module, name, clock)
        yield FormPoint(x, claim="optimal")


class ThreadGoesOn(_Patient, consequence="wrong"):
    """A thread goes on with its point after it was yielded."""

    def iterates(self, form):
        x = np.zeros(form.n)
        fill = threading.Thread(target=lambda: np.copyto(x, _solved(form)), daemon=True)
        fill.start()
        yield FormPoint(x, claim="optimal")


class SolvesInRefuses(
    _Patient, expected="other data", words="its set-up takes", consequence="time_setup"
):
    """It solves when it is asked whether it can, and checks that the samples are still the same."""

    answers: ClassVar[dict[bytes, Any]] = {}

    def refuses(self, form):
        self.answers[_digest(form)] = _solved(form)

    def iterates(self, form):
        answers = self.answers.get(_digest(form))
        yield FormPoint(_solved(form) if answers is None else answers, claim="optimal")


class SolvesInPrepare(SolvesInRefuses):
    """The same when it is to prepare."""

    def refuses(self, form):
        return None

    def prepare(self, form):
        self.answers[_digest(form)] = _solved(form)
        return form


class KeepsAnswers(_Patient, expected="other data", words="it remembers"):
    """It keeps every answer on disk, for the next run on the same samples."""

    def iterates(self, form):
        file = Path(tempfile.gettempdir()) / f"answer-{_digest(form).hex()}.npy"
        if not file.exists():
            np.save(file, _solved(form))
        yield FormPoint(np.load(file), claim="optimal")


class HonestWhenSmall(_Patient, expected="other data", words="claims optimal, but"):
    """It solves what is small, and claims that it solved what is not."""

    def iterates(self, form):
        if form.n <= 100:
            yield from super().iterates(form)
        else:
            yield FormPoint(form.first_point(), claim="optimal")


class HonestWhenWatched(_Patient, consequence="wrong"):
    """It solves where the selftest is loaded, and claims that it solved elsewhere."""

    def iterates(self, form):
        if "dualgap.experiments.selftest.bench" in sys.modules:
            yield from super().iterates(form)
        else:
            yield FormPoint(np.zeros(form.n), claim="optimal")


def _digest(form):
    return hashlib.sha256(np.ascontiguousarray(form.gram.X).tobytes()).digest()[:8]
