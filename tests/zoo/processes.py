"""Solvers that take their process with them, or never give it back.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import ctypes
import os
import subprocess
import time

from tests.zoo.boxed import BoxSMO as SMO


class _Deadly(SMO):
    """SMO that ends with `strike`."""

    expected = "answers"

    def __init_subclass__(cls, **attributes):
        super().__init_subclass__()
        for name, value in attributes.items():
            setattr(cls, name, value)

    def strike(self):
        pass

    def iterates(self, form):
        yield from super().iterates(form)
        self.strike()


class Segfault(_Deadly, words="killed by SIGSEGV"):
    """It reads from address 0."""

    def strike(self):
        ctypes.string_at(0)


class ExitsAtOnce(_Deadly, words="ended with exit code 0"):
    """It calls os._exit with a code that says that all is well."""

    def strike(self):
        os._exit(0)


class HangsInC(_Deadly, words="killed"):
    """It sleeps in C for a day without letting go of the interpreter's lock."""

    def strike(self):
        ctypes.PyDLL(None).sleep(86_400)


class HangsPrinting(_Deadly, words="killed"):
    """It prints for ever, and its child would outlive it."""

    def strike(self):
        subprocess.Popen(["sleep", f"4242.{os.getppid()}"])
        while True:
            print("still alive " * 1000)  # noqa: T201
            time.sleep(1e-4)


class HangsEverywhere(_Deadly, expected=""):
    """It never returns from anything but its constructor."""

    def prepare(self, form):
        while True:
            time.sleep(1.0)
