"""What a solver is.

A solver is one file with one frozen dataclass: its fields are its settings, `form` is the class of
problem it takes, `iterates` is the algorithm. It yields a `FormPoint` whenever it is willing to be
looked at; a compiled or external method yields once for each block of work, or once at the end. The
clock, the limits, the looking and the certificate belong to `solvers.loop.solve`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import scipy

from problems.dataset import check_positive
from problems.forms import ERM, BoxQP, Form, FormPoint
from problems.formulations.svm import SoftMarginDual
from problems.kernels import RBF, Kernel, Linear
from problems.projection import project
from problems.reductions import reduce
from problems.registry import snake_case

_WARM_UP = 30  # points of a small problem, at most


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
            if value is not None and not (least <= value < 2**63 and int(value) == value):
                raise ValueError(
                    f"{setting}: must be a whole number of {least} or more, got {value!r}"
                )

    def refuses(self, form: Any, /) -> str | None:
        """Return a sentence saying why this form cannot be solved, or None if it can."""
        return None

    def prepare(self, form: Any, /) -> Any:
        """Return the state that `iterates` starts from; imports and compilation go here, untimed."""
        return form

    @abstractmethod
    def iterates(self, state: Any, /) -> Iterator[FormPoint]:
        """Run the algorithm, yielding a `FormPoint` whenever it may be looked at."""


def warm_up(solver: Solver, form: Form, samples: int = 32) -> None:
    """Run a compiled solver on a small problem like `form`, so that compiling is not timed.

    Once for each solver and kind of form: again and again it takes 10 ms, ten times a small fit.
    """
    gram, intercept = _gram_and_intercept(form)
    _run_small(solver, samples, gram.is_linear, scipy.sparse.issparse(gram.X), intercept)


@cache
def _run_small(solver: Solver, samples: int, linear: bool, sparse: bool, intercept: bool) -> None:
    tiny = reduce(_small_problem(samples, linear, sparse, intercept), solver.form).form
    project(np.arange(4.0), np.zeros(4), np.ones(4), np.ones(4), 1.0)
    for _ in islice(solver.iterates(tiny), _WARM_UP):
        pass


def _small_problem(samples: int, linear: bool, sparse: bool, intercept: bool) -> SoftMarginDual:
    """Return a problem with eight features, of which each sample has two."""
    X = np.zeros((samples, 8))
    place = np.arange(samples)
    X[place, place % 8] = (place + 1) / samples
    X[place, (3 * place + 1) % 8] = 0.5
    y = np.where(place % 3 == 0, 1.0, -1.0)
    kernel: Kernel = Linear() if linear else RBF(1.0)
    like = scipy.sparse.csr_array(X) if sparse else X
    return SoftMarginDual(like, y, 1.0, kernel, intercept)


def _gram_and_intercept(form: Form) -> tuple[Any, bool]:
    if isinstance(form, BoxQP):
        return form.gram, form.a is not None
    if isinstance(form, ERM):
        return form.gram, form.intercept
    raise TypeError("only solvers of BoxQP and ERM forms are compiled")
