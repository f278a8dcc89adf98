"""Solvers that take their process with them, or never give it back.

`expected` is the property of the selftest that must catch it, `words` must be in its sentence.
"""

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import ClassVar

from solvers import SMO


class _Deadly(SMO):
    """SMO that ends with `strike`."""

    expected: ClassVar[str] = "answers"
    words: ClassVar[str] = ""

    def strike(self):
        pass

    def iterates(self, form):
        yield from super().iterates(form)
        self.strike()


@dataclass(frozen=True)
class Segfault(_Deadly):
    """It reads from address 0."""

    words: ClassVar[str] = "killed by SIGSEGV"

    def strike(self):
        ctypes.string_at(0)


@dataclass(frozen=True)
class ExitsAtOnce(_Deadly):
    """It calls os._exit with a code that says that all is well."""

    words: ClassVar[str] = "ended with exit code 0"

    def strike(self):
        os._exit(0)


@dataclass(frozen=True)
class Exits(_Deadly):
    """It calls sys.exit."""

    words: ClassVar[str] = "raised SystemExit"

    def strike(self):
        sys.exit("done")


@dataclass(frozen=True)
class HangsInC(_Deadly):
    """It sleeps in C for a day without letting go of the interpreter's lock."""

    words: ClassVar[str] = "killed"

    def strike(self):
        ctypes.PyDLL(None).sleep(86_400)


@dataclass(frozen=True)
class HangsPrinting(_Deadly):
    """It prints for ever, and its child would outlive it."""

    words: ClassVar[str] = "killed"

    def strike(self):
        subprocess.Popen(["sleep", f"4242.{os.getppid()}"])
        while True:
            print("still alive " * 1000)  # noqa: T201
            time.sleep(1e-4)


@dataclass(frozen=True)
class HangsEverywhere(_Deadly):
    """It never returns from anything but its constructor."""

    words: ClassVar[str] = "killed"

    def prepare(self, form):
        while True:
            time.sleep(1.0)
