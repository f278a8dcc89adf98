"""The interface of every optimisation problem, with samples or without, alone or a sum of others.

    min Σⱼ Fⱼ(wⱼ, bⱼ), whose parts share samples but no variable; its bounds are the sums of theirs
An answer to a sum has one column for each part: `alpha` (n, parts), where entries of samples outside a
part are 0 and ignored, `w` (d, parts) and `b` (parts,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dualgap.problems.dataset import Indices, content_hash
from dualgap.problems.forms import Point, Reduction, SomeForm, Unsupported
from dualgap.problems.gram.gram import Gram
from dualgap.problems.problem.certificate import Certificate, sum_certificates
from dualgap.problems.problem.task import Task
from dualgap.problems.registry import snake_case


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of a problem that is a sum of independent problems.

    Attributes
    ----------
    rows : indices of its samples in the whole problem; None if it is the whole problem.
    name : the name in messages; empty if it is the only part.
    """

    problem: Any
    rows: Indices | None = None
    name: str = ""


ProblemT = TypeVar("ProblemT", bound="Problem")
# of a problem, a start and a Gram matrix
Reducer = Callable[[Any, Point | None, Any], Reduction[Any]]


class Problem(ABC):
    """Base of all problems: frozen dataclasses, validated at construction.

    A solver whose `form` is a class of problems, such as `Problem` or `Formulation`, receives the
    problem as posed.

    Attributes
    ----------
    name : the name in experiment files: by default the class name in snake case.
    source : the publication.
    forms : the forms to which it reduces, and the function that does so; `Problem` for itself as posed.
    data_fields : the fields that hold data rather than settings.
    task : the kind of values in `y`, and how predictions of them are scored; None without samples.
    may_be_infeasible : whether there may be no optimum. It and `task` may be properties.
    """

    name: ClassVar[str]
    source: ClassVar[str] = ""
    forms: ClassVar[Mapping[type, Reducer]]
    data_fields: ClassVar[tuple[str, ...]] = ("X", "y")
    task: ClassVar[Task | None]
    may_be_infeasible: ClassVar[bool] = False
    # of the subclass, which is a dataclass
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = snake_case(cls.__name__)

    @classmethod
    def from_data(cls, X: Any, y: Any, **parameters: Any) -> Self:
        """Return the problem for the content of a data set, with the other fields by name."""
        build: Any = cls
        return build(X, y, **parameters)

    @classmethod
    @abstractmethod
    def example_data(cls, parameters: Mapping[str, Any], /) -> tuple[Any, Any]:
        """Return valid X and y for `from_data`, with which the other parameters can be checked."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of samples, or of variables without samples."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Number of features, or of constraints with multipliers without samples."""

    @cached_property
    def hash(self) -> str:
        """Identity of this problem: its class, data and every parameter."""
        values = [getattr(self, f.name) for f in fields(self)]
        return content_hash(type(self).__name__, *values)[:16]

    @cached_property
    def family_hash(self) -> str:
        """Identity of the optimum, the same for all formulations of one problem."""
        return self.hash

    @property
    def parts(self) -> tuple[Part, ...]:
        """The summands of this problem, which share no variables: by default itself."""
        return (Part(self),)

    @abstractmethod
    def point(self, answer: Any) -> Any:
        """Return the point of an answer; TypeError or ValueError if it has none for this problem."""

    @abstractmethod
    def certify(self, point: Any, rigorous: bool, target_gap: float) -> Certificate:
        """Return the certificate of a point; see the function `certify`."""

    @abstractmethod
    def objective(self, primal: float, dual: float) -> float:
        """Return the objective in the problem's own sign and scale, from the bounds of a certificate."""


def _title(form: type) -> str:
    """Return what messages call a form, with its article: its `title`, by default its class."""
    return getattr(form, "title", f"a {form.__name__}")


def reduce(
    problem: Problem, form: type[SomeForm], start: Point | None = None, gram: Gram | None = None
) -> Reduction[SomeForm]:
    """Return `problem` as the form that a solver takes, and the map of its points to the problem's.

    Problems with a piecewise linear loss reduce to the `KernelQP` and the `BoxQP` of their dual and to a
    `QP`; those with a finite loss and one intercept to an `ERM`; all with a regularised risk to that
    `Risk`; a structured margin to `Chains`; a convex QP to a `QP`. The forms `Problem` and `Formulation`
    are the problem as posed.

    Parameters
    ----------
    problem : any problem.
    form : the class of the form.
    start : the initial point; its `alpha` is made feasible first.
    gram : the Gram matrix of these samples; None creates a new one.

    Raises
    ------
    Unsupported
        If the problem has no such form; the message says why.
    """
    reducer = problem.forms.get(Problem if isinstance(problem, form) else form)
    if reducer is None:
        alternatives = ", ".join(_title(each) for each in problem.forms if each is not Problem)
        alternatives = alternatives if len(problem.parts) == 1 else "its parts"
        raise Unsupported(
            f"{problem.name} cannot be stated as {_title(form)}, only as {alternatives}"
        )
    return reducer(problem, start, gram)


def replace_fields(problem: ProblemT, **values: Any) -> ProblemT:
    """Return a problem on the same samples with other settings or targets.

    Cached properties of the samples are kept, so this is fast. The values are not validated: they must
    be as the constructor would leave them. With another `X`, give its `samples` too.
    """
    names = {"y", "samples", *(field.name for field in fields(problem))}
    copy = object.__new__(type(problem))
    vars(copy).update({k: v for k, v in vars(problem).items() if k in names} | values)
    return copy


def certify(
    problem: Problem, solution_or_point: Any, rigorous: bool = False, target_gap: float = 1e-6
) -> Certificate:
    """Return the certificate of an answer to a problem, in float64 from the problem's data.

    Parameters
    ----------
    problem : any problem.
    solution_or_point : a `Solution`, a `Point`, or any object with `alpha` or `w`, which may be None if
        unknown. An array is refused, as it could be either. For a `ConvexQP`, x as an array, or an
        object with x, and optionally z and y.
    rigorous : evaluate both bounds in ball arithmetic, rounded outwards, so that they are theorems
        about the stored data; see `certificates.arb` for the cost. Those of a `ConvexQP` always are.
    target_gap : if rounding in float64 leaves open whether the relative gap is above this value, or
        above that of a wrong answer, the bounds are evaluated in ball arithmetic too if that takes only
        seconds; otherwise the reason states the resolution of float64. inf for float64 only.

    Raises
    ------
    TypeError
        If the object has neither `alpha` nor `w`.
    ValueError
        If `alpha` or `w` has the wrong shape.
    """
    return problem.certify(problem.point(solution_or_point), rigorous, target_gap)


def split(problem: Any, point: Point) -> list[Point]:
    """Return the answer to each part of a problem."""
    if is_whole(problem):
        return [point]
    alpha = None if point.alpha is None else point.alpha.reshape(problem.n, -1)
    w = None if point.w is None else point.w.reshape(problem.d, -1)
    b = None if point.b is None else np.broadcast_to(point.b, len(problem.parts))
    return [
        Point(
            None if alpha is None else alpha[part.rows, j],
            None if w is None else w[:, j],
            None if b is None else float(b[j]),
        )
        for j, part in enumerate(problem.parts)
    ]


def join(problem: Any, points: Sequence[Point]) -> Point:
    """Return the answer to a problem from those to its parts; alpha, w and b only if all have them."""
    if is_whole(problem):
        return points[0]
    alphas, ws, bs = ([getattr(p, name) for p in points] for name in ("alpha", "w", "b"))
    alpha = None
    if all(a is not None for a in alphas):
        alpha = np.zeros((problem.n, len(points)))
        for j, part in enumerate(problem.parts):
            alpha[part.rows, j] = alphas[j]
    w = np.column_stack(ws) if all(w is not None for w in ws) else None
    return Point(alpha, w, np.array(bs) if all(b is not None for b in bs) else None)


def join_certificates(problem: Any, certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate of a problem from those of its parts, at the composed answer."""
    if is_whole(problem):
        return certificates[0]
    point = join(problem, [certificate.point for certificate in certificates])
    total = sum_certificates(certificates, [part.name for part in problem.parts])
    return replace(total, point=point)


def is_whole(problem: Any) -> bool:
    """Whether a problem is its own only part."""
    return problem.parts[0].problem is problem
