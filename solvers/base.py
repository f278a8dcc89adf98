"""What a solver is.

A solver is one file with one frozen dataclass: its fields are its settings, `form` is the class of
problem it takes, `iterates` is the algorithm. It yields a `FormPoint` whenever its iterate may be
inspected; a compiled or external method yields once for each block of work, or once at the end. The
clock, the limits, the evaluations and the certificate belong to `dualgap.solvers.running.loop.solve`.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.registry import Registry, snake_case
from dualgap.problems.validation import check_choice, check_positive, check_whole


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


Precision = Literal["float64", "float32"]  # of the samples that a library is given
_NO_SETTING = object()
_CHECKS: dict[str, Callable[[Any, str], object]] = {
    **dict.fromkeys(("tol", "gap", "cache_size"), check_positive),
    **dict.fromkeys(("max_iter", "epochs"), check_whole),
    "seed": partial(check_whole, least=0),
    "dtype": partial(check_choice, choices=get_args(Precision)),
}
_MAY_BE_NONE = ("tol", "gap", "max_iter", "seed")
TARGET_GAP = 1e-6  # relative gap of `solve` where none is named
# Share of the target that a solver's own relative gap may take: rounding, of the solver and of the
# certificate, has the rest.
SHARE_OF_GAP = 0.5
SHARE_OF_MARGIN = 0.1  # of the target, as a violation of a hard margin


@dataclass(frozen=True)
class Solver(ABC):
    """Base of all solvers. Subclass it with `@dataclass(frozen=True)` and typed settings.

    Attributes
    ----------
    form : BoxQP, QP or ERM: what it solves; Formulation for the problem as it is posed, AsPosed if it
        need not have samples.
    source : where the algorithm is published.
    name : how experiment files call it; by default the class name in snake case.
    warm_up_size : samples from which on it works in one way, whatever their number: it is run on so many
        of the problem's own, or all, before the clock starts; 0 where it is not, as it compiles and
        loads nothing, or its first call is timed.
    warm_up_settings : settings of its own that it is run with then, to end soon or to call all loops.
    needs : modules that `prepare` imports, each with the package that brings it.
    single_threaded : whether it is known to use one thread, however many it may use; tables mark it.
    copies_samples : whether `prepare` copies the samples into arrays of a library, which a program that
        is written for the library would read its file into.
    tol_share, finest_tol : where `tol` is None it is `tol_share` times the target gap, but not below
        `finest_tol`, which the solver no longer resolves; see `aimed_at`.

    Tolerances are in the units in which `solve` poses a problem, where targets, or scores without a
    margin of one, are of the size of one: see `dualgap.problems.dual_problem.units`.

    Settings `tol`, `gap` and `cache_size` must be positive, `max_iter`, `epochs` and `seed` whole
    numbers, `dtype` a `Precision`. `max_iter` is overridden by `solve(max_iter=...)`, `seed` by an
    experiment's own.
    """

    form: ClassVar[Any]
    source: ClassVar[str] = ""
    name: ClassVar[str] = ""
    warm_up_size: ClassVar[int] = 0
    warm_up_settings: ClassVar[Mapping[str, Any]] = {}
    needs: ClassVar[tuple[tuple[str, str], ...]] = ()
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
                f"{type(self).__name__}: needs the class attribute `form`, the problems it takes: "
                "write `form: ClassVar = BoxQP` (or QP, ERM) with BoxQP from dualgap.problems.forms"
            )
        for name, check in _CHECKS.items():
            value = getattr(self, name, _NO_SETTING)
            may_be_none = name in _MAY_BE_NONE or getattr(type(self), name, _NO_SETTING) is None
            if value is not _NO_SETTING and not (value is None and may_be_none):
                checked = check(value, name)
                if isinstance(checked, int) and isinstance(value, float):  # 1e3 is whole too
                    object.__setattr__(self, name, checked)

    def aimed_at(self, target_gap: float, bounded: bool = True) -> Self:
        """Return the solver with the accuracy that a relative gap needs, where it was given none.

        A `tol` of None becomes `tol_for(target_gap)`, and a `gap` of None beside it half the target. A
        `tol` that was given is kept, with the `gap` as it is. `solve` calls this before it prepares.
        A hard margin is not `bounded`, so a solver has no gap of its own there: one with a `gap` gets a
        tenth of the target as its `tol`, a violation relative to the margin, and `solve` ends any solver
        once its point is certified to the target.
        """
        if getattr(self, "tol", _NO_SETTING) is not None:
            return self
        accuracy = {"tol": self.tol_for(target_gap)}
        if getattr(self, "gap", _NO_SETTING) is None:
            of_gap = {"gap": SHARE_OF_GAP * target_gap}
            accuracy |= of_gap if bounded else {"tol": SHARE_OF_MARGIN * target_gap}
        return replace(self, **accuracy)

    def tol_for(self, target_gap: float) -> float:
        """Return the `tol` with which answers usually have at most this relative gap."""
        tol = float(f"{self.tol_share * target_gap:.3g}")  # 1e-07, where 1e-3·1e-4 is not
        return max(tol, self.finest_tol)

    @property
    def tolerance(self) -> float:
        """The `tol` to stop at: where it is None, as outside of `solve`, what a gap of 1e-6 needs."""
        tol: float | None = getattr(self, "tol", None)
        return self.tol_for(TARGET_GAP) if tol is None else tol

    def refuses(self, form: Any, /) -> str | None:
        """Return a sentence saying why this form cannot be solved, or None if it can."""
        return None

    def suits(self, form: Any, /) -> Any:
        """Return what to prepare if it may be picked by default: it takes the form, and pays there.

        That is the form, or what a look at it has found, which counts as solving; None if it may not.
        """
        return form if self.refuses(form) is None else None

    def prepare(self, form: Any, /) -> Any:
        """Return the state that `iterates` starts from; imports go here, untimed."""
        for module, package in self.needs:
            optional(module, type(self).__name__, package)
        return form

    def worst_case(self, k: Vector, problem: Mapping[str, float], /) -> Vector | None:
        """Return the published bound on the distance to the optimum after `k` > 0 iterations; or None.

        Of the published method: in what a solver departs from it its docstring says. None where nothing
        was published for these settings whose constants are known.

        Parameters
        ----------
        k : (m,) the solver's own counts.
        problem : the columns that `describe: true` records.

        Returns
        -------
        ndarray or None
            (m,) in the scale ½‖w‖² + Σ Cᵢ·lossᵢ: of the dual objective for a solver of box QPs, of the
            primal one for a solver of risks.
        """
        return None

    @abstractmethod
    def iterates(self, state: Any, /) -> Iterator[FormPoint]:
        """Run the algorithm, yielding a `FormPoint` whenever its iterate may be inspected."""

    def finish(self, state: Any, point: FormPoint, /) -> FormPoint:
        """Return the last point, with what has to be read from a file; this counts as set-up."""
        return point


@dataclass(frozen=True)
class NoSolver(Solver):
    """What a solution names as its solver where none was given and no default takes the problem."""

    form: ClassVar = None
    listed: ClassVar[bool] = False

    def iterates(self, state: Any) -> Iterator[FormPoint]:
        """Yield nothing."""
        yield from ()


# the estimators are no solvers, and import scikit-learn
SOLVERS = Registry("dualgap.solvers", Solver, "solver", skip="estimators", group="dualgap.solvers")
