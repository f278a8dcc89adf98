"""How it is solved: every solver in this folder is found here, by class and by name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

from solvers.base import NotInstalled, Solver, Status
from solvers.loop import default_solver, solve
from solvers.solution import Evaluation, Solution

__all__ = [
    "Evaluation",
    "NotInstalled",
    "Solution",
    "Solver",
    "Status",
    "all_solvers",
    "default_solver",
    "find_solver",
    "solve",
]


@cache
def all_solvers() -> dict[str, type[Solver]]:
    """Return every solver of this package by its name in experiment files."""
    names = (module.name for module in pkgutil.walk_packages(__path__, f"{__name__}."))
    # the estimators are no solvers, and import scikit-learn
    solving = (name for name in names if not name.startswith(f"{__name__}.estimators"))
    found = (_solvers_of(importlib.import_module(name)) for name in solving)
    return dict(sorted((cls.name, cls) for classes in found for cls in classes))


def find_solver(name: str) -> type[Solver]:
    """Return a solver by its name, or from outside as `path/to/file.py:ClassName`.

    Raises
    ------
    ValueError
        If there is no such name, file or class.
    """
    path, colon, class_name = name.rpartition(":")
    if not colon or not path.endswith(".py"):
        if name not in all_solvers():
            raise ValueError(f"unknown solver {name!r}; there are {', '.join(all_solvers())}")
        return all_solvers()[name]
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"solver {name!r}: there is no file {file}")
    classes = {cls.__name__: cls for cls in _solvers_of(_module_from(file))}
    if class_name not in classes:
        found = ", ".join(classes) or "no solver class"
        raise ValueError(f"solver {name!r}: {file.name} has {found}, not {class_name!r}")
    return classes[class_name]


def _module_from(file: Path) -> Any:
    name = f"outside:{file}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _solvers_of(module: Any) -> list[type[Solver]]:
    """Return the solvers that a module defines (not those it imports)."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Solver)
        and not inspect.isabstract(value)
        and value.__module__ == module.__name__
    ]


def __getattr__(name: str) -> Any:
    """Let `from solvers import SMO` find every solver class, without a list of them here."""
    for cls in all_solvers().values():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
