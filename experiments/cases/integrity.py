"""What a solver may have done to the process it ran in: to our code, and to the run that comes next.

Nothing inside a process can defend itself against code that sets out to deceive it: a solver may read
and write all of its memory. What is caught here is what a careless or a merely cunning one does: it
replaces a function that times or certifies it, or leaves the process in a state that falsifies or ends
the next run. The first costs the solver its row; after the second its process is not used again.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any

_OURS = ("problems", "solvers", "experiments")
_OTHERS = ("time", "numpy")
_STREAMS = (1, 2)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGCHLD)


class Functions:
    """The functions and classes of our packages, and of modules that they rely on, as they are now."""

    def __init__(self) -> None:
        self._found = {name: _members(module) for name, module in list(_modules())}

    def replaced(self) -> str:
        """Return the name of one that has been replaced since, or an empty string."""
        for name, members in self._found.items():
            now = _members(sys.modules.get(name))
            for member, value in members.items():
                if now.get(member) is not value:
                    return f"{name}.{member}"
        return ""


def _modules() -> Iterator[tuple[str, Any]]:
    for name, module in sys.modules.items():
        if name in _OTHERS or name.partition(".")[0] in _OURS:
            yield name, module


def _members(module: Any) -> dict[str, Any]:
    """Return the functions and classes of a module, and the methods of its own classes."""
    members: dict[str, Any] = {}
    if module is None:  # it was removed
        return members
    for name, value in list(vars(module).items()):
        if callable(value):
            members[name] = value
        if isinstance(value, type) and value.__module__ == module.__name__:
            methods = vars(value).items()
            members |= {f"{name}.{key}": v for key, v in methods if _is_code(v)}
    return members


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, property, classmethod, staticmethod))


class ProcessState:
    """What the next run in this process depends on, as it is now; cheap enough for every run."""

    def __init__(self) -> None:
        self._state = _state()
        self._variables, self._threads = dict(os.environ), set(threading.enumerate())

    def changed(self) -> str:
        """Return what has changed since then, or an empty string.

        Libraries may add variables to the environment. Threads that still run would take time from
        the next run.
        """
        now = _state()
        changed = [name for name, value in self._state.items() if now[name] != value]
        if any(os.environ.get(name) != value for name, value in self._variables.items()):
            changed.append("environment variables")
        if set(threading.enumerate()) - self._threads:
            changed.append("running threads")
        return ", ".join(changed)


def _state() -> dict[str, Any]:
    return {
        "the working directory": _status(os.stat, "."),
        "its output": tuple(_status(os.fstat, stream) for stream in _STREAMS),
        "signal handlers": tuple(map(signal.getsignal, _SIGNALS)),
        "a timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "limits": tuple(map(resource.getrlimit, (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))),
        "the recursion limit": sys.getrecursionlimit(),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "tracing": (sys.gettrace(), sys.getprofile()),
        # libraries built with -ffast-math make the processor flush them to 0, for everyone
        "subnormal numbers": sys.float_info.min / 2 > 0,
    }


def _status(ask: Callable[[Any], os.stat_result], what: Any) -> tuple[int, int] | None:
    with suppress(OSError):  # closed, or removed
        found = ask(what)
        return found.st_dev, found.st_ino
    return None
