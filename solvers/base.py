"""What a solver is.

A solver is one file with one frozen dataclass: its fields are its settings, `form` is the class of
problem it takes, `iterates` is the algorithm. It yields a `FormPoint` whenever its iterate may be
inspected; a compiled or external method yields once for each block of work, or once at the end. The
clock, the limits, the evaluations and the certificate belong to `solvers.loop.solve`.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from problems.forms import FormPoint
from problems.registry import snake_case
from problems.validation import check_positive, check_whole


class Status(StrEnum):
    """How the process ended; what the answer is worth is the certificate's to say."""

    FINISHED = "finished"
    MAX_ITER = "max_iter"
    TIME_LIMIT = "time_limit"
    DIVERGED = "diverged"
    INFEASIBLE = "infeasible"
    UNSUPPORTED = "unsupported"
    NOT_INSTALLED = "not_installed"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"


class NotInstalled(Exception):
    """An optional package is missing; the message says how to get it."""


def optional(module: str, what: str, package: str) -> Any:
    """Import and return a module; NotInstalled, saying that `what` needs `package`, without it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NotInstalled(f"{what} needs {package}: pip install {package}") from None


@dataclass(frozen=True)
class Solver(ABC):
    """Base of all solvers. Subclass it with `@dataclass(frozen=True)` and typed settings.

    Attributes
    ----------
    form : BoxQP, QP or ERM: what it solves.
    source : where the algorithm is published.
    name : how experiment files call it; by default the class name in snake case.

    A setting `max_iter` is overridden by `solve(max_iter=...)`; `seed` by an experiment's own.
    """

    form: ClassVar[Any]
    source: ClassVar[str] = ""
    name: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = snake_case(cls.__name__)

    def __post_init__(self) -> None:
        if hasattr(self, "tol"):
            check_positive(getattr(self, "tol"), "tol")  # noqa: B009
        for setting, least in (("max_iter", 1), ("seed", 0)):
            value = getattr(self, setting, None)
            if value is not None:
                check_whole(value, setting, least)

    def refuses(self, form: Any, /) -> str | None:
        """Return a sentence saying why this form cannot be solved, or None if it can."""
        return None

    def prepare(self, form: Any, /) -> Any:
        """Return the state that `iterates` starts from; imports and compilation go here, untimed."""
        return form

    @abstractmethod
    def iterates(self, state: Any, /) -> Iterator[FormPoint]:
        """Run the algorithm, yielding a `FormPoint` whenever its iterate may be inspected."""
