"""Which functions a solver replaced in the process that it ran in.

Nothing inside a process can defend itself against code that sets out to deceive it: a solver may read
and write all of its memory. What it replaces cannot touch another run, nor its own certificate, which
are made in other processes; what times it can, and is named here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

_OURS = ("problems", "solvers", "experiments")
_OTHERS = ("time", "numpy")


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
