"""The base class of solvers.

A solver is one file with one frozen dataclass: its fields are its settings, `form` is the class of
problem it solves, `iterates` is the algorithm. It yields a `FormPoint` whenever its iterate may be
inspected; a compiled or external method yields once per block of work, or once at the end. The clock,
limits, evaluations and certificate are handled by `dualgap.solvers.running.loop`.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

from dualgap.problems.forms import FormPoint
from dualgap.problems.registry import Registry, snake_case
from dualgap.problems.validation import check_choice, check_integer, check_positive
from dualgap.solvers.needs import Need, refusal


class Status(StrEnum):
    """How the process ended; the certificate judges the answer."""

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


def import_optional(module: str, user: str, package: str) -> Any:
    """Import and return a module; NotInstalled, saying that `user` needs `package`, if missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NotInstalled(f"{user} needs {package}: pip install {package}") from None


Precision = Literal["float64", "float32"]  # of the samples passed to a library
_NO_SETTING = object()
_CHECKS: dict[str, Callable[[Any, str], object]] = {
    **dict.fromkeys(("tol", "gap", "cache_size"), check_positive),
    **dict.fromkeys(("max_iter", "epochs"), check_integer),
    "seed": partial(check_integer, minimum=0),
    "dtype": partial(check_choice, choices=get_args(Precision)),
}
ENTRIES_PER_YIELD = 2**20  # entries of Q read between two yields: about a millisecond
TARGET_GAP = 1e-6  # default relative gap of `solve`
# fraction of the target gap at which a solver stops; the rest is for rounding, its own and the
# certificate's
GAP_FRACTION = 0.5


@dataclass(frozen=True)
class Solver(ABC):
    """Base of all solvers. Subclass it with `@dataclass(frozen=True)` and typed settings.

    Attributes
    ----------
    form : the form it solves: KernelQP, BoxQP, QP or ERM; Formulation for the problem as stated,
        Problem if that need not be one risk.
    source : publication of the algorithm.
    name : its name in experiment files; by default the class name in snake case.
    warm_up_size : number of samples that exercises the same code as any larger number; the solver is run
        on that many of the problem's samples before the clock starts. 0 for no such run: it compiles
        and loads nothing, or its first call is timed.
    warm_up_settings : settings for that run, so that it ends soon or calls all loops.
    needs : conditions on a form, see `dualgap.solvers.needs`; a form that fails one is unsupported.
    packages : modules that `prepare` imports, each with the package that provides it.
    single_threaded : whether it uses one thread even if allowed more; tables mark it.
    copies_samples : whether `prepare` copies the samples into arrays of a library, which a program
        written for the library would fill from its file.
    tol_share, finest_tol : if `tol` is None it is `tol_share` times the target gap, but at least
        `finest_tol`, the smallest that the solver resolves; see `aimed_at`.

    Tolerances are in the units in which `solve` states a problem: targets, or scores without a margin of
    one, have size one, see `dualgap.problems.risk.reductions`.

    Settings `tol`, `gap` and `cache_size` must be positive, `max_iter`, `epochs` and `seed` whole
    numbers, `dtype` a `Precision`. `solve(max_iter=...)` overrides `max_iter`, an experiment's seed
    overrides `seed`.
    """

    form: ClassVar[Any]
    source: ClassVar[str] = ""
    name: ClassVar[str] = ""
    warm_up_size: ClassVar[int] = 0
    warm_up_settings: ClassVar[Mapping[str, Any]] = {}
    needs: ClassVar[tuple[Need, ...]] = ()
    packages: ClassVar[tuple[tuple[str, str], ...]] = ()
    single_threaded: ClassVar[bool] = False
    copies_samples: ClassVar[bool] = False
    tol_share: ClassVar[float] = 1e-3
    finest_tol: ClassVar[float] = 1e-12

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = snake_case(cls.__name__)

    def __post_init__(self) -> None:
        if not hasattr(self, "form"):
            raise ValueError(
                f"{type(self).__name__}: needs the class attribute `form`, the form it solves: "
                "write `form: ClassVar = BoxQP` (or QP, ERM) with BoxQP from dualgap.problems.forms"
            )
        optional = ("tol", "gap", "max_iter", "seed")
        for name, check in _CHECKS.items():
            value = getattr(self, name, _NO_SETTING)
            may_be_none = name in optional or getattr(type(self), name, _NO_SETTING) is None
            if value is not _NO_SETTING and not (value is None and may_be_none):
                checked = check(value, name)
                # a whole float, such as 1e3
                if isinstance(checked, int) and isinstance(value, float):
                    object.__setattr__(self, name, checked)

    def aimed_at(self, target_gap: float, bounded: bool = True) -> Self:
        """Return the solver with its tolerance set for a relative gap, unless it has one.

        A `tol` of None becomes `tol_for(target_gap)`, and a `gap` of None half the target. If `tol` is a
        number, both are kept. `solve` calls this before `prepare`.
        A hard margin is not `bounded` and offers a solver no gap: the `tol` of a solver with
        a `gap` becomes a tenth of the target, as a violation relative to the margin, and `solve` stops
        any solver once its point is certified to the target.
        """
        if getattr(self, "tol", _NO_SETTING) is not None:
            return self
        accuracy = {"tol": self.tol_for(target_gap)}
        if getattr(self, "gap", _NO_SETTING) is None:
            gap = {"gap": GAP_FRACTION * target_gap}
            # a violation relative to the margin
            accuracy |= gap if bounded else {"tol": 0.1 * target_gap}
        return replace(self, **accuracy)

    def tol_for(self, target_gap: float) -> float:
        """Return the `tol` at which answers usually have at most this relative gap."""
        tol = float(f"{self.tol_share * target_gap:.3g}")  # 1e-07, where 1e-3·1e-4 is not
        return max(tol, self.finest_tol)

    @property
    def tolerance(self) -> float:
        """The `tol` to stop at; if None, as outside of `solve`, the one for a gap of 1e-6."""
        tol: float | None = getattr(self, "tol", None)
        return self.tol_for(TARGET_GAP) if tol is None else tol

    @property
    def finer_tol(self) -> float | None:
        """The finest `tol` that it resolves, if it has a `tol` and that is larger; else None."""
        # some solvers have none, as their gap stops them
        tol, finest = getattr(self, "tol", None), max(self.tol_for(0.0), Solver.finest_tol)
        return finest if tol is not None and tol > finest else None

    def refuses(self, form: Any, /) -> str | None:
        """Return why this form cannot be solved, or None if it can.

        By default the first of the solver's `needs` that the form does not meet.
        """
        return refusal(form, self, self.needs)

    def state_if_default(self, form: Any, /) -> Any:
        """Return the argument of `prepare` if this is a good default solver for the form, else None.

        That is the form, or the result of an inspection of it, whose time counts as solving.
        """
        return form if self.refuses(form) is None else None

    def prepare(self, form: Any, /) -> Any:
        """Return the state that `iterates` starts from; imports belong here, as they are not timed."""
        for module, package in self.packages:
            import_optional(module, type(self).__name__, package)
        return form

    @abstractmethod
    def iterates(self, state: Any, /) -> Iterator[FormPoint]:
        """Run the algorithm, yielding a `FormPoint` whenever its iterate may be inspected."""

    def finish(self, state: Any, point: FormPoint, /) -> FormPoint:
        """Return the last point, with values still to be read from a file; this counts as set-up."""
        return point


@dataclass(frozen=True)
class NoSolver(Solver):
    """The solver of a solution if none was named and no default supports the problem."""

    form: ClassVar = None
    listed: ClassVar[bool] = False

    def iterates(self, state: Any) -> Iterator[FormPoint]:
        """Yield nothing."""
        yield from ()


# the estimators are not solvers, and import scikit-learn
SOLVERS = Registry(Solver, "solver", "dualgap.solvers", skip="estimators", group="dualgap.solvers")
