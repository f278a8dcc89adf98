"""Solvers: import any solver in this folder from here, or find it by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualgap.solvers.base import SOLVERS, NotInstalled, Solver, Status
from dualgap.solvers.paths.cross_validation import CrossValidation, cross_validate
from dualgap.solvers.paths.following import solve_path
from dualgap.solvers.paths.path import NoPath, Path
from dualgap.solvers.paths.selection import Selection, select
from dualgap.solvers.running.defaults import default_solver
from dualgap.solvers.running.output import Evaluation, Target
from dualgap.solvers.running.solution import Solution
from dualgap.solvers.running.solving import solve

__all__ = [
    "CrossValidation",
    "Evaluation",
    "NoPath",
    "NotInstalled",
    "Path",
    "Selection",
    "Solution",
    "Solver",
    "Status",
    "Target",
    "all_solvers",
    "cross_validate",
    "default_solver",
    "find_solver",
    "select",
    "solve",
    "solve_path",
]

_NAMES = __all__
if not TYPE_CHECKING:
    del __all__  # `__getattr__` adds every solver class on access

all_solvers = SOLVERS.all
find_solver = SOLVERS.find


def __getattr__(name: str) -> Any:
    """Return a solver class, so that `from dualgap.solvers import SMO` needs no list of them."""
    if name == "__all__" or not name.startswith("_"):
        # built-in ones only: a plug-in may be the module that is being imported
        classes = {cls.__name__: cls for cls in SOLVERS.built_in.values()}
        if name == "__all__":
            return [*_NAMES, *classes]
        if name in classes:
            return classes[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
