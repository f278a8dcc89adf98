"""The executors by name: the modules of this folder that define one."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from experiments import executors
from experiments.executors.base import Executor


def find_executor(name: str) -> type[Executor]:
    """Return an executor by its name; only its own module is imported.

    Raises
    ------
    ValueError
        If there is none of this name, or its package is not installed.
    """
    modules = [module.name for module in pkgutil.iter_modules(executors.__path__)]
    try:
        found = _executor_in(name) if name in modules else None
    except ModuleNotFoundError as error:
        raise ValueError(f"{error}; install it with: pip install 'dualgap[{name}]'") from None
    if found is None:
        names = ", ".join(module for module in modules if _executor_in(module))
        raise ValueError(f"unknown executor {name!r}; accepted are {names}")
    return found


def _executor_in(module: str) -> type[Executor] | None:
    """Return the executor that a module defines, if it defines one."""
    defined = vars(import_module(f"{executors.__name__}.{module}")).values()
    subclasses = (v for v in defined if isinstance(v, type) and issubclass(v, Executor))
    return next(
        (
            cls
            for cls in subclasses
            if cls.__module__.endswith(f".{module}") and cls is not Executor
        ),
        None,
    )
